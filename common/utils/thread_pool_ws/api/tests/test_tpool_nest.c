// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_nest.c
/// The interface tpool: threads that are inside tasks of several pools at once, or use several pools in turn.
#define _GNU_SOURCE
#include "tpool_test.h"

#include <string.h>

static void open_gate(void *gate)
{
  test_gate_let(gate, 1);
}

typedef struct {
  tpool *full;
  int added, working, waited;
} visitor_t;

/// Runs inside a task of another pool.
static void look_around(void *visitor_arg)
{
  visitor_t *visitor = visitor_arg;
  visitor->working = tpool_count_working_threads(visitor->full);
  visitor->waited = tpool_wait(visitor->full);
}

static void add_one_that_looks(void *visitor_arg)
{
  visitor_t *visitor = visitor_arg;
  visitor->added = tpool_add(visitor->full, look_around, visitor);
}

static void a_task_of_another_pool_counts_meanwhile(void)
{
  test_full_t full;
  CU_ASSERT_FATAL(test_fill(&full, 1));
  ws_pool_t *core = test_pool(1);
  visitor_t visitor = {.full = full.pool};
  test_push(core, add_one_that_looks, &visitor, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(core), 0);
  CU_ASSERT_EQUAL(visitor.added, 0);
  CU_ASSERT_EQUAL(visitor.working, 2); // one stands in the gate
  CU_ASSERT_EQUAL(visitor.waited, -EDEADLK);
  CU_ASSERT_EQUAL(tpool_count_working_threads(full.pool), 1);
  test_gate_let(&full.gate, 1);
  tpool_destroy(full.pool);
  test_destroy(core);
  test_gate_destroy(&full.gate);
}

/// A job of one pool waits for another pool, a job of which then runs inside it, on the same thread.
static struct {
  tpool *outer, *inner;
  test_gate_t gate; ///< in which the inner pool's worker stands
  sem_t over;
  ws_au64_t ran;
  int waited, filled, added, working, nested;
} deep;

static void count_deep(void *unused)
{
  (void)unused;
  deep.working = tpool_count_working_threads(deep.outer);
  deep.nested = tpool_wait(deep.outer);
}

static void use_outer(void *unused)
{
  (void)unused;
  deep.waited = tpool_wait(deep.outer);
  deep.filled = tpool_try_add(deep.outer, test_count_task, &deep.ran);
  deep.added = tpool_add(deep.outer, count_deep, NULL);
  test_gate_let(&deep.gate, 1);
}

static void wait_for_inner(void *unused)
{
  (void)unused;
  tpool_try_add(deep.inner, use_outer, NULL);
  tpool_wait(deep.inner);
  sem_post(&deep.over);
}

static void pools_nest(void)
{
  memset(&deep, 0, sizeof deep);
  sem_init(&deep.over, 0, 0);
  test_gate_init(&deep.gate);
  deep.outer = tpool_create(1, 1);
  deep.inner = tpool_create(1, 1);
  CU_ASSERT_EQUAL(tpool_add(deep.inner, test_gate_task, &deep.gate), 0);
  CU_ASSERT_FATAL(test_gate_await(&deep.gate, 1));
  CU_ASSERT_EQUAL(tpool_add(deep.outer, wait_for_inner, NULL), 0);
  CU_ASSERT_FATAL(test_sem_wait(&deep.over)); // tpool_wait() might run the job
  CU_ASSERT_EQUAL(deep.waited, -EDEADLK);
  CU_ASSERT_EQUAL(deep.filled, 0);
  CU_ASSERT_EQUAL(deep.added, 0);
  CU_ASSERT_EQUAL(deep.working, 1);
  CU_ASSERT_EQUAL(deep.nested, -EDEADLK);
  tpool_destroy(deep.outer);
  tpool_destroy(deep.inner);
  CU_ASSERT_EQUAL(test_value(&deep.ran), 1);
  test_gate_destroy(&deep.gate);
  sem_destroy(&deep.over);
}

/// A thread adds to one pool and then runs jobs of another: each pool keeps its places.
static void a_helper_of_two_pools(void)
{
  test_gate_t gate[2];
  tpool *pool[2];
  ws_au64_t ran = {0};
  for (uint32_t i = 0; i < 2; i++) {
    test_gate_init(&gate[i]);
    pool[i] = tpool_create(1, 3);
  }
  CU_ASSERT_EQUAL(tpool_add(pool[0], test_gate_task, &gate[0]), 0);
  CU_ASSERT_FATAL(test_gate_await(&gate[0], 1));
  for (uint32_t round = 0; round < 3; round++) {
    CU_ASSERT_EQUAL(tpool_add(pool[1], test_gate_task, &gate[1]), 0);
    CU_ASSERT_FATAL(test_gate_await(&gate[1], 1));
    CU_ASSERT_EQUAL(tpool_try_add(pool[1], open_gate, &gate[1]), 0);
    CU_ASSERT_EQUAL(tpool_try_add(pool[0], test_count_task, &ran), 0);
    CU_ASSERT_EQUAL(tpool_wait(pool[1]), 0); // this thread opens the gate
  }
  CU_ASSERT_EQUAL(tpool_try_add(pool[0], test_count_task, &ran), -EAGAIN);
  test_gate_let(&gate[0], 1);
  for (uint32_t i = 0; i < 2; i++) {
    tpool_destroy(pool[i]);
    test_gate_destroy(&gate[i]);
  }
  CU_ASSERT_EQUAL(test_value(&ran), 3);
}

TEST_MAIN("tpool_nest", TEST_CASE(a_task_of_another_pool_counts_meanwhile), TEST_CASE(pools_nest),
          TEST_CASE(a_helper_of_two_pools))
