// SPDX-License-Identifier: BSD-3-Clause
/// @file test_find.c
/// Recursion: sorting, fib, joins a thousand deep, groups pushed in a bad order; one worker, tiny queues,
/// each policy.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/ws_test.h"

#define NUMBERS (TEST_SANITIZED ? 40000u : 200000u)

static struct {
  ws_pool_t *pool;
  int32_t number[NUMBERS], sorted[NUMBERS];
} sorting;

typedef struct {
  int32_t *first;
  uint32_t count;
} range_t;

static int compare(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static uint32_t partition(int32_t *first, uint32_t count)
{
  const int32_t pivot = first[count / 2];
  int32_t i = -1;
  int32_t j = (int32_t)count;
  for (;;) {
    while (first[++i] < pivot)
      ;
    while (first[--j] > pivot)
      ;
    if (i >= j)
      return (uint32_t)(j + 1);
    const int32_t swap = first[i];
    first[i] = first[j];
    first[j] = swap;
  }
}

/// Pushes the left half, sorts the right one itself; a refused half is its own as well.
static void sort_range(void *range_arg)
{
  const range_t *range = range_arg;
  if (range->count <= 64) {
    qsort(range->first, range->count, sizeof(int32_t), compare);
    return;
  }
  const uint32_t middle = partition(range->first, range->count);
  range_t left = {.first = range->first, .count = middle};
  range_t right = {.first = range->first + middle, .count = range->count - middle};
  ws_group_t group;
  ws_group_init(&group, 1);
  const int result =
      ws_pool_push(sorting.pool, (ws_task_t){.func = sort_range, .arg = &left, .group = &group});
  if (result == -EAGAIN) {
    sort_range(&left);
    ws_group_complete(&group, 1);
  } else if (result < 0) {
    ws_add_relaxed(&test_refused, 1);
    return;
  }
  sort_range(&right);
  ws_group_wait(&group, sorting.pool);
}

static void sort_once(uint32_t workers, ws_full_t full, uint32_t capacity, bool from_outside)
{
  uint64_t random = test_seed();
  ws_settings_t settings = test_settings(workers);
  settings.full = full;
  settings.queue_capacity = capacity;
  sorting.pool = test_create(&settings);
  for (uint32_t i = 0; i < NUMBERS; i++)
    sorting.number[i] = (int32_t)test_random(&random);
  memcpy(sorting.sorted, sorting.number, sizeof(sorting.sorted));
  qsort(sorting.sorted, NUMBERS, sizeof(int32_t), compare);
  range_t all = {.first = sorting.number, .count = NUMBERS};
  if (from_outside) {
    sort_range(&all);
  } else {
    ws_group_t group;
    ws_group_init(&group, 1);
    test_push(sorting.pool, sort_range, &all, &group);
    ws_group_wait(&group, NULL);
  }
  CU_ASSERT_EQUAL(memcmp(sorting.number, sorting.sorted, sizeof(sorting.sorted)), 0);
  test_destroy(sorting.pool);
}

static void parallel_quicksort(void)
{
  for (uint32_t workers = 0; workers <= 3; workers++)
    for (uint32_t outside = 0; outside <= 1; outside++)
      sort_once(workers, WS_FULL_GROW, 1024, outside);
}

static void parallel_quicksort_with_two_places_under_each_policy(void)
{
  for (uint32_t workers = 1; workers <= 2; workers++)
    for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_FAIL; full++)
      for (uint32_t outside = 0; outside <= 1; outside++)
        sort_once(workers, (ws_full_t)full, 2, outside);
}

static ws_pool_t *tree;

typedef struct {
  uint32_t n;
  uint64_t result;
} fib_t;

static void fib(void *fib_arg)
{
  fib_t *f = fib_arg;
  if (f->n < 2) {
    f->result = f->n;
    return;
  }
  fib_t a = {.n = f->n - 1}, b = {.n = f->n - 2};
  ws_group_t group;
  ws_group_init(&group, 2);
  test_push(tree, fib, &a, &group);
  test_push(tree, fib, &b, &group);
  ws_group_wait(&group, tree);
  f->result = a.result + b.result;
}

static void fib_by_joins(void)
{
  for (uint32_t workers = 1; workers <= 3; workers++) {
    tree = test_pool(workers);
    fib_t outside = {.n = 17}, inside = {.n = 17};
    fib(&outside);
    ws_group_t group;
    ws_group_init(&group, 1);
    test_push(tree, fib, &inside, &group);
    ws_group_wait(&group, NULL);
    CU_ASSERT_EQUAL(outside.result, 1597);
    CU_ASSERT_EQUAL(inside.result, 1597);
    test_destroy(tree);
  }
}

