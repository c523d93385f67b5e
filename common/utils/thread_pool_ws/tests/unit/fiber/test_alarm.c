// SPDX-License-Identifier: BSD-3-Clause
/// @file test_alarm.c
/// Time limits: the heap of deadlines, and how often its thread is woken. Linked with --wrap=ws_os_map:
/// memory runs out when the test says so; and with --wrap=ws_os_futex_wake: wakes of the alarm thread are
/// counted.
#include "../../../fiber/ws_fiber_process.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

#define HOUR_NS UINT64_C(3600000000000)

static ws_au32_t no_memory, wakes;

static void *ws_os_map_seam(size_t bytes)
{
  return ws_load_relaxed(&no_memory) ? NULL : __real_ws_os_map(bytes);
}

static void ws_os_futex_wake_seam(ws_au32_t *word, uint32_t count)
{
  if (word == &ws_fiber_process.alarm_changed)
    ws_add_relaxed(&wakes, 1);
  __real_ws_os_futex_wake(word, count);
}

#define WAITS 1000u

static ws_waiter_t waits[WAITS];

/// Every entry is not earlier than the one above it, and each record holds its place.
static bool is_sound(const ws_alarm_heap_t *heap)
{
  for (uint32_t i = 0; i < heap->count; i++) {
    if (heap->entry[i].deadline_ns < heap->entry[i > 0 ? (i - 1) / 4 : 0].deadline_ns)
      return false;
    if (heap->entry[i].waiter->alarm_place != i + 1)
      return false;
  }
  return true;
}

/// Waits in and out of the heap in a random order, some of them with equal deadlines; then all by their time.
static void test_heap(void)
{
  ws_alarm_heap_t heap = {0};
  uint64_t random = test_seed();
  uint32_t in = 0;
  memset(waits, 0, sizeof waits);
  CU_ASSERT_EQUAL(ws_alarm_heap_first_ns(&heap), UINT64_MAX);
  for (uint32_t i = 0; i < 20 * WAITS; i++) {
    ws_waiter_t *waiter = &waits[test_random(&random) % WAITS];
    if (waiter->alarm_place != 0) {
      ws_alarm_heap_remove(&heap, waiter);
      in--;
    } else {
      waiter->deadline_ns = test_random(&random) % 500;
      CU_ASSERT_FATAL(ws_alarm_heap_add(&heap, waiter));
      in++;
    }
    if (i % 64 == 0 || heap.count < 8)
      CU_ASSERT_FATAL(heap.count == in && is_sound(&heap));
  }
  CU_ASSERT(in > WAITS / 4);
  for (uint64_t last_ns = 0; heap.count > 0; in--) {
    CU_ASSERT(ws_alarm_heap_first_ns(&heap) >= last_ns);
    last_ns = ws_alarm_heap_first_ns(&heap);
    ws_alarm_heap_remove(&heap, heap.entry[0].waiter);
  }
  CU_ASSERT_EQUAL(in, 0);
  ws_os_unmap(heap.entry, heap.room * sizeof *heap.entry);
}

/// What many waits have needed goes back when few are left, even if there was no memory for a smaller heap.
static void test_heap_shrinks(void)
{
  ws_alarm_heap_t heap = {0};
  memset(waits, 0, sizeof waits);
  for (uint32_t i = 0; i < WAITS; i++) {
    waits[i].deadline_ns = WAITS - i;
    CU_ASSERT_FATAL(ws_alarm_heap_add(&heap, &waits[i]));
  }
  const uint32_t most = heap.room, a_page = (uint32_t)(ws_os_page_bytes() / sizeof *heap.entry);
  ws_store_relaxed(&no_memory, 1);
  while (heap.count > most / 16)
    ws_alarm_heap_remove(&heap, heap.entry[0].waiter);
  CU_ASSERT(heap.room == most && is_sound(&heap));
  ws_store_relaxed(&no_memory, 0);
  while (heap.count > 0) {
    ws_alarm_heap_remove(&heap, heap.entry[heap.count / 2].waiter);
    CU_ASSERT_FATAL(is_sound(&heap));
  }
  CU_ASSERT_EQUAL(heap.room, a_page);
  ws_os_unmap(heap.entry, heap.room * sizeof *heap.entry);
}

