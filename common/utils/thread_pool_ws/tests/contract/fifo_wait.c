// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_wait.c
/// Shape A, waiting: jobs that block on what other jobs feed, and whose jobs a thread that pulls may run.
#include "contract.h"

static __thread bool this_thread_pulls;

typedef struct {
  notifiedFIFO_t fifo;
  tpool_t *pool;
  ws_au32_t ended, unrelated;
} chain_t;

static void consumer(void *chain_arg)
{
  chain_t *chain = *(chain_t **)chain_arg;
  notifiedFIFO_elt_t *message = pullNotifiedFIFO(&chain->fifo);
  if (message)
    delNotifiedFIFO_elt(message);
  ws_add_acq_rel(&chain->ended, 1);
}

static void producer(void *chain_arg)
{
  chain_t *chain = *(chain_t **)chain_arg;
  pushNotifiedFIFO(&chain->fifo, newNotifiedFIFO_elt(0, 0, NULL, NULL));
  ws_add_acq_rel(&chain->ended, 1);
}

static void push_for(tpool_t *pool, notifiedFIFO_t *response, void (*func)(void *), void *arg)
{
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(void *), 0, response, func);
  *(void **)NotifiedFifoData(elt) = arg;
  pushTpool(pool, elt);
}

static uint32_t pull_all(tpool_t *pool, notifiedFIFO_t *response, uint32_t count)
{
  uint32_t pulled = 0;
  for (; pulled < count; pulled++) {
    notifiedFIFO_elt_t *elt = pullTpool(response, pool);
    if (!elt)
      return pulled;
    delNotifiedFIFO_elt(elt);
  }
  return pulled;
}

/// The job that waits is older than the job that feeds it: two workers are enough.
static void job_waits_for_a_younger_job(void)
{
  tpool_t *pool = contract_pool(2);
  for (uint32_t round = 0; round < 500; round++) {
    chain_t chain = {.pool = pool};
    notifiedFIFO_t response;
    initNotifiedFIFO(&chain.fifo);
    initNotifiedFIFO(&response);
    push_for(pool, &response, consumer, &chain);
    push_for(pool, &response, producer, &chain);
    CU_ASSERT_EQUAL(pull_all(pool, &response, 2), 2);
  }
  contract_end(pool);
}

/// Oldest first: with producers in front, any number of consumers can wait.
static void jobs_wait_for_older_jobs(void)
{
  tpool_t *pool = contract_pool(2);
  chain_t chain = {.pool = pool};
  notifiedFIFO_t response;
  initNotifiedFIFO(&chain.fifo);
  initNotifiedFIFO(&response);
  for (uint32_t i = 0; i < 500; i++) {
    push_for(pool, &response, producer, &chain);
    push_for(pool, &response, consumer, &chain);
  }
  CU_ASSERT_EQUAL(pull_all(pool, &response, 1000), 1000);
  contract_end(pool);
}

static void leaf(void *chain_arg)
{
  chain_t *chain = *(chain_t **)chain_arg;
  ws_add_acq_rel(&chain->ended, 1);
}

/// What a receiver does: some sub-jobs, their results, then the word to the job that transmits.
static void receive_slot(void *chain_arg)
{
  chain_t *chain = *(chain_t **)chain_arg;
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  for (uint32_t i = 0; i < 6; i++)
    push_for(chain->pool, &response, leaf, chain);
  pull_all(chain->pool, &response, 6);
  pushNotifiedFIFO(&chain->fifo, newNotifiedFIFO_elt(0, 0, NULL, NULL));
}

static void run_slots(int workers, uint32_t slots)
{
  tpool_t *pool = contract_pool(workers);
  for (uint32_t slot = 0; slot < slots; slot++) {
    chain_t chain = {.pool = pool};
    notifiedFIFO_t response;
    initNotifiedFIFO(&chain.fifo);
    initNotifiedFIFO(&response);
    const bool transmit_first = slot % 2;
    push_for(pool, &response, transmit_first ? consumer : receive_slot, &chain);
    push_for(pool, &response, transmit_first ? receive_slot : consumer, &chain);
    CU_ASSERT_EQUAL(pull_all(pool, &response, 2), 2);
    CU_ASSERT_EQUAL(ws_load_acquire(&chain.ended), 7);
  }
  contract_end(pool);
}

static void slot_jobs_with_workers_to_spare(void)
{
  run_slots(4, 300);
}

static void slot_jobs_on_two_workers(void)
{
  if (contract_ours_only("two workers: one waits for the other, which needs a third for its sub-jobs"))
    run_slots(2, 300);
}

static void unrelated(void *chain_arg)
{
  chain_t *chain = *(chain_t **)chain_arg;
  if (this_thread_pulls)
    ws_add_acq_rel(&chain->unrelated, 1);
  ws_add_acq_rel(&chain->ended, 1);
}

static void pull_among_unrelated_tasks(void *chain_arg)
{
  chain_t *chain = *(chain_t **)chain_arg;
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  for (uint32_t i = 0; i < 4; i++)
    push_for(chain->pool, &response, leaf, chain);
  this_thread_pulls = true;
  pull_all(chain->pool, &response, 4);
  this_thread_pulls = false;
}

