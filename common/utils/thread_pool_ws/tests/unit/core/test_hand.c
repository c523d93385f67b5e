// SPDX-License-Identifier: BSD-3-Clause
/// @file test_hand.c
/// A push hands its task to a worker that spins (ws_push.c). That worker is the test's: a push finds its
/// inbox in the place of a real worker's, and what happens when it is claimed is the test's
/// (--wrap=ws_inbox_claim_more).
#include "../../../pool/ws_process.h"
#include "../../../tasks/ws_inbox.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

static ws_pool_t *pool;
static ws_inbox_t inbox, *real_inbox;
static ws_au64_t run;
static uint64_t pushed; ///< pushes of this thread, before

static struct {
  bool is_on;
  void (*claimed)(void);
  bool finds_none; ///< no worker waits
  uint32_t claims;
} point;

/// The test's worker is the only one that waits.
static bool ws_inbox_claim_more_seam(const ws_tasks_t *of, ws_queue_t *claimer)
{
  if (!point.is_on)
    return __real_ws_inbox_claim_more(of, claimer);
  if (point.claims++ > 0)
    return false;
  if (point.finds_none) {
    point.claimed();
    return false;
  }
  claimer->claim = (ws_claim_t){.bits = 1, .left = ws_load_relaxed(&of->left)};
  point.claimed();
  return true;
}

static uint32_t state(void)
{
  return (uint32_t)(ws_load_relaxed(&inbox.state) % WS_INBOX_STATES);
}

static const uint64_t nobody = UINT64_C(1) << 63; ///< a bit of no worker: a push looks for an inbox

/// A pool whose workers sleep. @param claimed  happens between a claim and the fill
static void begin(uint32_t workers, bool fifo, void (*claimed)(void))
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = WS_SPIN_OFF;
  settings.fifo = fifo;
  pool = test_create(&settings);
  CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
  inbox = (ws_inbox_t){.mask = pool->tasks.waiting};
  ws_store_relaxed(&inbox.state, WS_INBOX_WAITING);
  ws_store_relaxed(&run, 0);
  real_inbox = pool->tasks.inbox[0];
  pool->tasks.inbox[0] = &inbox; // no worker looks there before it is woken
  ws_or_acq_rel(&pool->tasks.waiting[0], nobody);
  pushed = ws_self()->pushed;
  point.is_on = true;
  point.finds_none = false;
  point.claimed = claimed;
  point.claims = 0;
}

static void after_pushes(void)
{
  point.is_on = false;
  ws_and_acq_rel(&pool->tasks.waiting[0], ~nobody);
}

static void push(uint32_t workers, void (*claimed)(void))
{
  begin(workers, false, claimed);
  test_push(pool, test_count_task, &run, NULL);
  after_pushes();
}

static void destroy(void)
{
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  pool->tasks.inbox[0] = real_inbox;
  test_destroy(pool);
}

static void end(void)
{
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&run), 1);
  CU_ASSERT_EQUAL(state(), WS_INBOX_AWAY);
  CU_ASSERT_EQUAL(ws_self()->pushed, pushed + 1); // a trace says of a task that it is pushed once
  destroy();
}

static void worker_leaves(void)
{
  ws_store_relaxed(&inbox.gone, 1);
  ws_add_acq_rel(&pool->tasks.left, 1);
}

static void a_task_that_comes_too_late_is_queued(void)
{
  push(1, worker_leaves);
  CU_ASSERT_EQUAL(point.claims, 2);
  CU_ASSERT_EQUAL(state(), WS_INBOX_AWAY);
  end();
}

static void nothing_happens(void) {}

static bool has_run(void *unused)
{
  (void)unused;
  return test_value(&run) == 1;
}

/// The worker gets no CPU. The push has made the guard STANDING, which has another worker take the task.
static void a_task_that_is_handed_over_has_the_guard(void)
{
  push(2, nothing_happens);
  CU_ASSERT_EQUAL(point.claims, 1);
  CU_ASSERT_TRUE(test_until(has_run, NULL));
  end();
}

static uint64_t asleep; ///< workers, as bits

/// The worker sleeps on, and cannot be woken: it would take a task that the push must run.
static void pool_stops(void)
{
  asleep = ws_xchg_acq_rel(&pool->sleepers[0], 0);
  ws_store_relaxed(&pool->state, WS_STOPPED);
}

static void pool_goes_on(void)
{
  ws_store_relaxed(&pool->state, WS_RUNNING);
  ws_or_acq_rel(&pool->sleepers[0], asleep);
}

/// The workers have ended when the push is under way: it runs the task itself.
static void a_task_that_is_handed_over_during_a_stop_runs(void)
{
  push(1, pool_stops);
  CU_ASSERT_EQUAL(test_value(&run), 1);
  CU_ASSERT_EQUAL(state(), WS_INBOX_AWAY);
  pool_goes_on();
  end();
}

static void count_and_push_itself_once(void *unused)
{
  (void)unused;
  if (ws_add_acq_rel(&run, 1) == 0)
    test_push(pool, count_and_push_itself_once, NULL, NULL);
}

/// In a fifo pool such a task goes behind all others, into the overflow queue. No worker is there to take it.
static void a_task_that_pushes_itself_during_a_stop_runs_again(void)
{
  begin(1, true, pool_stops);
  test_push(pool, count_and_push_itself_once, NULL, NULL);
  after_pushes();
  CU_ASSERT_EQUAL_FATAL(test_value(&run), 2); // else the wait would not end
  pool_goes_on();
  destroy();
}

static void test_seams(void)
{
  seam.ws_inbox_claim_more = ws_inbox_claim_more_seam;
}

TEST_MAIN_SEAMS(test_seams, "hand", TEST_CASE(a_task_that_comes_too_late_is_queued),
                TEST_CASE(a_task_that_is_handed_over_has_the_guard),
                TEST_CASE(a_task_that_is_handed_over_during_a_stop_runs),
                TEST_CASE(a_task_that_pushes_itself_during_a_stop_runs_again))
