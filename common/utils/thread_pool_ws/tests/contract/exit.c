// SPDX-License-Identifier: BSD-3-Clause
/// @file exit.c
/// Every shape: the process ends while pools live. The host's simulators never end theirs.
#include <stdio.h>
#include <unistd.h>

#include "contract.h"

#define STATUS 21
#define UNAWAITED_MAX 20

static void run_some(tpool_t *pool)
{
  batch_t batch;
  static ws_au32_t counter;
  batch_begin(&batch, 50);
  for (uint32_t i = 0; i < 50; i++)
    batch_push(&batch, pool, count_job, &counter);
  batch_end(&batch, pool);
}

/// Pushes jobs for which no thread waits. Nothing of it is on the heap: a job that never ran would be a leak.
static void push_unawaited(tpool_t *pool, void (*func)(void *), void *arg, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
#if CONTRACT_TASKS
    pushTpool(pool, (task_t){.func = func, .args = arg});
#else
    static notifiedFIFO_elt_t elt[UNAWAITED_MAX];
    elt[i].processingFunc = func;
    elt[i].msgData = arg;
    pushTpool(pool, &elt[i]);
#endif
  }
}

static int leave_idle(const char *workers)
{
  run_some(contract_pool(atoi(workers)));
  return STATUS;
}

static int leave_unused(const char *workers)
{
  contract_pool(atoi(workers));
  return STATUS;
}

static int leave_with_blocked_jobs(const char *workers)
{
  static gate_t gate;
  gate_init(&gate);
  tpool_t *pool = contract_pool(atoi(workers));
  push_unawaited(pool, gate_job, &gate, UNAWAITED_MAX);
  return gate_await(&gate, 1) ? STATUS : 1;
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
  push_unawaited(contract_pool(atoi(workers)), count_without_end, &counter, 4);
  while (ws_load_acquire(&counter) < 10)
    contract_sleep_ms(1);
  return STATUS;
}

static void leave_from_here(void *unused)
{
  (void)unused;
  exit(STATUS);
}

static int leave_from_a_job(const char *workers)
{
  push_unawaited(contract_pool(atoi(workers)), leave_from_here, NULL, 1);
  contract_sleep_ms(CONTRACT_DEADLINE_S * 1000);
  return 1;
}

static int leave_two_pools(const char *workers)
{
  tpool_t *first = contract_pool(atoi(workers)), *second = contract_pool(2);
  run_some(second);
  run_some(first);
  return STATUS;
}

const contract_child_t exit_children[] = {
    {"leave_idle", leave_idle},
    {"leave_unused", leave_unused},
    {"leave_with_blocked_jobs", leave_with_blocked_jobs},
    {"leave_with_running_jobs", leave_with_running_jobs},
    {"leave_from_a_job", leave_from_a_job},
    {"leave_two_pools", leave_two_pools},
    {NULL, NULL},
};

static void exit_with_idle_workers(void)
{
  CU_ASSERT_EQUAL(contract_run_child("leave_idle", "2", NULL), STATUS);
  CU_ASSERT_EQUAL(contract_run_child("leave_idle", "1", NULL), STATUS);
  CU_ASSERT_EQUAL(contract_run_child("leave_unused", "3", NULL), STATUS);
}

static void exit_with_blocked_jobs(void)
{
  CU_ASSERT_EQUAL(contract_run_child("leave_with_blocked_jobs", "2", NULL), STATUS);
}

static void exit_with_running_jobs(void)
{
  CU_ASSERT_EQUAL(contract_run_child("leave_with_running_jobs", "2", NULL), STATUS);
}

static void exit_called_by_a_job(void)
{
  CU_ASSERT_EQUAL(contract_run_child("leave_from_a_job", "2", NULL), STATUS);
}

static void exit_with_127_workers_and_a_second_pool(void)
{
  CU_ASSERT_EQUAL(contract_run_child("leave_two_pools", "127", NULL), STATUS);
}

const contract_case_t exit_cases[] = {
    CASE(exit_with_idle_workers),
    CASE(exit_with_blocked_jobs),
    CASE(exit_with_running_jobs),
    CASE(exit_called_by_a_job),
    CASE(exit_with_127_workers_and_a_second_pool),
    CASES_END,
};
