// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool.c
/// The interface tpool: as a program would use it by the description in its header, the bound of its buffer,
/// threads and jobs that add to a full one, the number of working threads. Its ends: test_tpool_end.c.
#define _GNU_SOURCE
#include "tpool_test.h"

#include <string.h>

#define JOBS 500u

static void runs_each_job_once(void)
{
  static const int buffers[] = {1, 7, 1000};
  static ws_au64_t ran[JOBS];
  for (int threads = 1; threads <= 4; threads++) {
    for (uint32_t b = 0; b < TEST_COUNT(buffers); b++) {
      memset(ran, 0, sizeof ran);
      tpool *pool = tpool_create(threads, buffers[b]);
      CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
      for (uint32_t round = 1; round <= 3; round++) {
        for (uint32_t i = 0; i < JOBS; i++)
          CU_ASSERT_EQUAL_FATAL(tpool_add(pool, test_count_task, &ran[i]), 0);
        CU_ASSERT_EQUAL(tpool_wait(pool), 0);
        for (uint32_t i = 0; i < JOBS; i++)
          CU_ASSERT_EQUAL_FATAL(test_value(&ran[i]), round);
      }
      tpool_destroy(pool);
    }
  }
}

/// All threads stand in gates, so no job begins: the buffer takes its size, and not one job more.
static void buffer_holds_its_size(void)
{
  static const int buffers[] = {1, 2, 50, 3000};
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    for (uint32_t b = 0; b < TEST_COUNT(buffers); b++) {
      ws_au64_t ran = {0};
      test_gate_t gate;
      test_gate_init(&gate);
      tpool *pool = tpool_create((int)threads, buffers[b]);
      for (uint32_t round = 1; round <= 2; round++) {
        for (uint32_t i = 0; i < threads; i++)
          CU_ASSERT_EQUAL_FATAL(tpool_add(pool, test_gate_task, &gate), 0);
        CU_ASSERT_FATAL(test_gate_await(&gate, threads));
        for (int i = 0; i < buffers[b]; i++)
          CU_ASSERT_EQUAL_FATAL(tpool_try_add(pool, test_count_task, &ran), 0);
        CU_ASSERT_EQUAL(tpool_try_add(pool, test_count_task, &ran), -EAGAIN);
        CU_ASSERT_EQUAL(test_value(&ran), (round - 1) * (uint64_t)buffers[b]);
        test_gate_let(&gate, threads);
        CU_ASSERT_EQUAL(tpool_wait(pool), 0);
        CU_ASSERT_EQUAL(test_value(&ran), round * (uint64_t)buffers[b]);
      }
      tpool_destroy(pool);
      test_gate_destroy(&gate);
    }
  }
}

/// One thread, room for one. The first gate runs, the second is queued, so a thread outside blocks; it
/// returns when the second begins.
static void blocked_add_returns_when_a_job_begins(void)
{
  test_gate_t first, second;
  test_gate_init(&first);
  test_gate_init(&second);
  ws_au64_t ran = {0};
  tpool *pool = tpool_create(1, 1);
  CU_ASSERT_EQUAL(tpool_add(pool, test_gate_task, &first), 0);
  CU_ASSERT_FATAL(test_gate_await(&first, 1));
  CU_ASSERT_EQUAL(tpool_add(pool, test_gate_task, &second), 0);
  test_adder_t adder = {.pool = pool, .func = test_count_task, .arg = &ran};
  test_threads_t threads = {0};
  test_spawn(&threads, test_add_one, &adder);
  CU_ASSERT(test_until_blocked(pool, 1));
  CU_ASSERT_EQUAL(ws_load_acquire(&adder.done), 0);
  test_gate_let(&first, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(adder.result, 0);
  CU_ASSERT_EQUAL(test_value(&ran), 0); // the second gate is closed
  test_gate_let(&second, 1);
  CU_ASSERT_EQUAL(tpool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&ran), 1);
  tpool_destroy(pool);
  test_gate_destroy(&first);
  test_gate_destroy(&second);
}

#define ADDERS 8u

static void all_blocked_adds_return(void)
{
  test_full_t full;
  CU_ASSERT_FATAL(test_fill(&full, 1));
  ws_au64_t ran = {0};
  test_adder_t adder[ADDERS];
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < ADDERS; i++) {
    adder[i] = (test_adder_t){.pool = full.pool, .func = test_count_task, .arg = &ran};
    test_spawn(&threads, test_add_one, &adder[i]);
  }
  CU_ASSERT(test_until_blocked(full.pool, ADDERS));
  test_gate_let(&full.gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(tpool_wait(full.pool), 0);
  CU_ASSERT_EQUAL(test_value(&ran), ADDERS);
  for (uint32_t i = 0; i < ADDERS; i++)
    CU_ASSERT_EQUAL(adder[i].result, 0);
  tpool_destroy(full.pool);
  test_gate_destroy(&full.gate);
}

