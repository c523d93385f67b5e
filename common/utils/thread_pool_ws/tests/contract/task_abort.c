// SPDX-License-Identifier: BSD-3-Clause
/// @file task_abort.c
/// Shapes B, the end of a pool: it runs what is queued, joins its threads and frees everything.

#include "contract.h"

#define TASKS 200000u

static ws_au64_t ran;

/// No bound: as many tasks from one thread while both workers stand still, and no wait among them. The abort
/// runs them.
CONTRACT_CASE(push_takes_any_number_and_abort_runs_them)
{
  tpool_t *pool = contract_pool(2);
  TEST_GATE(gate);
  for (uint32_t i = 0; i < 2; i++)
    push_alone(pool, test_gate_task, &gate);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&gate, 2));
  for (uint32_t i = 0; i < TASKS; i++)
    push_alone(pool, test_count_task, &ran);
  CU_ASSERT_EQUAL(test_value(&ran), 0); // none ran here
  test_gate_let(&gate, 2);
  if (!contract_ours_only("the host's own may lose tasks that are still queued"))
    CU_ASSERT_TRUE(test_until_count(&ran, TASKS));
  contract_end(pool);
  CU_ASSERT_EQUAL(test_value(&ran), TASKS);
}

/// The same tpool_t serves again after its end, with one worker or with none.
CONTRACT_CASE(pool_starts_again_after_its_abort)
{
  tpool_t *pool = contract_memory();
  for (uint32_t round = 0; round < 50; round++) {
    char params[] = "-1", none[] = "n";
    initTpool(round % 2 ? params : none, pool, false);
    CU_ASSERT_TRUE(contract_runs(pool, 20));
    abortTpool(pool);
  }
  free(pool);
}

/// Callers compute chunks from the number of threads: after the abort tasks run in the push, and there is one
/// chunk.
CONTRACT_CASE(a_push_after_the_abort_runs_its_task)
{
  if (!contract_ours_only("the host's own is gone"))
    return;
  tpool_t *pool = contract_pool(3);
  ws_au64_t here = {0};
  abortTpool(pool);
  CU_ASSERT_EQUAL(contract_threads(pool), 0);
  push_alone(pool, test_count_task, &here);
  CU_ASSERT_EQUAL(test_value(&here), 1);
  free(pool);
}

TEST_MAIN("task_abort")
