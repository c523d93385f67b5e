// SPDX-License-Identifier: BSD-3-Clause
/// @file test_left.c
/// A fill of an inbox may become visible late, from a store buffer: when its worker has left the inbox and is
/// about to sleep, or when the pool stops. The task is run. What happens on the worker's way to its sleep,
/// and while the pool stops, is the test's; a worker that sleeps beside a task is woken and counted. And a
/// task that is stuck in an inbox.
#include "../../../core/ws_run.h"
#include "../../../sleep/ws_wake.h"
#include "../../../wide/ws_inbox.h"
#include "../../../wide/ws_wide.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define NEVER_USED (UINT64_C(1) << 60) ///< a state that no fill of the pool has

static ws_pool_t *pool;
static ws_au64_t run; ///< tasks
static ws_au32_t fills_at_park, fills_at_end; ///< bool: once
static ws_au32_t slept_full; ///< times that a worker slept beside a task

static void fill(ws_worker_t *worker)
{
  worker->inbox.task = (ws_task_t){.func = test_count_task, .arg = &run};
  ws_count_pushed(worker->pool, NULL, 1);
  ws_store_release(&worker->inbox.state, NEVER_USED + WS_INBOX_FULL);
}

/// The worker has left its inbox before, though a thread had claimed it. That thread's fill is visible now.
static void ws_place_leave_seam(ws_worker_t *worker)
{
  if (ws_xchg_acq_rel(&fills_at_park, 0)) {
    ws_add_acq_rel(&worker->pool->tasks.left, 1);
    ws_store_relaxed(&worker->inbox.gone, 1);
    fill(worker);
  }
  __real_ws_place_leave(worker);
}

/// The pool is idle, and its state is not STOPPED yet: a push is under way.
static void ws_guard_end_seam(struct ws_pool_s *of)
{
  __real_ws_guard_end(of);
  if (ws_xchg_acq_rel(&fills_at_end, 0))
    fill(of->worker[0]);
}

static ws_aptr_t watched; ///< the pool, once its worker sleeps; NULL = there is none

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  const struct ws_pool_s *of = ws_load_acquire(&watched);
  ws_worker_t *worker = of ? of->worker[0] : NULL;
  if (worker && word == &worker->token && ws_inbox_is_full(&worker->inbox)
      && ws_claim(worker->pool, worker->index, true)) {
    ws_add_relaxed(&slept_full, 1);
    ws_token(worker);
  }
  return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
}

static bool has_run(void *unused)
{
  (void)unused;
  return test_value(&run) == 1;
}

/// Of one worker: no other worker, and no guard, could take the task.
static void create(void)
{
  ws_settings_t settings = test_settings(1);
  settings.spin = WS_SPIN_OFF;
  pool = test_create(&settings);
  ws_store_relaxed(&run, 0);
  ws_store_relaxed(&slept_full, 0);
  CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
  ws_store_release(&watched, pool);
}

static void end(void)
{
  CU_ASSERT_EQUAL(test_value(&run), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&slept_full), 0);
  test_destroy(pool);
  ws_store_release(&watched, NULL);
}

static void a_late_task_is_run_before_the_worker_sleeps(void)
{
  create();
  ws_store_release(&fills_at_park, 1);
  test_push(pool, test_empty_task, NULL, NULL); // the worker is awake, and parks
  CU_ASSERT_TRUE(test_until(has_run, NULL));
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->worker[0]->inbox.gone), 0); // it can be given tasks again
  CU_ASSERT_EQUAL(ws_inbox_count(&pool->tasks), 0);
  end();
}

static ws_au32_t renews; ///< bool
static ws_au64_t renewed; ///< times

/// Its worker's own tasks never run out.
static void renew(void *unused)
{
  ws_add_relaxed(&renewed, 1);
  if (ws_load_acquire(&renews))
    test_push(pool, renew, unused, NULL);
}

static bool is_renewed(void *unused)
{
  (void)unused;
  return test_value(&renewed) > 0;
}

static bool has_run_two(void *unused)
{
  (void)unused;
  return test_value(&run) == 2;
}

/// A task that is stuck ends a round of a worker that has tasks of its own. The next round ends, too: a task
/// of a thread outside runs.
static void a_round_follows_a_stuck_task(void)
{
  create();
  ws_store_release(&watched, NULL);
  ws_store_release(&renews, 1);
  test_push(pool, renew, NULL, NULL);
  CU_ASSERT_TRUE(test_until(is_renewed, NULL));
  ws_inbox_t *inbox = &pool->worker[0]->inbox;
  fill(pool->worker[0]);
  ws_store_release(&inbox->stuck, NEVER_USED + WS_INBOX_FULL);
  ws_store_release(&pool->tasks.stuck, 1);
  CU_ASSERT_TRUE(test_until(has_run, NULL));
  test_push(pool, test_count_task, &run, NULL);
  CU_ASSERT_TRUE(test_until(has_run_two, NULL));
  ws_store_release(&renews, 0);
  test_destroy(pool);
}

static void a_stop_runs_a_late_task(void)
{
  create();
  ws_store_release(&fills_at_end, 1);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  end();
}

static void ws_wide_plan_seam(ws_tasks_t *tasks, uint32_t workers)
{
  tasks->inboxes = workers;
}

static void test_seams(void)
{
  seam.ws_wide_plan = ws_wide_plan_seam;
  seam.ws_place_leave = ws_place_leave_seam;
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
  seam.ws_guard_end = ws_guard_end_seam;
}

TEST_MAIN_SEAMS(test_seams, "left", TEST_CASE(a_late_task_is_run_before_the_worker_sleeps),
                TEST_CASE(a_stop_runs_a_late_task), TEST_CASE(a_round_follows_a_stuck_task))
