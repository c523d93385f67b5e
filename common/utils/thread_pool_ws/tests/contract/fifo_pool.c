// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_pool.c
/// Shape A, elements through the pool: inline mode, orders of start and return, who owns an element when.
#include "contract.h"

typedef struct {
  ws_au32_t *runs;
  pthread_t *thread;
  uint64_t value;
} job_t;

static void run_job(void *job_arg)
{
  job_t *job = job_arg;
  job->value = job->value * 3 + 1;
  if (job->thread)
    *job->thread = pthread_self();
  if (job->runs)
    ws_add_acq_rel(job->runs, 1);
}

static notifiedFIFO_elt_t *new_job(uint64_t key, notifiedFIFO_t *response, ws_au32_t *runs, pthread_t *thread)
{
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(job_t), key, response, run_job);
  *(job_t *)NotifiedFifoData(elt) = (job_t){.runs = runs, .thread = thread, .value = key};
  return elt;
}

static tpool_t *inline_pool(const char *params)
{
  char text[32];
  strcpy(text, params);
  tpool_t *pool = contract_memory();
  initTpool(text, pool, false);
  return pool;
}

static void check_inline(tpool_t *pool)
{
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  pthread_t ran_on[4];
  ws_au32_t runs = {0};
  for (uint32_t i = 0; i < 4; i++) {
    pushTpool(pool, new_job(i, &response, &runs, &ran_on[i]));
    CU_ASSERT_EQUAL(ws_load_relaxed(&runs), i + 1);
    CU_ASSERT_TRUE(pthread_equal(ran_on[i], pthread_self()));
  }
  for (uint32_t i = 0; i < 4; i++) {
    notifiedFIFO_elt_t *elt = i % 2 ? pullTpool(&response, pool) : tryPullTpool(&response, pool);
    CU_ASSERT_PTR_NOT_NULL_FATAL(elt);
    CU_ASSERT_EQUAL(elt->key, i);
    CU_ASSERT_EQUAL(((job_t *)NotifiedFifoData(elt))->value, 3 * i + 1);
    delNotifiedFIFO_elt(elt);
  }
  CU_ASSERT_PTR_NULL(tryPullTpool(&response, pool));
}

static void inline_push_runs_before_it_returns(void)
{
  check_inline(inline_pool("n"));
  check_inline(inline_pool("N"));
  tpool_t *none = contract_memory();
  initFloatingCoresTpool(0, none, false, NULL);
  check_inline(none);
}

/// An "n" anywhere switches the threads off; the host's own makes those of the other entries all the same.
static void inline_whatever_stands_beside_the_n(void)
{
  check_inline(inline_pool("-1,n"));
  check_inline(inline_pool("n,-1"));
}

static void inline_without_response_deletes_the_element(void)
{
  tpool_t *pool = inline_pool("n");
  static job_t payload;
  static notifiedFIFO_elt_t mine;
  ws_au32_t runs = {0};
  pushTpool(pool, new_job(1, NULL, &runs, NULL));
  mine.processingFunc = run_job;
  mine.msgData = &payload;
  payload.runs = &runs;
  pushTpool(pool, &mine);
  CU_ASSERT_EQUAL(ws_load_relaxed(&runs), 2);
  CU_ASSERT_EQUAL(payload.value, 1);
  pushTpool(pool, &mine);
  CU_ASSERT_EQUAL(ws_load_relaxed(&runs), 3);
}

static bool has_run(void *runs)
{
  return ws_load_acquire((ws_au32_t *)runs) >= 101;
}

/// The leak checker counts the deleted ones; the caller's own element is as it was.
static void without_response_the_element_is_deleted_after_it_ran(void)
{
  tpool_t *pool = contract_pool(2);
  static job_t payload;
  static notifiedFIFO_elt_t mine;
  static ws_au32_t runs;
  for (uint32_t i = 0; i < 100; i++)
    pushTpool(pool, new_job(i, NULL, &runs, NULL));
  mine.processingFunc = run_job;
  mine.msgData = &payload;
  mine.key = 42;
  payload.runs = &runs;
  pushTpool(pool, &mine);
  CU_ASSERT_TRUE(contract_until(has_run, &runs));
  CU_ASSERT_EQUAL(mine.key, 42);
  contract_end(pool);
}

typedef struct {
  ws_au32_t *next;
  uint32_t *order;
  uint32_t id;
} started_t;

static void note_start(void *started_arg)
{
  started_t *started = started_arg;
  started->order[ws_add_acq_rel(started->next, 1)] = started->id;
}

static bool all_have_started(void *next)
{
  return ws_load_acquire((ws_au32_t *)next) == 300;
}

/// One worker, held until all are queued: oldest first. The thread that pulls does so when all have started,
/// for ours would help, and with its newest.
static void jobs_start_oldest_first(void)
{
  enum { JOBS = 300 };
  tpool_t *pool = contract_pool(1);
  static gate_t gate;
  static uint32_t order[JOBS];
  ws_au32_t next = {0};
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  gate_init(&gate);
  batch_t hold;
  batch_begin(&hold, 1);
  batch_push(&hold, pool, gate_job, &gate);
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 1));
  for (uint32_t i = 0; i < JOBS; i++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(started_t), i, &response, note_start);
    *(started_t *)NotifiedFifoData(elt) = (started_t){.next = &next, .order = order, .id = i};
    pushTpool(pool, elt);
  }
  gate_let(&gate, 1);
  batch_end(&hold, pool);
  CU_ASSERT_TRUE(contract_until(all_have_started, &next));
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < JOBS; i++) {
    notifiedFIFO_elt_t *elt = pullTpool(&response, pool);
    wrong += elt->key != i;
    delNotifiedFIFO_elt(elt);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  for (uint32_t i = 0; i < JOBS; i++)
    wrong += order[i] != i;
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(pool);
}

