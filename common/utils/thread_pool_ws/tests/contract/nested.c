// SPDX-License-Identifier: BSD-3-Clause
/// @file nested.c
/// Every shape: jobs that push jobs and wait for them, with few workers and with many.
#include "contract.h"

#if CONTRACT_TASKS
#include "task_group.h"
#endif

#define FAN 3

typedef struct {
  tpool_t *pool; ///< for the children
  tpool_t *other; ///< for theirs; they alternate
  uint32_t depth;
  ws_au32_t *leaves;
} node_t;

static void run_node(void *node_arg)
{
  const node_t *node = node_arg;
  if (node->depth == 0) {
    ws_add_acq_rel(node->leaves, 1);
    return;
  }
  node_t child = {.pool = node->other, .other = node->pool, .depth = node->depth - 1, .leaves = node->leaves};
  batch_t batch;
  batch_begin(&batch, FAN);
  for (uint32_t i = 0; i < FAN; i++)
    batch_push(&batch, node->pool, run_node, &child);
  batch_end(&batch, node->pool);
}

/// @return whether each of @p roots trees of jobs reached all its leaves, round after round
static bool run_trees(tpool_t *pool, tpool_t *other, uint32_t roots, uint32_t depth, uint32_t rounds)
{
  uint32_t leaves_due = roots;
  for (uint32_t i = 0; i < depth; i++)
    leaves_due *= FAN;
  for (uint32_t round = 0; round < rounds; round++) {
    ws_au32_t leaves = {0};
    node_t root = {.pool = pool, .other = other, .depth = depth, .leaves = &leaves};
    batch_t batch;
    batch_begin(&batch, roots);
    for (uint32_t i = 0; i < roots; i++)
      batch_push(&batch, pool, run_node, &root);
    batch_end(&batch, pool);
    if (ws_load_acquire(&leaves) != leaves_due)
      return false;
  }
  return true;
}

static void check_trees(int workers, uint32_t roots, uint32_t depth, uint32_t rounds)
{
  tpool_t *pool = contract_pool(workers);
  CU_ASSERT_TRUE(run_trees(pool, pool, roots, depth, rounds));
  contract_end(pool);
}

static void nested_inline(void)
{
  check_trees(0, 2, 3, 20);
}

/// Shape A: one worker waits, the other one works. The task pools queue behind a worker that waits.
static void nested_one_level_two_workers(void)
{
  if (!CONTRACT_TASKS || contract_ours_only("the host's own may queue a task behind a worker that joins"))
    check_trees(2, 1, 1, 500);
}

static void nested_three_levels_with_workers_to_spare(void)
{
  if (!CONTRACT_TASKS || contract_ours_only("the host's own may queue a task behind a worker that joins"))
    check_trees(24, 1, 3, 100);
}

static void nested_three_levels_two_workers(void)
{
  if (contract_ours_only("needs a worker that runs the jobs it waits for"))
    check_trees(2, 1, 3, 100);
}

static void nested_three_levels_one_worker(void)
{
  if (contract_ours_only("needs a worker that runs the jobs it waits for"))
    check_trees(1, 1, 3, 100);
}

typedef struct {
  tpool_t *pool;
  ws_au32_t *leaves;
} caller_t;

static void run_leaf(void *caller_arg)
{
  const caller_t *caller = caller_arg;
  ws_add_acq_rel(caller->leaves, 1);
}

static void push_and_wait(caller_t *caller, uint32_t count)
{
  batch_t batch;
  batch_begin(&batch, count);
  for (uint32_t i = 0; i < count; i++)
    batch_push(&batch, caller->pool, run_leaf, caller);
  batch_end(&batch, caller->pool);
}

/// A join that finds all done: its caller has run the only part itself.
static void wait_for_what_is_done(void)
{
#if CONTRACT_TASKS
  group_t group;
  group_init(&group, 1);
  completed_task_ans(group_unit(&group, 0));
  group_join(&group);
#endif
}

/// As a job that runs its last part itself, and that one has jobs of its own.
static void wait_between_push_and_wait(void *caller_arg)
{
  caller_t *caller = caller_arg;
  batch_t batch;
  batch_begin(&batch, 2);
  batch_push(&batch, caller->pool, run_leaf, caller);
  batch_push(&batch, caller->pool, run_leaf, caller);
  wait_for_what_is_done();
  push_and_wait(caller, 1);
  push_and_wait(caller, 2);
  batch_end(&batch, caller->pool);
}

static void nested_wait_between_push_and_wait(void)
{
  if (!contract_ours_only("needs a worker that runs the jobs it waits for"))
    return;
  tpool_t *pool = contract_pool(1);
  ws_au32_t leaves = {0};
  caller_t caller = {.pool = pool, .leaves = &leaves};
  for (uint32_t round = 1; round <= 20; round++) {
    batch_t batch;
    batch_begin(&batch, 1);
    batch_push(&batch, pool, wait_between_push_and_wait, &caller);
    batch_end(&batch, pool);
    CU_ASSERT_EQUAL(ws_load_acquire(&leaves), 5 * round);
  }
  contract_end(pool);
}

static void nested_many_at_once(void)
{
  if (contract_ours_only("needs a worker that runs the jobs it waits for"))
    check_trees(2, 20, 2, 50);
}

static void nested_across_two_pools(void)
{
  if (!contract_ours_only("needs a worker that runs the jobs it waits for"))
    return;
  tpool_t *pool = contract_pool(2), *other = contract_pool(2);
  CU_ASSERT_TRUE(run_trees(pool, other, 1, 2, 100));
  contract_end(pool);
  contract_end(other);
}

static void *run_trees_here(void *pool)
{
  static char failed;
  return run_trees(pool, pool, 2, 2, 50) ? NULL : &failed;
}

static void nested_from_several_threads(void)
{
  if (!contract_ours_only("needs a worker that runs the jobs it waits for"))
    return;
  tpool_t *pool = contract_pool(2);
  pthread_t thread[4];
  for (uint32_t i = 0; i < 4; i++)
    pthread_create(&thread[i], NULL, run_trees_here, pool);
  for (uint32_t i = 0; i < 4; i++) {
    void *failed = NULL;
    pthread_join(thread[i], &failed);
    CU_ASSERT_PTR_NULL(failed);
  }
  contract_end(pool);
}

const contract_case_t nested_cases[] = {
    CASE(nested_inline),
    CASE(nested_one_level_two_workers),
    CASE(nested_three_levels_with_workers_to_spare),
    CASE(nested_three_levels_two_workers),
    CASE(nested_three_levels_one_worker),
    CASE(nested_wait_between_push_and_wait),
    CASE(nested_many_at_once),
    CASE(nested_across_two_pools),
    CASE(nested_from_several_threads),
    CASES_END,
};
