// SPDX-License-Identifier: BSD-3-Clause
/// @file test_left.c
/// A worker has left its inbox, and goes to sleep. A task that becomes visible there late is found: by the
/// worker before it sleeps (ws_park.c, ws_worker.c), by the guard, or by the stop. What happens on a worker's
/// way to its sleep is the test's (--wrap=ws_place_leave), and so is what happens while the guard becomes
/// dormant (--wrap=ws_os_fence_heavy) and while the pool stops (--wrap=ws_guard_end). A worker that sleeps
/// beside a task is woken and counted (--wrap=ws_os_futex_wait_until).
#include "../../../core/ws_run.h"
#include "../../../sleep/ws_wake.h"
#include "../../../tasks/ws_inbox.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define NEVER_USED (UINT64_C(1) << 60) ///< a state that no fill of the pool has

static ws_pool_t *pool;
static ws_au64_t run; ///< tasks
static ws_au32_t parks_next; ///< what happens when the worker is about to park: a FULL inbox, or ...
static ws_au32_t slept_full; ///< times that a worker slept beside a task
enum { NOTHING, IS_FILLED, IS_CLAIMED };

/// The worker has left its inbox before, though a thread had claimed it. That thread's fill is visible now,
/// or it has no CPU.
static void ws_place_leave_seam(ws_worker_t *worker)
{
  const uint32_t step = ws_xchg_acq_rel(&parks_next, NOTHING);
  if (step != NOTHING) {
    ws_add_acq_rel(&worker->pool->tasks.left, 1);
    ws_store_relaxed(&worker->inbox.gone, 1);
    worker->inbox.task = (ws_task_t){.func = test_count_task, .arg = &run};
    if (step == IS_FILLED)
      ws_count_pushed(worker->pool, NULL, 1);
    ws_store_release(&worker->inbox.state,
                     NEVER_USED + (step == IS_FILLED ? WS_INBOX_FULL : WS_INBOX_WAITING));
  }
  __real_ws_place_leave(worker);
}

static ws_aptr_t watched; ///< the pool, once its workers sleep; NULL = there is none

static ws_worker_t *sleeper_of(const ws_au32_t *word)
{
  const struct ws_pool_s *of = ws_load_acquire(&watched);
  for (uint32_t i = 0; of && i < of->workers; i++)
    if (word == &of->worker[i]->token)
      return of->worker[i];
  return NULL;
}

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  ws_worker_t *worker = sleeper_of(word);
  if (worker && ws_inbox_is_full(&worker->inbox) && ws_claim(worker->pool, worker->index)) {
    ws_add_relaxed(&slept_full, 1);
    ws_token(worker);
  }
  return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
}

static bool has_run(void *count)
{
  return test_value(&run) == *(uint64_t *)count;
}

static void create(uint32_t workers, ws_spin_t spin)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = spin;
  pool = test_create(&settings);
  ws_store_relaxed(&run, 0);
  ws_store_relaxed(&slept_full, 0);
  CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
  ws_store_release(&watched, pool);
}

static void end(void)
{
  test_destroy(pool);
  ws_store_release(&watched, NULL);
}

static uint32_t gone(void)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < pool->workers; i++)
    count += ws_load_relaxed(&pool->worker[i]->inbox.gone);
  return count;
}

/// In a pool of one worker: no other worker, and no guard, could take the task.
static void a_late_task_is_run_before_the_worker_sleeps(void)
{
  create(1, WS_SPIN_OFF);
  const uint64_t stolen = TEST_SUM(pool, stolen_tasks);
  ws_store_release(&parks_next, IS_FILLED);
  test_push(pool, test_empty_task, NULL, NULL); // the worker is awake, and parks
  CU_ASSERT_TRUE(test_until(has_run, &(uint64_t){1}));
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(test_value(&run), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&slept_full), 0);
  CU_ASSERT_EQUAL(gone(), 0);
  CU_ASSERT_EQUAL(ws_inbox_count(&pool->tasks), 0);
  CU_ASSERT_EQUAL(TEST_SUM(pool, stolen_tasks), stolen + 2);
  CU_ASSERT_EQUAL(ws_searching(pool), 0);
  end();
}

