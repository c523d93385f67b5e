// SPDX-License-Identifier: BSD-3-Clause
/// @file exit.c
/// Every shape: the process ends while pools live. The host's simulators never end theirs.

#include "contract.h"

#define STATUS 21

static int leave_with_blocked_jobs(const char *workers)
{
  static test_gate_t gate;
  test_gate_init(&gate);
  tpool_t *pool = contract_pool(atoi(workers));
  for (uint32_t i = 0; i < 20; i++)
    push_alone(pool, test_gate_task, &gate);
  return test_gate_await(&gate, 1) ? STATUS : 1;
}

static void count_without_end(void *counter)
{
  for (;;) {
    ws_add_acq_rel((ws_au32_t *)counter, 1);
    usleep(1);
  }
}

static int leave_with_running_jobs(const char *workers)
{
  static ws_au32_t counter;
  tpool_t *pool = contract_pool(atoi(workers));
  for (uint32_t i = 0; i < 4; i++)
    push_alone(pool, count_without_end, &counter);
  while (ws_load_acquire(&counter) < 10)
    test_sleep_ms(1);
  return STATUS;
}

static void leave_from_here(void *unused)
{
  exit(STATUS);
}

static int leave_from_a_job(const char *workers)
{
  push_alone(contract_pool(atoi(workers)), leave_from_here, NULL);
  test_sleep_ms(TEST_DEADLINE_S * 1000);
  return 1;
}

static int leave_two_pools(const char *workers)
{
  tpool_t *first = contract_pool(atoi(workers)), *second = contract_pool(2);
  return contract_runs(second, 50) && contract_runs(first, 50) ? STATUS : 1;
}

const contract_child_t exit_children[] = {
    {"leave_with_blocked_jobs", leave_with_blocked_jobs},
    {"leave_with_running_jobs", leave_with_running_jobs},
    {"leave_from_a_job", leave_from_a_job},
    {"leave_two_pools", leave_two_pools},
    {NULL, NULL},
};

CONTRACT_CASE(the_process_ends_while_pools_live)
{
  static const char *const workers[] = {"2", "2", "2", "127"}; // [child]
  for (size_t i = 0; i < TEST_COUNT(workers); i++) {
    const int status = contract_run_child(exit_children[i].name, workers[i], NULL);
    if (status != STATUS)
      printf("%s: exit status %d\n", exit_children[i].name, status);
    CU_ASSERT_EQUAL(status, STATUS);
  }
}

TEST_MAIN("exit")