static struct {
  tpool *pool;
  ws_au64_t leaves, refused;
} tree;

static void grow(void *depth_arg)
{
  const uintptr_t depth = (uintptr_t)depth_arg;
  if (depth == 0)
    ws_add_relaxed(&tree.leaves, 1);
  for (uint32_t i = 0; i < 2 && depth > 0; i++)
    if (tpool_add(tree.pool, grow, (void *)(depth - 1)) != 0)
      ws_add_relaxed(&tree.refused, 1);
}

/// The recursion in which the jobs of the original wait for each other.
static void jobs_add_to_a_full_buffer(void)
{
  for (int threads = 1; threads <= 8; threads++) {
    for (int buffer = 1; buffer <= 64; buffer *= 8) {
      memset(&tree, 0, sizeof tree);
      tree.pool = tpool_create(threads, buffer);
      CU_ASSERT_EQUAL(tpool_add(tree.pool, grow, (void *)(uintptr_t)12), 0);
      CU_ASSERT_EQUAL(tpool_wait(tree.pool), 0);
      CU_ASSERT_EQUAL(test_value(&tree.leaves), 1u << 12);
      CU_ASSERT_EQUAL(test_value(&tree.refused), 0);
      tpool_destroy(tree.pool);
    }
  }
}

/// A task, or a job, of another pool that finds the buffer of the first full.
typedef struct {
  tpool *full;
  ws_au64_t ran;
  int try_result, result, working;
  uint64_t ran_before_return;
} visitor_t;

static void visit(void *visitor_arg)
{
  visitor_t *visitor = visitor_arg;
  visitor->try_result = tpool_try_add(visitor->full, test_count_task, &visitor->ran);
  visitor->result = tpool_add(visitor->full, test_count_task, &visitor->ran);
  visitor->ran_before_return = test_value(&visitor->ran);
  visitor->working = tpool_count_working_threads(visitor->full);
}

static void tasks_of_other_pools_run_it_themselves(void)
{
  test_full_t full;
  CU_ASSERT_FATAL(test_fill(&full, 2));
  ws_pool_t *core = test_pool(1);
  tpool *other = tpool_create(1, 1);
  visitor_t visitor[2] = {{.full = full.pool}, {.full = full.pool}};
  test_push(core, visit, &visitor[0], NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(core), 0);
  CU_ASSERT_EQUAL(tpool_add(other, visit, &visitor[1]), 0);
  CU_ASSERT_EQUAL(tpool_wait(other), 0);
  for (uint32_t i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(visitor[i].try_result, -EAGAIN);
    CU_ASSERT_EQUAL(visitor[i].result, 0);
    CU_ASSERT_EQUAL(visitor[i].ran_before_return, 1);
    CU_ASSERT_EQUAL(visitor[i].working, 1); // the one in the gate
  }
  test_gate_let(&full.gate, 1);
  tpool_destroy(full.pool);
  CU_ASSERT_EQUAL(test_value(&full.ran), 2);
  tpool_destroy(other);
  test_destroy(core);
  test_gate_destroy(&full.gate);
}

static void *wait_for_all(void *pool)
{
  return (void *)(intptr_t)tpool_wait(pool);
}

static void counts_working_threads(void)
{
  test_gate_t gate;
  test_gate_init(&gate);
  tpool *pool = tpool_create(3, 10);
  CU_ASSERT_EQUAL(tpool_count_working_threads(pool), 0);
  for (int i = 1; i <= 3; i++) {
    CU_ASSERT_EQUAL(tpool_add(pool, test_gate_task, &gate), 0);
    CU_ASSERT_FATAL(test_gate_await(&gate, 1));
    CU_ASSERT_EQUAL(tpool_count_working_threads(pool), i);
  }
  test_threads_t threads = {0};
  CU_ASSERT_EQUAL(tpool_add(pool, test_gate_task, &gate), 0);
  test_spawn(&threads, wait_for_all, pool);
  CU_ASSERT_FATAL(test_gate_await(&gate, 1)); // the thread that waits runs it
  CU_ASSERT_EQUAL(tpool_count_working_threads(pool), 4);
  test_gate_let(&gate, 4);
  test_join(&threads);
  CU_ASSERT_EQUAL(tpool_wait(pool), 0);
  CU_ASSERT_EQUAL(tpool_count_working_threads(pool), 0);
  tpool_destroy(pool);
  test_gate_destroy(&gate);
}