/// The claimer comes back when the worker sleeps, and keeps its task. The worker can be given tasks again.
static void a_worker_sleeps_though_it_is_claimed(void)
{
  const ws_task_t task = {.func = test_count_task, .arg = &run};
  static ws_queue_t claimer;
  create(1, WS_SPIN_OFF);
  claimer.index = pool->tasks.workers + 7;
  claimer.claim = (ws_claim_t){.bits = 1, .left = ws_load_acquire(&pool->tasks.left)};
  ws_store_release(&parks_next, IS_CLAIMED);
  test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  ws_inbox_t *inbox = &pool->worker[0]->inbox;
  CU_ASSERT_EQUAL(gone(), 1);
  CU_ASSERT_TRUE(ws_inbox_is_claimed(inbox));
  CU_ASSERT_FALSE(ws_inbox_give(&pool->tasks, &claimer, &claimer.claim, &task));
  CU_ASSERT_FALSE(ws_inbox_is_claimed(inbox));
  test_push(pool, test_count_task, &run, NULL);
  CU_ASSERT_TRUE(test_until(has_run, &(uint64_t){1}));
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(gone(), 0);
  CU_ASSERT_EQUAL(test_value(&run), 1);
  end();
}

/// A task becomes visible in the inbox of a worker that sleeps, and does not know that it has left.
static void fill_beside_sleeper(struct ws_pool_s *of)
{
  ws_inbox_t *inbox = &of->worker[0]->inbox;
  inbox->task = (ws_task_t){.func = test_count_task, .arg = &run};
  ws_count_pushed(of, NULL, 1);
  ws_store_release(&inbox->state, NEVER_USED + WS_INBOX_FULL);
}

static ws_au32_t fills_at_end; ///< 1 = a push is under way while the pool stops

/// The pool is idle, and its state is not STOPPED yet.
static void ws_guard_end_seam(struct ws_pool_s *of)
{
  __real_ws_guard_end(of);
  if (ws_xchg_acq_rel(&fills_at_end, 0))
    fill_beside_sleeper(of);
}

static ws_au32_t fills_when_dormant; ///< 1 = a fill is visible when the guard has become dormant
static ws_au32_t filled; ///< 1 = it is

static void ws_os_fence_heavy_seam(void)
{
  __real_ws_os_fence_heavy();
  if (!ws_xchg_acq_rel(&fills_when_dormant, 0))
    return;
  fill_beside_sleeper(ws_load_acquire(&watched));
  ws_store_release(&filled, 1);
}

static bool is_guard_down(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->guard) == WS_GUARD_DORMANT;
}

static void check_rescued(void)
{
  CU_ASSERT_TRUE(test_until(has_run, &(uint64_t){1}));
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until(is_guard_down, NULL));
  CU_ASSERT_EQUAL(test_value(&run), 1);
  CU_ASSERT_EQUAL(ws_inbox_count(&pool->tasks), 0);
  CU_ASSERT_EQUAL(ws_load_acquire(&pool->tasks.stuck), 0);
}

/// A worker does not get its CPU for as long as it takes.
static void the_guard_finds_a_task_in_an_inbox(void)
{
  for (uint32_t shared = 0; shared <= 1; shared++) { // a search in order of kinds finds it, too
    create(2, WS_SPIN_OFF);
    ws_store_relaxed(&pool->tasks.shared_tasks, shared); // as if a task of another kind were queued
    fill_beside_sleeper(pool);
    ws_fence_seq_cst();
    ws_need_guard(pool);
    CU_ASSERT_TRUE(test_until(has_run, &(uint64_t){1}));
    ws_store_relaxed(&pool->tasks.shared_tasks, 0);
    check_rescued();
    end();
  }
}

static void a_guard_that_becomes_dormant_sees_a_fill(void)
{
  create(2, WS_SPIN_OFF);
  ws_store_release(&fills_when_dormant, 1);
  ws_fence_seq_cst();
  ws_need_guard(pool);
  check_rescued();
  CU_ASSERT_EQUAL(ws_load_acquire(&filled), 1);
  end();
}

static void a_stop_runs_a_late_task(void)
{
  create(1, WS_SPIN_OFF);
  ws_store_release(&fills_at_end, 1);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_EQUAL(test_value(&run), 1);
  end();
}

static void test_seams(void)
{
  seam.ws_place_leave = ws_place_leave_seam;
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
  seam.ws_guard_end = ws_guard_end_seam;
  seam.ws_os_fence_heavy = ws_os_fence_heavy_seam;
}

TEST_MAIN_SEAMS(test_seams, "left", TEST_CASE(a_late_task_is_run_before_the_worker_sleeps),
                TEST_CASE(a_worker_sleeps_though_it_is_claimed),
                TEST_CASE(the_guard_finds_a_task_in_an_inbox),
                TEST_CASE(a_guard_that_becomes_dormant_sees_a_fill), TEST_CASE(a_stop_runs_a_late_task))