static void descend(void *depth_arg)
{
  uint32_t *depth = depth_arg;
  if (--*depth == 0)
    return;
  ws_group_t group;
  ws_group_init(&group, 1);
  test_push(tree, descend, depth, &group);
  ws_group_wait(&group, tree);
}

static void joins_a_thousand_deep(void)
{
  for (uint32_t workers = 1; workers <= 2; workers++) {
    for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_INLINE; full++) {
      ws_settings_t settings = test_settings(workers);
      settings.queue_capacity = 2;
      settings.full = (ws_full_t)full;
      settings.join_spin_ns_max = 1000;
      tree = test_create(&settings);
      uint32_t outside = 1500, inside = 1500;
      descend(&outside);
      ws_group_t group;
      ws_group_init(&group, 1);
      test_push(tree, descend, &inside, &group);
      ws_group_wait(&group, NULL);
      CU_ASSERT_EQUAL(outside + inside, 0);
      test_destroy(tree);
    }
  }
}

enum { GROUPS = 5, EACH = 20 };

/// Groups pushed by turns and waited for in the order in which the wanted tasks lie deepest.
static void wait_in_bad_order(void *count)
{
  ws_group_t group[GROUPS];
  for (uint32_t g = 0; g < GROUPS; g++)
    ws_group_init(&group[g], EACH);
  for (uint32_t i = 0; i < EACH; i++)
    for (uint32_t g = 0; g < GROUPS; g++)
      test_push(tree, test_count_task, count, &group[g]);
  static const uint32_t order[GROUPS] = {2, 0, 3, 1, 4};
  for (uint32_t i = 0; i < GROUPS; i++)
    ws_group_wait(&group[order[i]], tree);
}

static void groups_waited_for_in_a_bad_order(void)
{
  for (uint32_t workers = 1; workers <= 3; workers++) {
    for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_INLINE; full++) {
      ws_settings_t settings = test_settings(workers);
      settings.queue_capacity = full == WS_FULL_GROW ? 2 : 32;
      settings.full = (ws_full_t)full;
      settings.join_spin_ns_max = 1000;
      tree = test_create(&settings);
      ws_au64_t count = {0};
      ws_group_t group;
      ws_group_init(&group, 4);
      for (uint32_t i = 0; i < 4; i++)
        test_push(tree, wait_in_bad_order, &count, &group);
      wait_in_bad_order(&count);
      ws_group_wait(&group, tree);
      CU_ASSERT_EQUAL(test_value(&count), 5 * GROUPS * EACH);
      test_destroy(tree);
    }
  }
}

enum { UNJOINED = 300 };

/// Tasks without a join, pushed by a task; the last to run posts.
static struct {
  uint32_t number[UNJOINED], started[UNJOINED]; ///< of their pushes; in the order of their starts
  uint32_t count;
  sem_t done;
} unjoined;

static void note_start(void *number)
{
  unjoined.started[unjoined.count++] = *(uint32_t *)number; // there is one worker
  if (unjoined.count == UNJOINED)
    sem_post(&unjoined.done);
}

static void push_unjoined_tasks(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < UNJOINED; i++) {
    unjoined.number[i] = i;
    test_push(tree, note_start, &unjoined.number[i], NULL);
  }
}

/// @return how many tasks started as the i-th that were pushed as the i-th
static uint32_t started_in_order(bool fifo)
{
  uint32_t in_order = 0;
  ws_settings_t settings = test_settings(1);
  settings.fifo = fifo;
  tree = test_create(&settings);
  unjoined.count = 0;
  sem_init(&unjoined.done, 0, 0);
  test_push(tree, push_unjoined_tasks, NULL, NULL);
  CU_ASSERT_TRUE_FATAL(test_sem_wait(&unjoined.done)); // not a join, which would help
  for (uint32_t i = 0; i < UNJOINED; i++)
    in_order += unjoined.started[i] == i;
  test_destroy(tree);
  sem_destroy(&unjoined.done);
  return in_order;
}

static void what_no_thread_joins_starts_in_the_order_of_its_pushes(void)
{
  CU_ASSERT_EQUAL(started_in_order(true), UNJOINED);
  CU_ASSERT_TRUE(started_in_order(false) <= 1); // each 244th search takes the oldest: that moves the others
}

TEST_MAIN("find", TEST_CASE(fib_by_joins), TEST_CASE(parallel_quicksort),
          TEST_CASE(parallel_quicksort_with_two_places_under_each_policy), TEST_CASE(joins_a_thousand_deep),
          TEST_CASE(groups_waited_for_in_a_bad_order),
          TEST_CASE(what_no_thread_joins_starts_in_the_order_of_its_pushes))
