// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fork_calls.c
/// Each public call that can wait, or look at what other threads have left, in the child of a fork, while
/// threads of the parent run, wait and hold locks: it returns, or ends the process with a message. The forks
/// come from a plain thread, a task, a job of tpool.h, and a fiber. fork_names.py checks that
/// each exported name has a row, or is one of those that never wait.
#define _GNU_SOURCE // memfd_create

#include "../../../include/ws_key.h"
#include "../../../include/ws_ledger.h"
#include "../../../include/ws_reduce.h"
#include "../../../include/ws_scan.h"
#include "../../../pool/ws_process.h"
#include "fork_rows.h"
#include "setup_scene.h"
#ifdef WS_TEST_API
#include "../../../api/tests/fork_rows_api.h"
#endif
#ifdef WS_TEST_FIBER
#include "fork_rows_fiber.h"
#endif

/// The parent's: its worker stands in a task, and all else is queued.
static struct {
  ws_pool_t *pool;
  ws_pool_t *bare; ///< has no workers
  ws_pool_t *idle; ///< its worker sleeps
  ws_group_t open; ///< of the tasks, and of one unit more
  ws_key_t key;
  ws_keyed_t keyed;
  stand_t stand;
  test_threads_t waits;
} core;

static void *wait_for_open(void *unused)
{
  ws_group_wait(&core.open, core.pool);
  return unused;
}

static void begin_core(void)
{
  test_gate_init(&core.stand.gate);
  core.pool = test_pool(1);
  core.bare = test_pool(0);
  core.idle = test_pool(1);
  ws_group_init(&core.open, 4);
  ws_key_init(&core.key);
  core.keyed = (ws_keyed_t){.key = &core.key, .func = test_empty_task, .group = &core.open};
  test_push(core.pool, stand_task, &core.stand, &core.open);
  CU_ASSERT_TRUE(test_gate_await(&core.stand.gate, 1));
  CU_ASSERT_EQUAL(ws_pool_push_keyed(core.pool, &core.keyed), 0);
  test_push(core.pool, test_empty_task, NULL, &core.open);
  test_spawn(&core.waits, wait_for_open, NULL);
  CU_ASSERT_TRUE(test_until_quiet(core.idle));
}

static void end_core(void)
{
  test_gate_let(&core.stand.gate, 1);
  ws_group_complete(&core.open, 1);
  test_join(&core.waits);
  test_destroy(core.pool);
  test_destroy(core.bare);
  test_destroy(core.idle);
}

static bool is_never(void *unused)
{
  return unused != NULL;
}

static void count_element(void *unused, uint64_t first, uint64_t end, void *result)
{
  *(uint64_t *)result += end - first;
}

static void add_counts(void *unused, void *left, const void *right)
{
  *(uint64_t *)left += *(const uint64_t *)right;
}

static uint64_t reduce(void)
{
  uint64_t sum = 0;
  const ws_reduce_t how = {.piece = count_element, .combine = add_counts, .bytes = sizeof(sum), .grain = 1};
  return ws_reduce(core.pool, &how, 0, 10, &sum) == 0 ? sum : 0;
}

static void scan_one(void *count, void *unused, uint32_t index)
{
  ++*(uint64_t *)count;
}

static uint64_t scan(void)
{
  void *const block[2] = {&core, &core};
  uint64_t count = 0;
  const ws_scan_t how = {.block = block, .count = 2, .scan = scan_one, .arg = &count};
  return ws_scan(core.pool, &how) == 0 ? count : 0;
}

static int use_own_pool(void)
{
  ws_pool_t *own = test_pool(3);
  const bool good = runs_hundred(own);
  test_destroy(own);
  return good ? 0 : 1;
}

static void no_line(void *unused, const char *text) {}

enum { NOW, SOON, PHASE, HOT };

/// @return workers that the child takes to be awake: a hint in a pool of the parent must wake none
static uint32_t awake_after(uint32_t hint)
{
  if (hint == NOW)
    ws_pool_prewake(core.idle, 1, 1000);
  else if (hint == SOON)
    ws_pool_prewake_at(core.idle, 1, test_now_ns() + 1000000);
  else if (hint == PHASE)
    ws_pool_phase_begin(core.idle, 1);
  else
    ws_pool_set_spin(core.idle, WS_SPIN_HOT, 0);
  return ws_hint_load(&ws_process.awake);
}

static uint32_t workers_of(void)
{
  ws_stats_t stats;
  ws_pool_stats(core.pool, &stats, NULL, 0);
  return stats.workers;
}

