// SPDX-License-Identifier: BSD-3-Clause
/// @file nested.c
/// Every shape: jobs that push jobs and wait for them, and jobs that block on what other jobs feed.

#include "contract.h"

#define FAN 3

typedef struct {
  tpool_t *pool; ///< for the children
  tpool_t *other; ///< for theirs; they alternate
  uint32_t roots, depth, rounds;
  ws_au64_t *leaves;
} node_t;

static void run_node(void *node_arg)
{
  const node_t *node = node_arg;
  if (node->depth == 0) {
    test_count_task(node->leaves);
    return;
  }
  node_t child = {.pool = node->other, .other = node->pool, .depth = node->depth - 1, .leaves = node->leaves};
  batch_t batch;
  batch_begin(&batch, FAN);
  for (uint32_t i = 0; i < FAN; i++)
    batch_push(&batch, node->pool, run_node, &child);
  batch_end(&batch, node->pool);
}

static ws_au64_t failures; ///< trees that have not reached all their leaves

static void *run_trees(void *node_arg)
{
  node_t root = *(node_t *)node_arg;
  uint64_t leaves_due = root.roots;
  for (uint32_t i = 0; i < root.depth; i++)
    leaves_due *= FAN;
  for (uint32_t round = 0; round < root.rounds; round++) {
    ws_au64_t leaves = {0};
    root.leaves = &leaves;
    batch_t batch;
    batch_begin(&batch, root.roots);
    for (uint32_t i = 0; i < root.roots; i++)
      batch_push(&batch, root.pool, run_node, &root);
    batch_end(&batch, root.pool);
    if (test_value(&leaves) != leaves_due)
      test_count_task(&failures);
  }
  return NULL;
}

/// Which pools can run such trees. The task pools of the host queue behind a worker that waits.
typedef enum { ANY, NOT_BEHIND, HELPS } needs_t;
static const struct {
  int workers;
  uint32_t roots, depth, rounds;
  uint32_t threads; ///< that push roots
  bool two_pools;
  needs_t needs;
} trees[] = {
    {0, 2, 3, 20, 1, false, ANY},          {2, 1, 1, 500, 1, false, NOT_BEHIND},
    {24, 1, 3, 100, 1, false, NOT_BEHIND}, {2, 1, 3, 100, 1, false, HELPS},
    {1, 1, 3, 100, 1, false, HELPS},       {2, 20, 2, 50, 1, false, HELPS},
    {2, 1, 2, 100, 1, true, HELPS},        {2, 2, 2, 50, 4, false, HELPS},
};

static bool can_run(needs_t needs)
{
  return needs == ANY || (needs == NOT_BEHIND && !CONTRACT_TASKS)
         || contract_ours_only("needs a worker that runs the jobs it waits for");
}

CONTRACT_CASE(trees_of_jobs)
{
  for (size_t i = 0; i < TEST_COUNT(trees); i++) {
    if (!can_run(trees[i].needs))
      continue;
    tpool_t *pool = contract_pool(trees[i].workers);
    tpool_t *other = trees[i].two_pools ? contract_pool(trees[i].workers) : pool;
    node_t root = {.pool = pool, .other = other, .roots = trees[i].roots};
    root.depth = trees[i].depth;
    root.rounds = trees[i].rounds;
    failures = (ws_au64_t){0};
    test_in_threads(trees[i].threads, run_trees, &root);
    if (test_value(&failures) > 0)
      printf("trees[%zu]\n", i);
    CU_ASSERT_EQUAL(test_value(&failures), 0);
    contract_end(pool);
    if (other != pool)
      contract_end(other);
  }
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

static void push_leaves(batch_t *batch, slot_t *slot, uint32_t count)
{
  batch_begin(batch, count);
  for (uint32_t i = 0; i < count; i++)
    batch_push(batch, slot->pool, leaf, slot);
}

static void run_leaves(slot_t *slot, uint32_t count)
{
  batch_t batch;
  push_leaves(&batch, slot, count);
  batch_end(&batch, slot->pool);
}

/// As a job that runs its last part itself, and that one has jobs of its own.
static void wait_between_push_and_wait(void *slot)
{
  batch_t batch;
  push_leaves(&batch, slot, 2);
#if CONTRACT_TASKS
  batch_t done; // a join that finds all done: its caller has run the only part itself
  batch_begin(&done, 1);
  batch_complete(&done, 1);
  batch_end(&done, ((slot_t *)slot)->pool);
#endif
  run_leaves(slot, 1);
  run_leaves(slot, 2);
  batch_end(&batch, ((slot_t *)slot)->pool);
}

CONTRACT_CASE(nested_wait_between_push_and_wait)
{
  if (!can_run(HELPS))
    return;
  slot_t slot = {.pool = contract_pool(1)};
  for (uint32_t round = 1; round <= 20; round++) {
    batch_t batch;
    batch_begin(&batch, 1);
    batch_push(&batch, slot.pool, wait_between_push_and_wait, &slot);
    batch_end(&batch, slot.pool);
    CU_ASSERT_EQUAL(test_value(&slot.ended), 5 * round);
  }
  contract_end(slot.pool);
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
