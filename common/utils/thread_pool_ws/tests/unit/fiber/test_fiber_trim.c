// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_trim.c
/// Stacks that are idle for long: their memory and their mappings go back, by a call and by the thread for
/// time limits. Linked with --wrap=ws_os_now_ns and --wrap=ws_os_futex_wait_until: the clock is the test's,
/// and the sleeps of that thread are counted; and with --wrap=ws_os_close_pages: the kernel may refuse.
#include <stdio.h>

#include "../../../fiber/ws_stack.h"
#include "../../../os/ws_os.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

#define HOUR_NS UINT64_C(3600000000000)

static ws_au64_t jumped_ns; ///< the sum of all jumps

/// An hour passes, and the thread for time limits notices it.
static void jump(void)
{
  ws_add_acq_rel(&jumped_ns, HOUR_NS);
  ws_add_relaxed(&ws_fiber_process.alarm_changed, 1);
  ws_os_futex_wake(&ws_fiber_process.alarm_changed, 1);
}

static ws_au32_t timed_sleeps, untimed_sleeps; ///< of the thread for time limits

static bool refuses; ///< to close stacks
static uint32_t refused;

static bool ws_os_close_pages_seam(void *memory, size_t bytes)
{
  refused += refuses;
  return !refuses && __real_ws_os_close_pages(memory, bytes);
}

/// So slow that no stack is idle for long before a jump.
static uint64_t ws_os_now_ns_seam(void)
{
  return __real_ws_os_now_ns() / 64 + ws_load_acquire(&jumped_ns);
}

/// Sleeps with a time limit last until the word changes: time passes by jump() only.
static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  if (word != &ws_fiber_process.alarm_changed)
    return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  ws_add_acq_rel(deadline_ns ? &timed_sleeps : &untimed_sleeps, 1);
  if (deadline_ns && deadline_ns <= ws_os_now_ns_seam())
    return -ETIMEDOUT; // a jump after the thread has read the clock
  return __real_ws_os_futex_wait_until(word, expected, 0);
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

/// @return shared stacks
static uint64_t shared(void)
{
  uint64_t sum = 0;
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++)
    for (const ws_free_stack_t *node = ws_fiber_process.shelf[i].newest; node; node = node->older)
      sum++;
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  return sum;
}

static bool any_slab(void)
{
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  const bool any = ws_fiber_process.slabs != NULL;
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  return any;
}

static uint64_t stacks(void)
{
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  return stats.stacks;
}

/// @return mappings of the process
static uint32_t mappings(void)
{
  uint32_t lines = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  for (int letter; maps && (letter = fgetc(maps)) != EOF;)
    lines += letter == '\n';
  if (maps)
    fclose(maps);
  return lines;
}

#define OTHER_MAPPINGS_MAX 20u ///< of the C library, for a new thread or file; sanitizers have more

static void trim_all(void)
{
  while (ws_stack_trim(ws_os_now_ns() + 2 * WS_STACK_IDLE_NS) != 0)
    ;
}

/// Trimmed too early: nothing happens, and the result is the time for the next look. Trimmed later: nothing
/// is left, neither of the stacks nor of their mappings.
static int trim_by_call(void *unused)
{
  (void)unused;
  scene_begin(1);
  const uint32_t before = mappings();
  bool good = use_stacks(WS_FIBER_STACK_BYTES) == FIBERS && shared() == FIBERS;
  const uint32_t during = mappings();
  good = good && ws_stack_trim(ws_os_now_ns()) > ws_os_now_ns() && shared() == FIBERS;
  trim_all();
  const uint32_t after = mappings();
  printf("mappings: %u, with %u stacks %u, then %u\n", before, FIBERS, during, after);
  good = good && shared() == 0 && stacks() == 0 && !any_slab();
  good = good && during >= before + 2 * FIBERS && (TEST_SANITIZED || after <= before + OTHER_MAPPINGS_MAX);
  good = good && use_stacks(WS_FIBER_STACK_BYTES) == FIBERS; // new ones
  scene_end();
  return good && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

/// Some stacks are in use, one in each slab: the mappings of the others go back all the same.
static int trim_around(void *unused)
{
  (void)unused;
  scene_begin(1);
  const uint32_t before = mappings();
  ws_stack_t stack[FIBERS];
  for (uint32_t i = 0; i < FIBERS; i++)
    note(ws_stack_get(1u << 20, &stack[i])); // threads keep none of these
  const uint32_t during = mappings();
  for (uint32_t i = 0; i < FIBERS; i++)
    if (i % 3 != 0)
      ws_stack_put(&stack[i]);
  trim_all();
  const uint32_t after = mappings(), in_use = (FIBERS + 2) / 3;
  printf("mappings: %u, with %u stacks %u, with %u %u\n", before, FIBERS, during, in_use, after);
  bool good = stacks() == in_use && during >= before + 2 * FIBERS;
  good = good && (TEST_SANITIZED || after <= before + 2 * in_use + OTHER_MAPPINGS_MAX);
  for (uint32_t i = 0; i < FIBERS; i += 3)
    ws_stack_put(&stack[i]);
  trim_all();
  good = good && stacks() == 0 && !any_slab();
  scene_end();
  return good && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

/// The kernel refuses, for it has too many mappings: the stacks stay, are tried again later, and can be used.
static int trim_refused(void *unused)
{
  (void)unused;
  scene_begin(1);
  bool good = use_stacks(WS_FIBER_STACK_BYTES) == FIBERS;
  refuses = true;
  const uint64_t now_ns = ws_os_now_ns() + 2 * WS_STACK_IDLE_NS;
  uint64_t again_ns;
  while ((again_ns = ws_stack_trim(now_ns)) <= now_ns)
    ;
  good = good && refused == FIBERS && shared() == FIBERS && again_ns == now_ns + WS_STACK_IDLE_NS;
  good = good && use_stacks(WS_FIBER_STACK_BYTES) == FIBERS;
  refuses = false;
  trim_all();
  good = good && stacks() == 0;
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
  const uint64_t count = shared();
  scene_end();
  return count == 5 && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
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

static bool none_shared(void *unused)
{
  (void)unused;
  return shared() == 0 && stacks() <= 1; // a worker may keep that of nap()
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
    good = good && test_until(none_shared, NULL) && test_until(sleeps_untimed, NULL);
  }
  scene_end();
  return good && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

static void test_trims(void)
{
  CU_ASSERT_EQUAL(test_in_child(trim_by_call, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(trim_around, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(trim_refused, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(share_large, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(trim_by_thread, NULL), CHILD_GOOD);
}

static void test_seams(void)
{
  seam.ws_os_close_pages = ws_os_close_pages_seam;
  seam.ws_os_now_ns = ws_os_now_ns_seam;
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
}

TEST_MAIN_SEAMS(test_seams, "fiber_trim", TEST_CASE(test_trims))
