// SPDX-License-Identifier: BSD-3-Clause
/// @file nested.c
/// Every shape: jobs that block on what other jobs feed, which may push jobs and wait for them.
/// Trees of jobs, also of two pools, and batches between a push and its wait: explore.

#include "contract.h"

/// Which pools can run such jobs. The task pools of the host queue behind a worker that waits.
typedef enum { NOT_BEHIND, HELPS } needs_t;

static bool can_run(needs_t needs)
{
  return (needs == NOT_BEHIND && !CONTRACT_TASKS)
         || contract_ours_only("needs a worker that runs the jobs it waits for");
}

/// A slot: a job that receives, one that transmits when it is told, and what they count.
typedef struct {
  tpool_t *pool;
  notifiedFIFO_t fifo;
  ws_au64_t ended;
} slot_t;

static void leaf(void *slot)
{
  test_count_task(&((slot_t *)slot)->ended);
}

static void run_leaves(slot_t *slot, uint32_t count)
{
  batch_t batch;
  batch_begin(&batch, count);
  for (uint32_t i = 0; i < count; i++)
    batch_push(&batch, slot->pool, leaf, slot);
  batch_end(&batch, slot->pool);
}

static void consumer(void *slot_arg)
{
  slot_t *slot = slot_arg;
  notifiedFIFO_elt_t *message = pullNotifiedFIFO(&slot->fifo);
  if (message)
    delNotifiedFIFO_elt(message);
  leaf(slot);
}

static void producer(void *slot_arg)
{
  slot_t *slot = slot_arg;
  pushNotifiedFIFO(&slot->fifo, newNotifiedFIFO_elt(0, 0, NULL, NULL));
  leaf(slot);
}

/// What a receiver does: some sub-jobs, their results, then the word to the job that transmits.
static void receiver(void *slot_arg)
{
  run_leaves(slot_arg, 6);
  producer(slot_arg);
}

static const struct {
  int workers;
  void (*feeds)(void *); ///< the job that the consumer waits for; either is the older one in turn
  needs_t needs;
} slots[] = {
    {2, producer, NOT_BEHIND}, // two workers are enough
    {4, receiver, NOT_BEHIND},
    {2, receiver, HELPS}, // one waits for the other, which needs a third for its sub-jobs
};

CONTRACT_CASE(a_job_waits_for_another)
{
  for (size_t i = 0; i < TEST_COUNT(slots); i++) {
    if (!can_run(slots[i].needs))
      continue;
    tpool_t *pool = contract_pool(slots[i].workers);
    for (uint32_t round = 0; round < 300; round++) {
      slot_t slot = {.pool = pool};
      batch_t batch;
      initNotifiedFIFO(&slot.fifo);
      batch_begin(&batch, 2);
      batch_push(&batch, pool, round % 2 ? consumer : slots[i].feeds, &slot);
      batch_push(&batch, pool, round % 2 ? slots[i].feeds : consumer, &slot);
      batch_end(&batch, pool);
      CU_ASSERT_EQUAL(test_value(&slot.ended), slots[i].feeds == receiver ? 8 : 2);
    }
    contract_end(pool);
  }
}

TEST_MAIN("nested")
