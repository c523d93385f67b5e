// SPDX-License-Identifier: BSD-3-Clause
/// @file test_group.c
/// Join groups: the counter, waiters, life on a stack, and whose tasks a joining thread runs.
#include "../../../pool/ws_process.h"
#include "../../support/ws_test.h"

#include <string.h>

static void counts_units(void)
{
  ws_group_t group;
  ws_group_init(&group, 3);
  CU_ASSERT_FALSE(ws_group_done(&group));
  ws_group_complete(&group, 2);
  CU_ASSERT_FALSE(ws_group_done(&group));
  ws_group_add(&group, 4);
  ws_group_complete(&group, 1);
  ws_group_complete(&group, 3);
  CU_ASSERT_FALSE(ws_group_done(&group));
  ws_group_complete(&group, 1);
  CU_ASSERT_TRUE(ws_group_done(&group));
  ws_group_wait(&group, NULL);
  ws_group_init(&group, WS_GROUP_UNITS_MAX);
  ws_group_complete(&group, WS_GROUP_UNITS_MAX);
  CU_ASSERT_TRUE(ws_group_done(&group));
}

typedef struct {
  ws_group_t *group;
  ws_pool_t *pool; ///< to wait in
  ws_au32_t *seen;
  ws_au32_t returned_early;
} waiter_t;

static void *wait_and_look(void *waiter_arg)
{
  waiter_t *waiter = waiter_arg;
  ws_group_wait(waiter->group, waiter->pool);
  if (!waiter->seen->v)
    ws_store_relaxed(&waiter->returned_early, 1);
  return NULL;
}

/// Four threads wait, two of them help: all return, and see what the completer wrote (a plain store).
static void several_waiters_of_a_manual_group(void)
{
  ws_pool_t *pool = test_pool(2);
  for (uint32_t round = 0; round < 50; round++) {
    ws_group_t group;
    ws_au32_t written = {0};
    waiter_t with = {.group = &group, .pool = pool, .seen = &written};
    waiter_t without = {.group = &group, .seen = &written};
    ws_group_init(&group, 1);
    test_threads_t threads = {0};
    for (uint32_t i = 0; i < 2; i++) {
      test_spawn(&threads, wait_and_look, &with);
      test_spawn(&threads, wait_and_look, &without);
    }
    if (round % 2)
      test_sleep_ms(1); // some sleep by then, some do not
    written.v = 1;
    ws_group_complete(&group, 1);
    test_join(&threads);
    CU_ASSERT_EQUAL(with.returned_early.v + without.returned_early.v, 0);
  }
  test_destroy(pool);
}

typedef struct {
  uint64_t value[4];
} cell_t;

static void fill(void *cell_arg)
{
  cell_t *cell = cell_arg;
  for (uint32_t i = 0; i < TEST_COUNT(cell->value); i++)
    cell->value[i] += i + 1;
}

/// Group and results on the stack of a function that returns at once; the caller scribbles over that stack.
static __attribute__((noinline)) bool burst_on_stack(ws_pool_t *pool, uint32_t count, void (*func)(void *))
{
  ws_group_t group;
  cell_t cell[16];
  memset(cell, 0, sizeof(cell));
  ws_group_init(&group, count);
  for (uint32_t i = 0; i < count; i++)
    test_push(pool, func, &cell[i], &group);
  ws_group_wait(&group, pool);
  bool good = true;
  for (uint32_t i = 0; i < count; i++)
    good &= cell[i].value[0] == 1 && cell[i].value[3] == 4;
  return good;
}

static __attribute__((noinline)) void scribble(uint32_t byte)
{
  volatile unsigned char stack[2048];
  for (uint32_t i = 0; i < sizeof(stack); i++)
    stack[i] = (unsigned char)byte;
}

static void groups_on_a_reused_stack(void)
{
  ws_pool_t *pool = test_pool(3);
  uint64_t random = test_seed();
  uint32_t bad = 0;
  for (uint32_t round = 0; round < 20000 / (1 + 3 * TEST_SANITIZED); round++) {
    bad += !burst_on_stack(pool, 1 + (uint32_t)(test_random(&random) % 16), fill);
    scribble(round);
  }
  CU_ASSERT_EQUAL(bad, 0);
  test_destroy(pool);
}

static void many_groups_in_flight(void)
{
  enum { GROUPS = 300, EACH = 7 };
  static ws_group_t group[GROUPS];
  static ws_au64_t count[GROUPS];
  ws_pool_t *pool = test_pool(3);
  for (uint32_t i = 0; i < GROUPS; i++)
    ws_group_init(&group[i], EACH);
  for (uint32_t k = 0; k < EACH; k++)
    for (uint32_t i = 0; i < GROUPS; i++)
      test_push(pool, test_count_task, &count[i], &group[i]);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < GROUPS; i++) {
    const uint32_t which = (i * 7) % GROUPS;
    ws_group_wait(&group[which], pool);
    wrong += test_value(&count[which]) != EACH;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  test_destroy(pool);
}

typedef struct {
  ws_pool_t *pool;
  ws_group_t group;
  ws_au64_t count;
  uint32_t depth;
} tree_t;

typedef struct {
  tree_t *tree;
  uint32_t depth;
} node_t;

static node_t nodes[16];

/// Each task adds its two children to the group that it is part of.
static void grow_group(void *node_arg)
{
  const node_t *node = node_arg;
  ws_add_relaxed(&node->tree->count, 1);
  if (node->depth == 0)
    return;
  ws_group_add(&node->tree->group, 2);
  for (uint32_t i = 0; i < 2; i++)
    test_push(node->tree->pool, grow_group, &nodes[node->depth - 1], &node->tree->group);
}

static void units_added_by_tasks_of_the_group(void)
{
  for (uint32_t workers = 1; workers <= 3; workers++) {
    tree_t tree = {.pool = test_pool(workers)};
    for (uint32_t i = 0; i < TEST_COUNT(nodes); i++)
      nodes[i] = (node_t){.tree = &tree, .depth = i};
    ws_group_init(&tree.group, 1);
    test_push(tree.pool, grow_group, &nodes[12], &tree.group);
    ws_group_wait(&tree.group, tree.pool);
    CU_ASSERT_EQUAL(test_value(&tree.count), (1u << 13) - 1);
    test_destroy(tree.pool);
  }
}

/// Counting groups must be done when ws_pool_wait returns: their memory may be gone then.
static void done_when_the_pool_is_idle(void)
{
  ws_pool_t *pool = test_pool(3);
  uint32_t early = 0;
  for (uint32_t round = 0; round < 20000 / (1 + 3 * TEST_SANITIZED); round++) {
    ws_group_t group;
    ws_group_init(&group, 3);
    for (uint32_t i = 0; i < 3; i++)
      test_push(pool, test_empty_task, NULL, &group);
    ws_pool_wait(pool);
    early += !ws_group_done(&group);
    ws_group_wait(&group, NULL);
  }
  CU_ASSERT_EQUAL(early, 0);
  test_destroy(pool);
}

TEST_MAIN("group", TEST_CASE(counts_units), TEST_CASE(several_waiters_of_a_manual_group),
          TEST_CASE(groups_on_a_reused_stack), TEST_CASE(many_groups_in_flight),
          TEST_CASE(units_added_by_tasks_of_the_group), TEST_CASE(done_when_the_pool_is_idle))
