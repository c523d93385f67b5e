// SPDX-License-Identifier: BSD-3-Clause
/// @file test_nested.c
/// Recursion: tasks that wait for their children, in queues of any size, under each policy. Groups that are
/// waited for in a bad order: scenes/wait.c.
#include <errno.h>

#include "../../support/ws_test.h"

static ws_pool_t *pool;

typedef struct {
  uint32_t n;
  uint64_t result; ///< no atomic: who waits sees it
} fib_t;

/// A refused child runs here.
static void push_or_run(void (*func)(void *), void *arg, ws_group_t *group)
{
  const int result = ws_pool_push(pool, (ws_task_t){.func = func, .arg = arg, .group = group});
  if (result == 0)
    return;
  if (result != -EAGAIN)
    ws_add_relaxed(&test_refused, 1);
  func(arg);
  ws_group_complete(group, 1);
}

static void fib(void *fib_arg)
{
  fib_t *f = fib_arg;
  f->result = f->n;
  if (f->n < 2)
    return;
  fib_t a = {.n = f->n - 1}, b = {.n = f->n - 2};
  ws_group_t group;
  ws_group_init(&group, 2);
  push_or_run(fib, &a, &group);
  push_or_run(fib, &b, &group);
  ws_group_wait(&group, pool);
  f->result = a.result + b.result;
}

static void descend(void *depth_arg)
{
  uint32_t *depth = depth_arg;
  if (--*depth == 0)
    return;
  ws_group_t group;
  ws_group_init(&group, 1);
  push_or_run(descend, depth, &group);
  ws_group_wait(&group, pool);
}

/// On a worker, and without help.
static void run_inside(void (*func)(void *), void *arg)
{
  ws_group_t group;
  ws_group_init(&group, 1);
  push_or_run(func, arg, &group);
  ws_group_wait(&group, NULL);
}

static void create(uint32_t workers, uint32_t full, uint32_t capacity)
{
  ws_settings_t settings = test_settings(workers);
  settings.full = (ws_full_t)full;
  settings.queue_capacity = capacity;
  settings.join_spin_ns_max = 1000;
  pool = test_create(&settings);
}

static void fib_by_joins(void)
{
  for (uint32_t workers = 0; workers <= 3; workers++) {
    for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_FAIL; full++) {
      create(workers, full, workers % 2 ? 2 : 1024);
      fib_t outside = {.n = 16}, inside = {.n = 16};
      fib(&outside);
      run_inside(fib, &inside);
      CU_ASSERT_EQUAL(outside.result, 987);
      CU_ASSERT_EQUAL(inside.result, 987);
      test_destroy(pool);
    }
  }
}

static void joins_a_thousand_deep(void)
{
  for (uint32_t workers = 1; workers <= 2; workers++) {
    for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_FAIL; full++) {
      create(workers, full, 2);
      uint32_t outside = 1500, inside = 1500;
      descend(&outside);
      run_inside(descend, &inside);
      CU_ASSERT_EQUAL(outside + inside, 0);
      test_destroy(pool);
    }
  }
}

TEST_MAIN("nested", TEST_CASE(fib_by_joins), TEST_CASE(joins_a_thousand_deep))