static struct {
  tpool *pool;
  ws_au32_t next, wrong;
  sem_t over;
} order;

static void expect_turn(void *index)
{
  if (ws_add_relaxed(&order.next, 1) != (uint32_t)(uintptr_t)index)
    ws_add_relaxed(&order.wrong, 1);
  if ((uintptr_t)index + 1 == JOBS)
    sem_post(&order.over);
}

static void add_in_order(void *unused)
{
  (void)unused;
  for (uintptr_t i = 0; i < JOBS; i++)
    if (tpool_try_add(order.pool, expect_turn, (void *)i) != 0)
      ws_add_relaxed(&order.wrong, 1);
}

/// Of a thread outside, and of a job. One thread runs them: this one only waits for the last.
static void jobs_of_one_thread_begin_in_order(void)
{
  for (uint32_t inside = 0; inside <= 1; inside++) {
    memset(&order, 0, sizeof order);
    sem_init(&order.over, 0, 0);
    test_gate_t gate;
    test_gate_init(&gate);
    order.pool = tpool_create(1, JOBS + 1);
    CU_ASSERT_EQUAL(tpool_add(order.pool, test_gate_task, &gate), 0);
    CU_ASSERT_FATAL(test_gate_await(&gate, 1));
    if (inside)
      CU_ASSERT_EQUAL(tpool_add(order.pool, add_in_order, NULL), 0);
    if (!inside)
      add_in_order(NULL);
    test_gate_let(&gate, 1);
    CU_ASSERT_FATAL(test_sem_wait(&order.over));
    CU_ASSERT_EQUAL(ws_load_relaxed(&order.wrong), 0);
    tpool_destroy(order.pool);
    test_gate_destroy(&gate);
    sem_destroy(&order.over);
  }
}

/// A job that fills the buffer of its own pool and adds one more, which then runs inside it.
typedef struct {
  tpool *pool;
  ws_au64_t ran;
  sem_t over;
  int queued, nested, result, after;
} nest_t;

static void count_inside(void *nest_arg)
{
  nest_t *nest = nest_arg;
  nest->result = tpool_count_working_threads(nest->pool);
}

static void fill_and_add(void *nest_arg)
{
  nest_t *nest = nest_arg;
  nest->queued = tpool_try_add(nest->pool, test_count_task, &nest->ran);
  nest->nested = tpool_add(nest->pool, count_inside, nest);
  nest->after = tpool_count_working_threads(nest->pool);
  sem_post(&nest->over);
}

static void thread_counts_once(void)
{
  nest_t nest = {.pool = tpool_create(1, 1)};
  sem_init(&nest.over, 0, 0);
  CU_ASSERT_EQUAL(tpool_add(nest.pool, fill_and_add, &nest), 0);
  CU_ASSERT_FATAL(test_sem_wait(&nest.over)); // tpool_wait() would run the queued job
  CU_ASSERT_EQUAL(nest.queued, 0);
  CU_ASSERT_EQUAL(nest.nested, 0);
  CU_ASSERT_EQUAL(nest.result, 1);
  CU_ASSERT_EQUAL(nest.after, 1);
  tpool_destroy(nest.pool);
  CU_ASSERT_EQUAL(test_value(&nest.ran), 1);
  sem_destroy(&nest.over);
}

static void wait_inside(void *nest_arg)
{
  nest_t *nest = nest_arg;
  nest->result = tpool_wait(nest->pool);
}

static void wait_in_a_job_is_refused(void)
{
  nest_t nest = {.pool = tpool_create(1, 1)};
  CU_ASSERT_EQUAL(tpool_add(nest.pool, wait_inside, &nest), 0);
  CU_ASSERT_EQUAL(tpool_wait(nest.pool), 0);
  CU_ASSERT_EQUAL(nest.result, -EDEADLK);
  tpool_destroy(nest.pool);
}

TEST_MAIN("tpool", TEST_CASE(runs_each_job_once), TEST_CASE(buffer_holds_its_size),
          TEST_CASE(blocked_add_returns_when_a_job_begins), TEST_CASE(all_blocked_adds_return),
          TEST_CASE(jobs_add_to_a_full_buffer), TEST_CASE(tasks_of_other_pools_run_it_themselves),
          TEST_CASE(counts_working_threads), TEST_CASE(thread_counts_once),
          TEST_CASE(wait_in_a_job_is_refused), TEST_CASE(jobs_of_one_thread_begin_in_order))
