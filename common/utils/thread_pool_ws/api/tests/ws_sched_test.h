// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sched_test.h
/// A scheduler whose workers stand in a gate.
#ifndef WS_SCHED_TEST_H
#define WS_SCHED_TEST_H

#include "../../tests/support/ws_test.h" // IWYU pragma: export
#include "../ws_sched.h" // IWYU pragma: export

static struct {
  ws_sched_t *sched;
  test_gate_t gate;
  uint32_t workers;
  ws_sched_task_t holder[4]; ///< of each worker
} held;

static inline void hold(uint32_t workers, uint32_t capacity)
{
  held.workers = workers;
  test_gate_init(&held.gate);
  held.sched = sched_init(workers, capacity);
  CU_ASSERT_PTR_NOT_NULL_FATAL(held.sched);
  for (uint32_t i = 0; i < workers; i++) {
    sched_task_init(&held.holder[i], test_gate_task, &held.gate, WS_PRIORITY_NORMAL);
    CU_ASSERT_EQUAL(sched_is_complete(&held.holder[i]), 1); // it was never posted
    CU_ASSERT_EQUAL_FATAL(sched_post(held.sched, &held.holder[i]), 0);
  }
  CU_ASSERT_FATAL(test_gate_await(&held.gate, workers));
}

/// @brief Let all workers go, and wait for all tasks.
static inline void let_go(void)
{
  test_gate_let(&held.gate, held.workers);
  CU_ASSERT_EQUAL(sched_execute(held.sched), 0);
}

static inline void end_held(void)
{
  CU_ASSERT_EQUAL(sched_fini(held.sched), 0);
  test_gate_destroy(&held.gate);
}

#endif