/// Without memory an addition fails, and the heap stays as it was.
static void test_heap_no_memory(void)
{
  ws_alarm_heap_t heap = {0};
  memset(waits, 0, sizeof waits);
  ws_store_relaxed(&no_memory, 1);
  CU_ASSERT_FALSE(ws_alarm_heap_add(&heap, &waits[0]));
  ws_store_relaxed(&no_memory, 0);
  uint32_t i = 0;
  do {
    waits[i].deadline_ns = WAITS - i;
    CU_ASSERT_FATAL(ws_alarm_heap_add(&heap, &waits[i++]));
  } while (heap.count < heap.room);
  ws_store_relaxed(&no_memory, 1);
  CU_ASSERT_FALSE(ws_alarm_heap_add(&heap, &waits[i]));
  CU_ASSERT(heap.count == i && is_sound(&heap) && waits[i].alarm_place == 0);
  ws_store_relaxed(&no_memory, 0);
  CU_ASSERT(ws_alarm_heap_add(&heap, &waits[i]));
  CU_ASSERT(heap.count == i + 1 && is_sound(&heap));
  ws_os_unmap(heap.entry, heap.room * sizeof *heap.entry);
}

static ws_sem_t ball[2], end;
static uint64_t deadline_ns;

/// Each of two fibers waits for the other, with a time limit that is not reached.
static void play(void *side_arg)
{
  const uint32_t side = *(const uint32_t *)side_arg;
  for (uint32_t i = 0; i < WAITS; i++) {
    note(ws_sem_wait_until(&ball[side], deadline_ns + i) == 0);
    ws_sem_post(&ball[1 - side], 1);
  }
  ws_add_acq_rel(&scene.value, 1);
  note(ws_sem_wait(&end) == 0);
}

static void wait_once(void *at_ns)
{
  note(ws_sem_wait_until(&end, *(const uint64_t *)at_ns) == 0);
}

static void wait_without_memory(void *unused)
{
  (void)unused;
  ws_store_relaxed(&no_memory, 1);
  note(ws_sem_wait_until(&end, ws_os_now_ns() + 1000000) == -ETIMEDOUT);
  ws_store_relaxed(&no_memory, 0);
}

/// Without memory for the time limit, the fiber's wait blocks its worker. The first case: the heap is empty.
static void test_no_memory(void)
{
  fiber_never_trim();
  scene_begin(1);
  end = (ws_sem_t)WS_SEM_INIT(0);
  push_fiber(wait_without_memory, NULL, NULL);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_fiber_process.alarms.room, 0);
  scene_end();
}

/// @return whether the alarm thread sleeps as long as it may
static bool alarm_sleeps(void *at_ns)
{
  pthread_mutex_lock(&ws_fiber_process.alarm_lock);
  const bool sleeps = ws_fiber_process.alarm_sleeps_until_ns == *(const uint64_t *)at_ns;
  pthread_mutex_unlock(&ws_fiber_process.alarm_lock);
  return sleeps;
}

static bool all_play(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.value) == 2 && parked() == 5;
}

/// The alarm thread is woken for a deadline that is sooner than all before, and for no other. No fiber ends
/// before the count is read: a stack that is freed sets a time, too.
static void test_woken_for_sooner_only(void)
{
  static const uint32_t side[] = {0, 1};
  scene_begin(1);
  end = ball[1] = (ws_sem_t)WS_SEM_INIT(0);
  ball[0] = (ws_sem_t)WS_SEM_INIT(1);
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t at_ns[] = {now_ns + HOUR_NS, now_ns + 3 * HOUR_NS, now_ns + 2 * HOUR_NS};
  deadline_ns = now_ns + 4 * HOUR_NS;
  push_fiber(wait_once, &at_ns[0], NULL);
  CU_ASSERT(await_parked(1));
  CU_ASSERT(test_until(alarm_sleeps, (void *)(uintptr_t)&at_ns[0]));
  ws_store_relaxed(&wakes, 0);
  push_fiber(wait_once, &at_ns[1], NULL);
  push_fiber(wait_once, &at_ns[2], NULL);
  push_fiber(play, &side[0], NULL);
  push_fiber(play, &side[1], NULL);
  CU_ASSERT(test_until(all_play, NULL));
  CU_ASSERT_EQUAL(ws_load_relaxed(&wakes), 0);
  deadline_ns = now_ns + HOUR_NS / 2;
  push_fiber(wait_once, &deadline_ns, NULL);
  CU_ASSERT(await_parked(6));
  CU_ASSERT_EQUAL(ws_load_relaxed(&wakes), 1);
  ws_sem_post(&end, 6);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_fiber_process.alarms.count, 0);
  scene_end();
}

static void test_seams(void)
{
  seam.ws_os_map = ws_os_map_seam;
  seam.ws_os_futex_wake = ws_os_futex_wake_seam;
}

TEST_MAIN_SEAMS(test_seams, "alarm", TEST_CASE(test_no_memory), TEST_CASE(test_heap),
                TEST_CASE(test_heap_shrinks), TEST_CASE(test_heap_no_memory),
                TEST_CASE(test_woken_for_sooner_only))
