// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_trim.c
/// Stacks that are idle for long: their memory goes back, by a call and by the thread for time limits, and
/// they are used again. Linked with --wrap=ws_os_now_ns and --wrap=ws_os_futex_wait_until: the clock is the
/// test's, and the sleeps of that thread are counted.
#define _GNU_SOURCE // mincore
#include <sys/mman.h>

#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_stack.h"
#include "fiber_scene.h"

#define HOUR_NS UINT64_C(3600000000000)

uint64_t __real_ws_os_now_ns(void);
uint64_t __wrap_ws_os_now_ns(void);
int __real_ws_os_futex_wait_until(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns);
int __wrap_ws_os_futex_wait_until(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns);

static ws_au64_t jumped_ns;
static ws_au32_t timed_sleeps, untimed_sleeps; ///< of the thread for time limits

/// So slow that no stack is idle for long before a jump.
uint64_t __wrap_ws_os_now_ns(void)
{
  return __real_ws_os_now_ns() / 64 + ws_load_acquire(&jumped_ns);
}

/// Sleeps with a time limit last until the word changes: time passes by jump() only.
int __wrap_ws_os_futex_wait_until(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  if (word != &ws_fiber_process.alarm_changed)
    return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  ws_add_acq_rel(deadline_ns ? &timed_sleeps : &untimed_sleeps, 1);
  if (deadline_ns && deadline_ns <= __wrap_ws_os_now_ns())
    return -ETIMEDOUT; // a jump after the thread has read the clock
  return __real_ws_os_futex_wait_until(word, expected, 0);
}

static void jump(void)
{
  ws_add_acq_rel(&jumped_ns, HOUR_NS);
  ws_add_relaxed(&ws_fiber_process.alarm_changed, 1);
  ws_os_futex_wake(&ws_fiber_process.alarm_changed, 1);
}

static ws_latch_t latch;

static void wait_for_latch(void *unused)
{
  (void)unused;
  static volatile size_t half = WS_FIBER_STACK_BYTES / 2;
  const size_t bytes = half; // no constant: else the memory may lie on a sanitizer's stack
  volatile char *used = __builtin_alloca(bytes);
  for (size_t i = 0; i < bytes; i += 1024)
    used[i] = 1;
  note(ws_latch_wait(&latch) == 0);
}

#define FIBERS 100u

/// Have a pool of its own park fibers, and have them end. This thread runs none of them: afterwards all their
/// stacks are shared. @return number of stacks
static uint64_t use_stacks(uint32_t stack_bytes)
{
  const ws_fiber_options_t options = {.stack_bytes = stack_bytes};
  ws_pool_t *pool = test_pool(1);
  ws_latch_init(&latch, 1);
  ws_group_init(&scene.group, FIBERS);
  for (uint32_t i = 0; i < FIBERS; i++)
    note(ws_fiber_push(pool, wait_for_latch, NULL, &scene.group, &options) == 0);
  note(await_parked(FIBERS));
  ws_latch_count_down(&latch, 1);
  note(test_until(is_done, &scene.group));
  test_destroy(pool);
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  return stats.stacks;
}

typedef struct {
  uint64_t warm, cold, pages;
  uint64_t free; ///< what the library counts: the stack that is trimmed just now is on no list
} count_t;

/// @return pages in memory of the stack, without the topmost
static uint64_t pages_of(const ws_free_stack_t *node)
{
  unsigned char in_memory[WS_FIBER_STACK_BYTES / 4096] = {0};
  const size_t pages = ws_stack_bytes(&node->stack) / ws_os_page_bytes() - 1;
  uint64_t sum = 0;
  if (mincore(node->stack.low, pages * ws_os_page_bytes(), in_memory) == 0)
    for (size_t i = 0; i < pages; i++)
      sum += in_memory[i] & 1;
  return sum;
}

/// Count the shared stacks.
static count_t count_shared(void)
{
  count_t count = {0};
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++) {
    const ws_shelf_t *shelf = &ws_fiber_process.shelf[i];
    count.free += shelf->free;
    for (const ws_free_stack_t *node = shelf->newest; node; node = node->older)
      count.warm++;
    for (const ws_free_stack_t *node = shelf->cold; node; node = node->older) {
      count.cold++;
      count.pages += pages_of(node);
    }
  }
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  return count;
}

/// Trimmed too early: nothing happens, and the result is the time for the next look.
static int trim_by_call(void *unused)
{
  (void)unused;
  scene_begin(1);
  const uint64_t stacks = use_stacks(WS_FIBER_STACK_BYTES);
  count_t count = count_shared();
  bool good = stacks == FIBERS && count.warm == FIBERS && count.cold == 0 && count.free == FIBERS;
  good = good && ws_stack_trim(ws_os_now_ns()) > ws_os_now_ns() && count_shared().cold == 0;
  good = good && ws_stack_trim(ws_os_now_ns() + 2 * WS_STACK_IDLE_NS) == 0;
  count = count_shared();
  good = good && count.warm == 0 && count.cold == FIBERS && count.free == FIBERS && count.pages == 0;
  good = good && use_stacks(WS_FIBER_STACK_BYTES) == stacks; // the same once more, from cold stacks
  count = count_shared();
  good = good && count.warm == FIBERS && count.cold == 0 && count.free == FIBERS;
  scene_end();
  return good && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

/// A thread keeps no large stack: all are shared, also while the thread lives.
static int share_large(void *unused)
{
  (void)unused;
  const ws_fiber_options_t options = {.stack_bytes = 1u << 20};
  scene_begin(1);
  ws_latch_init(&latch, 1);
  for (uint32_t i = 0; i < 5; i++)
    note(ws_fiber_push(scene.pool, wait_for_latch, NULL, NULL, &options) == 0);
  note(await_parked(5));
  ws_latch_count_down(&latch, 1);
  ws_pool_wait(scene.pool);
  const count_t count = count_shared();
  scene_end();
  return count.warm == 5 && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

static void nap(void *unused)
{
  (void)unused;
  note(ws_sem_wait_until(&(ws_sem_t)WS_SEM_INIT(0), 1) == -ETIMEDOUT);
}

static bool sleeps_untimed(void *unused)
{
  (void)unused;
  return ws_load_acquire(&untimed_sleeps) > 0;
}

static bool sleeps_timed(void *unused)
{
  (void)unused;
  return ws_load_acquire(&timed_sleeps) > 0;
}

static bool all_cold(void *unused)
{
  (void)unused;
  const count_t count = count_shared();
  return count.cold > 0 && count.cold == count.free;
}

/// The thread sleeps without limit, for there is nothing to do. Stacks become free: it sets a time, and trims
/// then; and once more for stacks that become free later.
static int trim_by_thread(void *unused)
{
  (void)unused;
  scene_begin(1);
  push_fiber(nap, NULL, NULL);
  ws_pool_wait(scene.pool);
  bool good = test_until(sleeps_untimed, NULL);
  for (uint32_t i = 0; i < 2; i++) {
    ws_store_release(&timed_sleeps, 0);
    ws_store_release(&untimed_sleeps, 0);
    use_stacks(WS_FIBER_STACK_BYTES);
    good = good && test_until(sleeps_timed, NULL);
    jump();
    good = good && test_until(all_cold, NULL) && test_until(sleeps_untimed, NULL);
  }
  scene_end();
  return good && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

static void test_trims(void)
{
  CU_ASSERT_EQUAL(test_in_child(trim_by_call, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(share_large, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(trim_by_thread, NULL), CHILD_GOOD);
}

TEST_MAIN("fiber_trim", TEST_CASE(test_trims))
