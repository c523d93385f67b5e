// SPDX-License-Identifier: BSD-3-Clause
/// @file newest.c
/// Shapes B, what callers of the newest OAI count on: the number of threads in the pool's struct, the last
/// task of a batch in the caller, and tasks without a join, pushed from tasks too, with arguments in a
/// ring.
#include "contract.h"

static void len_thr_is_the_number_of_threads(void)
{
  static char two[] = "-1,-1", none[] = "n", empty[] = "";
  static const tpool_t zeroed;
  CU_ASSERT_EQUAL(zeroed.len_thr, 0); // read before the init
  static const struct {
    char *params;
    size_t threads;
  } pools[] = {{two, 2}, {none, 0}, {empty, 0}};
  for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
    tpool_t *pool = contract_memory();
    initTpool(pools[i].params, pool, false);
    CU_ASSERT_EQUAL((size_t)pool->len_thr, pools[i].threads);
    CU_ASSERT_TRUE(pool_works(pool));
    CU_ASSERT_EQUAL((size_t)pool->len_thr, pools[i].threads);
    contract_end(pool);
  }
  for (int threads = 0; threads < 4; threads++) {
    tpool_t *pool = contract_pool(threads);
    CU_ASSERT_EQUAL((size_t)pool->len_thr, (size_t)threads);
    contract_end(pool);
  }
}

/// Callers compute chunks from it: after the abort tasks run in the push, and there is one chunk.
static void len_thr_after_the_abort(void)
{
  if (!contract_ours_only("the host's own leaves it as it was"))
    return;
  tpool_t *pool = contract_pool(3);
  abortTpool(pool);
  CU_ASSERT_EQUAL((size_t)pool->len_thr, 0);
  ws_au32_t runs = {0};
  pushTpool(pool, (task_t){.func = count_job, .args = &runs});
  CU_ASSERT_EQUAL(ws_load_relaxed(&runs), 1);
  free(pool);
}

/// A ring of arguments, reused by the number of the push, as nr-oru has it.
#define RING 128
typedef struct {
  uint32_t push;
  bool pushes; ///< it pushes SYMBOLS tasks
} argument_t;
#define SYMBOLS 28
#define SLOTS 40

static struct {
  tpool_t *pool;
  argument_t argument[RING];
  uint32_t pushes, started[SLOTS * (SYMBOLS + 1)];
  ws_au32_t count;
  sem_t slot;
} ring;

static void run_symbol(void *argument);

static void push_symbol(bool pushes)
{
  argument_t *argument = &ring.argument[ring.pushes % RING];
  *argument = (argument_t){.push = ring.pushes++, .pushes = pushes};
  pushTpool(ring.pool, (task_t){.func = run_symbol, .args = argument});
}

static void run_symbol(void *argument_arg)
{
  const argument_t argument = *(argument_t *)argument_arg;
  const uint32_t at = ws_load_relaxed(&ring.count); // relaxed: there is one worker
  ring.started[at] = argument.push;
  for (uint32_t i = 0; argument.pushes && i < SYMBOLS; i++)
    push_symbol(false);
  ws_store_release(&ring.count, at + 1);
  if ((at + 1) % (SYMBOLS + 1) == 0)
    sem_post(&ring.slot);
}

/// A slot's first task pushes the others, without a join. Each must find its own arguments.
static void tasks_of_a_task_start_in_the_order_of_their_pushes(void)
{
  ring.pool = contract_pool(1);
  sem_init(&ring.slot, 0, 0);
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    push_symbol(true);
    CU_ASSERT_TRUE_FATAL(contract_sem_wait(&ring.slot));
  }
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < SLOTS * (SYMBOLS + 1); i++)
    wrong += ring.started[i] != i;
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(ring.pool);
}

/// The same from a thread outside, with the ring full while the worker is held.
static void tasks_of_a_thread_start_in_the_order_of_their_pushes(void)
{
  static gate_t gate;
  ring.pool = contract_pool(1);
  gate_init(&gate);
  sem_init(&ring.slot, 0, 0);
  pushTpool(ring.pool, (task_t){.func = gate_job, .args = &gate});
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 1));
  for (uint32_t i = 0; i < 4 * (SYMBOLS + 1); i++)
    push_symbol(false);
  gate_let(&gate, 1);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < 4; i++)
    CU_ASSERT_TRUE_FATAL(contract_sem_wait(&ring.slot));
  for (uint32_t i = 0; i < 4 * (SYMBOLS + 1); i++)
    wrong += ring.started[i] != i;
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(ring.pool);
}

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

/// @return whether the task ran in this thread, before the push returned
static bool runs_here(tpool_t *pool, bool is_last)
{
  where_t where;
  sem_init(&where.ran, 0, 0);
  pushTpool_batch(pool, (task_t){.func = note_where, .args = &where}, is_last);
  CU_ASSERT_TRUE_FATAL(contract_sem_wait(&where.ran));
  return pthread_equal(where.thread, pthread_self());
}

static void batch_runs_its_last_task_in_the_caller(void)
{
  tpool_t *pool = contract_pool(2);
  for (uint32_t i = 0; i < 20; i++) {
    CU_ASSERT_TRUE(runs_here(pool, true));
    CU_ASSERT_FALSE(runs_here(pool, false));
  }
  CU_ASSERT_TRUE(runs_here(NULL, false)); // no pool: everything in the caller
  CU_ASSERT_TRUE(runs_here(NULL, true));
  contract_end(pool);
}
#endif

const contract_case_t newest_cases[] = {
    CASE(len_thr_is_the_number_of_threads),
    CASE(len_thr_after_the_abort),
    CASE(tasks_of_a_task_start_in_the_order_of_their_pushes),
    CASE(tasks_of_a_thread_start_in_the_order_of_their_pushes),
#ifdef WS_OAI_PUSH_BATCH
    CASE(batch_runs_its_last_task_in_the_caller),
#endif
    CASES_END,
};
