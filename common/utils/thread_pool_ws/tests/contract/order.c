// SPDX-License-Identifier: BSD-3-Clause
/// @file order.c
/// Every shape, one worker: jobs that no thread waits for start in the order of their pushes, whether a
/// thread pushes them, a job, or a job itself once more. So a caller may keep arguments in a ring, and a job
/// that tries later lets the others run in between.
#include "contract.h"

enum { STARTS_MAX = 2048 };

/// The number of a job is that of its push.
typedef struct {
  uint32_t number, again, children;
} job_t;

static struct {
  tpool_t *pool;
  job_t job[STARTS_MAX];
  uint32_t pushed, started[STARTS_MAX];
  ws_au32_t count;
  test_gate_t gate;
} order;

static void start(void *job_arg);

static void push_next(uint32_t again, uint32_t children)
{
  job_t *job = &order.job[order.pushed];
  *job = (job_t){.number = order.pushed++, .again = again, .children = children};
  push_alone(order.pool, start, job);
}

static void start(void *job_arg)
{
  const job_t *job = job_arg;
  order.started[ws_load_relaxed(&order.count)] = job->number; // relaxed: there is one worker
  for (uint32_t i = 0; i < job->children; i++)
    push_next(0, 0);
  if (job->again > 0)
    push_next(job->again - 1, 0);
  ws_add_acq_rel(&order.count, 1);
}

static bool have_started(void *count)
{
  return ws_load_acquire(&order.count) == *(const uint32_t *)count;
}

static const struct {
  const char *what;
  uint32_t rounds;
  uint32_t jobs; ///< more than one are pushed while the worker is held
  uint32_t again; ///< so many of them push themselves twice
  uint32_t children; ///< of the first
} rows[] = {
    {"a job that pushes itself goes behind", 1, 4, 1, 0},
    {"jobs that push themselves take turns", 1, 4, 2, 0},
    {"jobs of a thread", 1, 300, 0, 0},
    {"jobs of a job: a slot and its symbols", 40, 1, 0, 28},
};

CONTRACT_CASE(jobs_start_in_the_order_of_their_pushes)
{
  test_gate_init(&order.gate);
  for (size_t row = 0; row < TEST_COUNT(rows); row++) {
    order.pool = contract_pool(1);
    order.pushed = 0;
    ws_store_relaxed(&order.count, 0); // relaxed: the pool has no job yet
    uint32_t due = 0, wrong = 0;
    for (uint32_t round = 0; round < rows[row].rounds; round++) {
      const bool holds = rows[row].jobs > 1;
      if (holds)
        push_alone(order.pool, test_gate_task, &order.gate);
      CU_ASSERT_TRUE_FATAL(!holds || test_gate_await(&order.gate, 1));
      for (uint32_t i = 0; i < rows[row].jobs; i++)
        push_next(i < rows[row].again ? 2 : 0, i == 0 ? rows[row].children : 0);
      test_gate_let(&order.gate, holds);
      due += rows[row].jobs + 2 * rows[row].again + rows[row].children;
      CU_ASSERT_TRUE_FATAL(test_until(have_started, &due));
    }
    for (uint32_t i = 0; i < due; i++)
      wrong += order.started[i] != i;
    if (wrong)
      printf("%s: %u out of order\n", rows[row].what, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
    contract_end(order.pool);
  }
}

TEST_MAIN("order")