/// A worker pulls what its own sub-jobs return while other jobs queue: it runs none of those.
static void worker_that_pulls_runs_no_unrelated_tasks(void)
{
  tpool_t *pool = contract_pool(4);
  chain_t chain = {.pool = pool};
  notifiedFIFO_t mine, others;
  initNotifiedFIFO(&mine);
  initNotifiedFIFO(&others);
  for (uint32_t round = 0; round < 300; round++) {
    push_for(pool, &mine, pull_among_unrelated_tasks, &chain);
    for (uint32_t i = 0; i < 5; i++)
      push_for(pool, &others, unrelated, &chain);
    CU_ASSERT_EQUAL(pull_all(pool, &mine, 1), 1);
    CU_ASSERT_EQUAL(pull_all(pool, &others, 5), 5);
  }
  CU_ASSERT_EQUAL(ws_load_acquire(&chain.unrelated), 0);
  CU_ASSERT_EQUAL(ws_load_acquire(&chain.ended), 300 * 9);
  contract_end(pool);
}

/// A thread outside the pool pulls while older jobs of another thread are queued: those must run elsewhere.
static void thread_that_pulls_runs_no_unrelated_tasks(void)
{
  tpool_t *pool = contract_pool(2);
  chain_t chain = {.pool = pool};
  notifiedFIFO_t mine, others;
  initNotifiedFIFO(&mine);
  initNotifiedFIFO(&others);
  for (uint32_t round = 0; round < 300; round++) {
    for (uint32_t i = 0; i < 5; i++)
      push_for(pool, &others, unrelated, &chain);
    for (uint32_t i = 0; i < 3; i++)
      push_for(pool, &mine, leaf, &chain);
    this_thread_pulls = true;
    CU_ASSERT_EQUAL(pull_all(pool, &mine, 3), 3);
    this_thread_pulls = false; // what it pulls now, it may run
    CU_ASSERT_EQUAL(pull_all(pool, &others, 5), 5);
  }
  CU_ASSERT_EQUAL(ws_load_acquire(&chain.unrelated), 0);
  CU_ASSERT_EQUAL(ws_load_acquire(&chain.ended), 300 * 8);
  contract_end(pool);
}

static void run_gate(void *gate)
{
  gate_job(*(gate_t **)gate);
}

static void try_pull_returns_at_once(void)
{
  tpool_t *pool = contract_pool(1);
  static gate_t gate;
  gate_init(&gate);
  notifiedFIFO_t response;
  initNotifiedFIFO(&response);
  CU_ASSERT_PTR_NULL(tryPullTpool(&response, pool));
  push_for(pool, &response, run_gate, &gate);
  push_for(pool, &response, run_gate, &gate);
  CU_ASSERT_TRUE(gate_await(&gate, 1));
  for (uint32_t i = 0; i < 1000; i++) // one runs, one is queued: neither is a result, nor may it run here
    CU_ASSERT_PTR_NULL(tryPullTpool(&response, pool));
  gate_let(&gate, 2);
  for (uint32_t pulled = 0; pulled < 2;) {
    notifiedFIFO_elt_t *elt = tryPullTpool(&response, pool);
    if (elt) {
      delNotifiedFIFO_elt(elt);
      pulled++;
    }
  }
  CU_ASSERT_PTR_NULL(tryPullTpool(&response, pool));
  contract_end(pool);
}

static void pull_serves_as_a_plain_queue(void)
{
  tpool_t *pool = contract_pool(1);
  notifiedFIFO_t fifo;
  initNotifiedFIFO(&fifo);
  pushNotifiedFIFO(&fifo, newNotifiedFIFO_elt(8, 17, NULL, NULL));
  notifiedFIFO_elt_t *elt = pullTpool(&fifo, pool);
  CU_ASSERT_EQUAL(elt->key, 17);
  delNotifiedFIFO_elt(elt);
  abortNotifiedFIFO(&fifo);
  CU_ASSERT_PTR_NULL(pullTpool(&fifo, pool));
  CU_ASSERT_PTR_NULL(tryPullTpool(&fifo, pool));
  contract_end(pool);
}

static void *pull_late(void *chain_arg)
{
  chain_t *chain = chain_arg;
  pull_all(chain->pool, &chain->fifo, 4);
  return NULL;
}

/// Results may be pulled by another thread than the one that pushed.
static void results_are_pulled_by_another_thread(void)
{
  tpool_t *pool = contract_pool(2);
  chain_t chain = {.pool = pool};
  initNotifiedFIFO(&chain.fifo);
  for (uint32_t round = 0; round < 100; round++) {
    threads_t threads = {.count = 0};
    threads_start(&threads, pull_late, &chain);
    for (uint32_t i = 0; i < 4; i++)
      push_for(pool, &chain.fifo, leaf, &chain);
    threads_join(&threads);
  }
  CU_ASSERT_EQUAL(ws_load_acquire(&chain.ended), 400);
  contract_end(pool);
}

const contract_case_t fifo_wait_cases[] = {
    CASE(job_waits_for_a_younger_job),
    CASE(jobs_wait_for_older_jobs),
    CASE(slot_jobs_with_workers_to_spare),
    CASE(slot_jobs_on_two_workers),
    CASE(worker_that_pulls_runs_no_unrelated_tasks),
    CASE(thread_that_pulls_runs_no_unrelated_tasks),
    CASE(try_pull_returns_at_once),
    CASE(pull_serves_as_a_plain_queue),
    CASE(results_are_pulled_by_another_thread),
    CASES_END,
};