static void run_gate(void *gate)
{
  gate_job(*(gate_t **)gate);
}

/// The first job pushed is the last to end: results come as jobs end.
static void results_come_in_order_of_completion(void)
{
  tpool_t *pool = contract_pool(2);
  static gate_t gate;
  gate_init(&gate);
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  notifiedFIFO_elt_t *slow = newNotifiedFIFO_elt(sizeof(gate_t *), 1, &response, run_gate);
  *(gate_t **)NotifiedFifoData(slow) = &gate;
  pushTpool(pool, slow);
  CU_ASSERT_TRUE_FATAL(gate_await(&gate, 1));
  for (uint64_t key = 2; key < 10; key++) {
    pushTpool(pool, new_job(key, &response, NULL, NULL));
    notifiedFIFO_elt_t *elt = pullTpool(&response, pool);
    CU_ASSERT_EQUAL(elt->key, key);
    delNotifiedFIFO_elt(elt);
  }
  gate_let(&gate, 1);
  CU_ASSERT_PTR_EQUAL(pullTpool(&response, pool), slow);
  delNotifiedFIFO_elt(slow);
  contract_end(pool);
}

/// Heap elements and the caller's own travel many times; key and payload stay.
static void elements_are_pushed_again_and_again(void)
{
  enum { ELEMENTS = 4, ROUNDS = 3000 };
  tpool_t *pool = contract_pool(2);
  static notifiedFIFO_elt_t mine[ELEMENTS / 2];
  static job_t payload[ELEMENTS / 2];
  static ws_au32_t runs;
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  for (uint32_t i = 0; i < ELEMENTS / 2; i++) {
    mine[i].msgData = &payload[i];
    mine[i].key = 1000 + i;
    mine[i].reponseFifo = &response;
    mine[i].processingFunc = run_job;
    payload[i].runs = &runs;
    pushTpool(pool, &mine[i]);
    pushTpool(pool, new_job(2000 + i, &response, &runs, NULL));
  }
  uint32_t seen[2][ELEMENTS / 2] = {{0}}, strange = 0;
  for (uint32_t i = 0; i < ELEMENTS * ROUNDS; i++) {
    notifiedFIFO_elt_t *elt = pullTpool(&response, pool);
    const uint64_t kind = elt->key / 1000 - 1, which = elt->key % 1000;
    strange += kind > 1 || which >= ELEMENTS / 2;
    seen[kind % 2][which % 2]++;
    if (i < ELEMENTS * (ROUNDS - 1))
      pushTpool(pool, elt);
    else
      delNotifiedFIFO_elt(elt);
  }
  CU_ASSERT_EQUAL(strange, 0);
  CU_ASSERT_EQUAL(ws_load_acquire(&runs), ELEMENTS * ROUNDS);
  CU_ASSERT_EQUAL(seen[0][0] + seen[0][1] + seen[1][0] + seen[1][1], ELEMENTS * ROUNDS);
  contract_end(pool);
}

static void __attribute__((noinline)) one_burst(tpool_t *pool, uint32_t jobs, uint32_t *wrong)
{
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  for (uint32_t i = 0; i < jobs; i++)
    pushTpool(pool, new_job(i, &response, NULL, NULL));
  for (uint32_t i = 0; i < jobs; i++) {
    notifiedFIFO_elt_t *elt = pullTpool(&response, pool);
    *wrong += ((job_t *)NotifiedFifoData(elt))->value != 3 * elt->key + 1;
    delNotifiedFIFO_elt(elt);
  }
  memset(&response, 0xDD, sizeof(response)); // it is dead now: a worker that still holds its lock trips here
  __asm__ volatile("" ::"r"(&response) : "memory");
}

static void response_on_the_stack_dies_after_the_last_pull(void)
{
  tpool_t *pool = contract_pool(2);
  uint32_t wrong = 0;
  for (uint32_t round = 0; round < 5000; round++)
    one_burst(pool, 1 + round % 4, &wrong);
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(pool);
}

static void pool_knows_its_number_of_threads(void)
{
  tpool_t *pool = contract_pool(3);
  CU_ASSERT_EQUAL(tpool_nbthreads((*pool)), 3);
  contract_end(pool);
}

const contract_case_t fifo_pool_cases[] = {
    CASE(inline_push_runs_before_it_returns),
    CASE(inline_whatever_stands_beside_the_n),
    CASE(inline_without_response_deletes_the_element),
    CASE(without_response_the_element_is_deleted_after_it_ran),
    CASE(jobs_start_oldest_first),
    CASE(results_come_in_order_of_completion),
    CASE(elements_are_pushed_again_and_again),
    CASE(response_on_the_stack_dies_after_the_last_pull),
    CASE(pool_knows_its_number_of_threads),
    CASES_END,
};
