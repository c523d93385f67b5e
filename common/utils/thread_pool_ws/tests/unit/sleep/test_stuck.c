// SPDX-License-Identifier: BSD-3-Clause
/// @file test_stuck.c
/// A task that is stuck in the inbox of a worker. A fill that becomes visible late: the simulated machine,
/// whose store buffers make it (mutants inbox-left-is-lost, late-push-left).
#include "../../../core/ws_run.h"
#include "../../support/ws_seam.h"

#define NEVER_USED (UINT64_C(1) << 60) ///< a state that no fill of the pool has

static ws_au64_t run; ///< tasks

static void fill(ws_worker_t *worker)
{
  worker->inbox.task = (ws_task_t){.func = test_count_task, .arg = &run};
  ws_count_pushed(worker->pool, NULL, 1);
  ws_store_release(&worker->inbox.state, NEVER_USED + WS_INBOX_FULL);
}

static ws_au32_t renews; ///< bool
static ws_au64_t renewed; ///< times

/// Its worker's own tasks never run out.
static void renew(void *pool)
{
  ws_add_relaxed(&renewed, 1);
  if (ws_load_acquire(&renews))
    test_push(pool, renew, pool, NULL);
}

/// A task that is stuck ends a round of a worker that has tasks of its own. The next round ends, too: a task
/// of a thread outside runs.
TEST_CASE(a_round_follows_a_stuck_task)
{
  ws_settings_t settings = test_settings(1); // no other worker, and no guard, could take the task
  settings.spin = WS_SPIN_OFF;
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
  ws_store_release(&renews, 1);
  test_push(pool, renew, pool, NULL);
  CU_ASSERT_TRUE(test_until_count(&renewed, 1));
  ws_inbox_t *inbox = &pool->worker[0]->inbox;
  fill(pool->worker[0]);
  ws_store_release(&inbox->stuck, NEVER_USED + WS_INBOX_FULL);
  ws_store_release(&pool->tasks.stuck, 1);
  CU_ASSERT_TRUE(test_until_count(&run, 1));
  test_push(pool, test_count_task, &run, NULL);
  CU_ASSERT_TRUE(test_until_count(&run, 2));
  ws_store_release(&renews, 0);
  test_destroy(pool);
}

static void ws_wide_plan_seam(ws_tasks_t *tasks, uint32_t workers)
{
  tasks->inboxes = workers;
}

TEST_MAIN_SEAMS("stuck", SEAM(ws_wide_plan))
