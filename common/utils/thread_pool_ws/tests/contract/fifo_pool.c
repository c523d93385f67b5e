// SPDX-License-Identifier: BSD-3-Clause
/// @file fifo_pool.c
/// Shape A, elements through the pool: in which order they return, who owns one when, pulls that do not wait.
#include "contract.h"

typedef struct {
  ws_au64_t *runs;
  uint64_t value;
} job_t;

static void run_job(void *job_arg)
{
  job_t *job = job_arg;
  job->value = job->value * 3 + 1;
  test_count_task(job->runs);
}

static notifiedFIFO_elt_t *new_job(uint64_t key, notifiedFIFO_t *response, ws_au64_t *runs)
{
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(job_t), key, response, run_job);
  *(job_t *)NotifiedFifoData(elt) = (job_t){.runs = runs, .value = key};
  return elt;
}

/// Inline, or by workers. The leak checker counts the deleted ones; the caller's own element is as it was.
CONTRACT_CASE(without_response_the_element_is_deleted_after_it_ran)
{
  for (int workers = 0; workers <= 2; workers += 2) {
    tpool_t *pool = contract_pool(workers);
    static job_t payload;
    static notifiedFIFO_elt_t mine = {.key = 42, .processingFunc = run_job, .msgData = &payload};
    ws_au64_t runs = {0};
    payload = (job_t){.runs = &runs};
    for (uint32_t i = 0; i < 100; i++)
      pushTpool(pool, new_job(i, NULL, &runs));
    pushTpool(pool, &mine);
    CU_ASSERT_TRUE(test_until_count(&runs, 101));
    CU_ASSERT_TRUE(mine.key == 42 && (workers > 0 || payload.value == 1)); // the count orders nothing
    contract_end(pool);
  }
}

static void run_gate(void *gate)
{
  test_gate_task(*(test_gate_t **)gate);
}

static void push_gate(tpool_t *pool, notifiedFIFO_t *response, test_gate_t *gate)
{
  notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(gate), 1, response, run_gate);
  *(test_gate_t **)NotifiedFifoData(elt) = gate;
  pushTpool(pool, elt);
}

/// The first job pushed is the last to end: results come as jobs end.
CONTRACT_CASE(results_come_in_order_of_completion)
{
  tpool_t *pool = contract_pool(2);
  static test_gate_t gate;
  ws_au64_t runs = {0};
  notifiedFIFO_t response;
  test_gate_init(&gate);
  initNotifiedFIFO(&response);
  push_gate(pool, &response, &gate);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&gate, 1));
  for (uint64_t key = 2; key < 10; key++) {
    pushTpool(pool, new_job(key, &response, &runs));
    notifiedFIFO_elt_t *elt = pullTpool(&response, pool);
    CU_ASSERT_EQUAL(elt->key, key);
    delNotifiedFIFO_elt(elt);
  }
  test_gate_let(&gate, 1);
  notifiedFIFO_elt_t *slow = pullTpool(&response, pool);
  CU_ASSERT_EQUAL(slow->key, 1);
  delNotifiedFIFO_elt(slow);
  contract_end(pool);
}

CONTRACT_CASE(try_pull_returns_at_once)
{
  tpool_t *pool = contract_pool(1);
  static test_gate_t gate;
  notifiedFIFO_t response;
  test_gate_init(&gate);
  initNotifiedFIFO(&response);
  CU_ASSERT_PTR_NULL(tryPullTpool(&response, pool));
  push_gate(pool, &response, &gate);
  push_gate(pool, &response, &gate);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  for (uint32_t i = 0; i < 1000; i++) // one runs, one is queued: neither is a result, nor may it run here
    CU_ASSERT_PTR_NULL(tryPullTpool(&response, pool));
  test_gate_let(&gate, 2);
  for (uint32_t pulled = 0; pulled < 2;) {
    notifiedFIFO_elt_t *elt = tryPullTpool(&response, pool);
    pulled += elt != NULL;
    if (elt)
      delNotifiedFIFO_elt(elt);
  }
  CU_ASSERT_PTR_NULL(tryPullTpool(&response, pool));
  contract_end(pool);
}

CONTRACT_CASE(pull_serves_as_a_plain_queue)
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

TEST_MAIN("fifo_pool")
