// SPDX-License-Identifier: BSD-3-Clause
/// @file pools.c
/// Every shape: many workers, many pools, many threads that push, what a joiner sees and what it may run.
#include <stdio.h>

#include "contract.h"

static bool run_counted(tpool_t *pool, uint32_t jobs)
{
  batch_t batch;
  ws_au32_t counter = {0};
  batch_begin(&batch, jobs);
  for (uint32_t i = 0; i < jobs; i++)
    batch_push(&batch, pool, count_job, &counter);
  batch_end(&batch, pool);
  return ws_load_acquire(&counter) == jobs;
}

/// The host keeps its pools in memory from malloc(): init may not read it.
static void pool_in_memory_with_garbage(void)
{
  static char params[] = "-1,-1";
  for (int fill = 0; fill < 256; fill += 85) {
    tpool_t *pool = contract_memory();
    memset(pool, fill, sizeof(*pool));
    initTpool(params, pool, false);
    CU_ASSERT_TRUE(run_counted(pool, 50));
    contract_end(pool);
  }
}

/// A pool may stand at any address that malloc() returns, inside another object.
static void pool_inside_another_object(void)
{
  static struct {
    uint64_t before;
    tpool_t pool;
    uint64_t after;
  } owner = {.before = 17, .after = 18};
  static char name[] = "owner";
  CU_ASSERT_TRUE(_Alignof(tpool_t) <= _Alignof(max_align_t));
  initFloatingCoresTpool(2, &owner.pool, false, name);
  CU_ASSERT_TRUE(run_counted(&owner.pool, 50));
  CU_ASSERT_EQUAL(owner.before, 17);
  CU_ASSERT_EQUAL(owner.after, 18);
}

static void pool_of_127_workers(void)
{
  tpool_t *pool = contract_pool(127);
  for (uint32_t round = 0; round < 20; round++)
    CU_ASSERT_TRUE(run_counted(pool, BATCH_MAX));
  contract_end(pool);
}

static void several_pools_one_thread(void)
{
  enum { POOLS = 4 };
  tpool_t *pool[POOLS];
  for (int i = 0; i < POOLS; i++)
    pool[i] = contract_pool(i + 1);
  for (uint32_t round = 0; round < 300; round++) {
    batch_t batch[POOLS];
    ws_au32_t counter = {0};
    for (uint32_t i = 0; i < POOLS; i++)
      batch_begin(&batch[i], 8);
    for (uint32_t j = 0; j < 8; j++)
      for (uint32_t i = 0; i < POOLS; i++)
        batch_push(&batch[i], pool[i], count_job, &counter);
    for (uint32_t i = 0; i < POOLS; i++)
      batch_end(&batch[(i + round) % POOLS], pool[(i + round) % POOLS]);
    CU_ASSERT_EQUAL(ws_load_acquire(&counter), POOLS * 8);
  }
  for (uint32_t i = 0; i < POOLS; i++)
    contract_end(pool[i]);
}

static void pools_come_and_go(void)
{
  for (uint32_t round = 0; round < 60; round++) {
    tpool_t *pool = contract_pool(1 + (int)(round % 4));
    if (round % 3)
      CU_ASSERT_TRUE(run_counted(pool, round));
    contract_end(pool);
  }
}

static void *push_batches(void *pool)
{
  static char failed;
  for (uint32_t round = 0; round < 200; round++)
    if (!run_counted(pool, 1 + round % 32))
      return &failed;
  return NULL;
}

static void several_threads_push(void)
{
  tpool_t *pool = contract_pool(3);
  pthread_t thread[6];
  for (uint32_t i = 0; i < 6; i++)
    pthread_create(&thread[i], NULL, push_batches, pool);
  for (uint32_t i = 0; i < 6; i++) {
    void *failed = NULL;
    pthread_join(thread[i], &failed);
    CU_ASSERT_PTR_NULL(failed);
  }
  contract_end(pool);
}

static void *push_once(void *pool)
{
  static char failed;
  return run_counted(pool, 4) ? NULL : &failed;
}

static void threads_that_push_come_and_go(void)
{
  tpool_t *pool = contract_pool(2);
  for (uint32_t round = 0; round < 500; round++) {
    pthread_t thread;
    void *failed = NULL;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, push_once, pool), 0);
    pthread_join(thread, &failed);
    CU_ASSERT_PTR_NULL(failed);
  }
  contract_end(pool);
}

typedef struct {
  uint64_t in, out[4];
} cell_t;

static void fill_cell(void *cell_arg)
{
  cell_t *cell = cell_arg;
  for (uint64_t i = 0; i < 4; i++)
    cell->out[i] = cell->in * (i + 2);
}

/// Plain writes, both ways, by every job and not only by the last one.
static void what_jobs_wrote_is_visible_to_the_joiner(void)
{
  tpool_t *pool = contract_pool(3);
  uint32_t wrong = 0;
  for (uint64_t round = 0; round < 500; round++) {
    batch_t batch;
    cell_t cell[24];
    batch_begin(&batch, 24);
    for (uint64_t i = 0; i < 24; i++) {
      cell[i].in = round * 100 + i + 1;
      batch_push(&batch, pool, fill_cell, &cell[i]);
    }
    batch_end(&batch, pool);
    for (uint64_t i = 0; i < 24; i++)
      for (uint64_t j = 0; j < 4; j++)
        wrong += cell[i].out[j] != (round * 100 + i + 1) * (j + 2);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(pool);
}

/// The unrelated task blocks until the wait has returned: a thread that ran it while waiting would never
/// return.
static void wait_returns_while_an_unrelated_task_blocks(void)
{
  if (CONTRACT_TASKS && !contract_ours_only("the host's own may queue a task behind a job that blocks"))
    return;
  tpool_t *pool = contract_pool(2);
  static gate_t gate;
  gate_init(&gate);
  for (uint32_t round = 0; round < 500; round++) {
    batch_t others, mine;
    ws_au32_t counter = {0};
    batch_begin(&others, 1);
    batch_begin(&mine, 2);
    batch_push(&others, pool, gate_job, &gate);
    batch_push(&mine, pool, count_job, &counter);
    batch_push(&mine, pool, count_job, &counter);
    batch_end(&mine, pool);
    gate_let(&gate, 1);
    batch_end(&others, pool);
    CU_ASSERT_TRUE(gate_await(&gate, 1));
  }
  contract_end(pool);
}

const contract_case_t pools_cases[] = {
    CASE(pool_in_memory_with_garbage),
    CASE(pool_inside_another_object),
    CASE(pool_of_127_workers),
    CASE(several_pools_one_thread),
    CASE(pools_come_and_go),
    CASE(several_threads_push),
    CASE(threads_that_push_come_and_go),
    CASE(what_jobs_wrote_is_visible_to_the_joiner),
    CASE(wait_returns_while_an_unrelated_task_blocks),
    CASES_END,
};