static void try_core(void)
{
  ws_pool_t *pool = core.pool;
  const ws_task_t task = {.func = test_empty_task};
  const ws_event_t never = {.ready = is_never, .sleep = test_empty_task};
  ws_keyed_t keyed = {.key = &core.key, .func = test_empty_task};
  RETURNS(ws_pool_create, use_own_pool(), 0);
  RETURNS(ws_pool_push, ws_pool_push(pool, task), -ESRCH);
  RETURNS(ws_pool_push, ws_pool_push(core.bare, task), -ESRCH);
  RETURNS(ws_pool_try_push, ws_pool_try_push(pool, task), -ESRCH);
  RETURNS(ws_pool_push_batch, ws_pool_push_batch(pool, &task, 1), -ESRCH);
  RETURNS(ws_pool_push_keyed, ws_pool_push_keyed(pool, &keyed), -ESRCH);
  RETURNS(ws_pool_wait, ws_pool_wait(pool), -ESRCH);
  RETURNS(ws_pool_wait_until, ws_pool_wait_until(pool, UINT64_MAX), -ESRCH);
  RETURNS(ws_pool_stop, ws_pool_stop(pool, WS_STOP_DRAIN), -ESRCH);
  RETURNS(ws_pool_stop, ws_pool_stop(pool, WS_STOP_ABORT), -ESRCH);
  RETURNS(ws_pool_destroy, (ws_pool_destroy(pool), 0), 0);
  RETURNS(ws_pool_cancel, ws_pool_cancel(pool, &core.key), 1);
  RETURNS(ws_pool_cancel_task, ws_pool_cancel_task(pool, &core.keyed), 0);
  RETURNS(ws_pool_cancel_wait, ws_pool_cancel_wait(pool, &core.key), -ESRCH);
  RETURNS(ws_reduce, reduce(), 10);
  RETURNS(ws_scan, scan(), 2);
  RETURNS(ws_pool_stats_sized, workers_of(), 1);
  RETURNS(ws_pool_ledger_sized, (ws_pool_ledger_sized(pool, NULL, 0), 0), 0);
  RETURNS(ws_pool_prewake_stats_sized, (ws_pool_prewake_stats_sized(pool, NULL, 0), 0), 0);
  RETURNS(ws_pool_report, (ws_pool_report(pool, no_line, NULL), 0), 0);
  RETURNS(ws_pool_prewake, awake_after(NOW), 0);
  RETURNS(ws_pool_prewake_at, awake_after(SOON), 0);
  RETURNS(ws_pool_phase_begin, awake_after(PHASE), 0);
  RETURNS(ws_pool_phase_end, (ws_pool_phase_end(pool), 0), 0);
  RETURNS(ws_pool_set_spin, awake_after(HOT), 0);
  ENDS(ws_group_wait, (ws_group_wait(&core.open, pool), 0));
  ENDS(ws_group_wait, (ws_group_wait(&core.open, core.bare), 0));
  ENDS(ws_group_wait_until, ws_group_wait_until(&core.open, pool, UINT64_MAX - 1));
  ENDS(ws_pool_await, (ws_pool_await(pool, NULL, &never), 0));
  RETURNS(ws_worker_index, ws_worker_index(), -1); // the thread has left the parent's pool
  RETURNS(ws_pool_worker_index, ws_pool_worker_index(pool), -1);
  RETURNS(ws_pool_size, ws_pool_size(pool), 1);
  RETURNS(ws_current_task, ws_current_task() != NULL, false);
}

static bool others_sleep(void *unused)
{
  return test_others_sleep();
}

static void begin(void)
{
  rows_wrong = 0;
  begin_core();
#ifdef WS_TEST_API
  begin_api();
#endif
#ifdef WS_TEST_FIBER
  begin_fiber();
#endif
  CU_ASSERT_TRUE(test_until(others_sleep, NULL)); // each wait has begun
}

static void end(void)
{
  CU_ASSERT_EQUAL(rows_wrong, 0);
#ifdef WS_TEST_FIBER
  end_fiber();
#endif
#ifdef WS_TEST_API
  end_api();
#endif
  end_core();
}

static void try_all(void)
{
  try_core();
#ifdef WS_TEST_API
  try_api();
#endif
#ifdef WS_TEST_FIBER
  try_fiber();
#endif
}

TEST_CASE(in_a_child_of_a_thread)
{
  begin();
  try_all();
  end();
}

TEST_CASE(in_a_child_of_a_task)
{
  begin();
  stand_run(&core.stand, try_all);
  end();
}

#ifdef WS_TEST_API
TEST_CASE(in_a_child_of_a_job)
{
  begin();
  stand_run(&api.job, try_all);
  end();
}
#endif

#ifdef WS_TEST_FIBER
TEST_CASE(in_a_child_of_a_fiber)
{
  begin();
  stand_run(&fiber.stand, try_all);
  end();
}

/// Though it was registered before the first fiber.
TEST_CASE(a_handler_of_the_program_uses_fibers)
{
  begin();
  handler_uses_fibers = true;
  CU_ASSERT_EQUAL(test_in_child(look_at_handler, NULL), ROW_RIGHT);
  handler_uses_fibers = false;
  end();
}
#endif

int main(void)
{
#ifdef WS_TSAN
  puts("thread sanitizer starts no thread in the child of a process that has several");
  return TEST_CHILD_SKIP;
#endif
#ifdef WS_TEST_FIBER
  pthread_atfork(NULL, NULL, use_fibers_in_handler);
#endif
  return test_run(0, NULL);
}

TEST_MAIN("fork_calls")
