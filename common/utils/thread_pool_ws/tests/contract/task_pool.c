// SPDX-License-Identifier: BSD-3-Clause
/// @file task_pool.c
/// Shapes B: joins after the pool's end, the worker's number, and the last task of a batch in the caller.
/// Completions by hand, and answers that are never joined: explore.

#include "contract.h"

/// Nothing of the pool is needed to join what is complete: the pool may be gone, and another in its place.
CONTRACT_CASE(join_comes_after_the_end_of_the_pool)
{
  for (uint32_t round = 0; round < 60; round++) {
    tpool_t *pool = contract_pool(2);
    batch_t batch, outer;
    ws_au64_t ran = {0};
    batch_begin(&outer, 1);
    batch_begin(&batch, 2);
    batch_push(&batch, pool, test_count_task, &ran);
    batch_push(&batch, pool, test_count_task, &ran);
    contract_end(pool);
    if (round % 2)
      pool = contract_pool(1);
    batch_end(&batch, pool);
    batch_complete(&outer, 1);
    batch_end(&outer, pool);
    if (round % 2)
      contract_end(pool);
    CU_ASSERT_EQUAL(test_value(&ran), 2);
  }
}

#ifdef CONTRACT_SHAPE_B2PLUS
enum { INDEX_WORKERS = 5 };
typedef struct {
  test_gate_t gate;
  ws_au64_t seen[INDEX_WORKERS + 1]; ///< the last: no worker's
} numbers_t;

static void note_number(void *numbers_arg)
{
  numbers_t *numbers = numbers_arg;
  const int index = get_tpool_worker_index();
  test_count_task(&numbers->seen[index < 0 || index >= INDEX_WORKERS ? INDEX_WORKERS : index]);
  test_gate_task(&numbers->gate);
}

static void *number_here(void *number)
{
  *(int *)number = get_tpool_worker_index();
  return NULL;
}

CONTRACT_CASE(worker_index_is_the_workers_own)
{
  static numbers_t numbers;
  int elsewhere = 7;
  test_gate_init(&numbers.gate);
  tpool_t *pool = contract_pool(INDEX_WORKERS);
  for (uint32_t i = 0; i < INDEX_WORKERS; i++)
    push_alone(pool, note_number, &numbers);
  CU_ASSERT_TRUE(test_gate_await(&numbers.gate, INDEX_WORKERS));
  test_gate_let(&numbers.gate, INDEX_WORKERS);
  for (uint32_t i = 0; i <= INDEX_WORKERS; i++)
    CU_ASSERT_EQUAL(test_value(&numbers.seen[i]), i < INDEX_WORKERS);
  test_in_threads(1, number_here, &elsewhere);
  CU_ASSERT_TRUE(elsewhere == -1 && get_tpool_worker_index() == -1);
  contract_end(pool);
}
#endif

#ifdef WS_OAI_PUSH_BATCH
typedef struct {
  pthread_t thread;
  sem_t ran;
} where_t;

static void note_where(void *where_arg)
{
  where_t *where = where_arg;
  where->thread = pthread_self();
  sem_post(&where->ran);
}

/// @return whether the task ran in this thread
static bool runs_here(tpool_t *pool, bool is_last)
{
  where_t where;
  sem_init(&where.ran, 0, 0);
  pushTpool_batch(pool, (task_t){.func = note_where, .args = &where}, is_last);
  CU_ASSERT_TRUE_FATAL(test_sem_wait(&where.ran));
  return pthread_equal(where.thread, pthread_self());
}

CONTRACT_CASE(batch_runs_its_last_task_in_the_caller)
{
  tpool_t *pool = contract_pool(2);
  for (uint32_t i = 0; i < 20; i++)
    CU_ASSERT_TRUE(runs_here(pool, true) && !runs_here(pool, false));
  CU_ASSERT_TRUE(runs_here(NULL, false) && runs_here(NULL, true)); // no pool: everything in the caller
  contract_end(pool);
}
#endif

TEST_MAIN("task_pool")
