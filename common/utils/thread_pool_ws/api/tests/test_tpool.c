// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool.c
/// The interface tpool: the bound of its buffer, the number of working threads, threads in several pools.
/// Threads that are blocked in an add, and ends: test_tpool_end.c.
#include "tpool_test.h"

#define JOBS 500u

/// All threads stand in gates, so no job begins: the buffer takes its size, and not one job more.
TEST_CASE(buffer_holds_its_size)
{
  static const int buffers[] = {1, 2, 50, 3000, TPOOL_BUFFER_MAX};
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    for (uint32_t b = 0; b < TEST_COUNT(buffers) - (threads > 1); b++) {
      ws_au64_t ran = {0};
      TEST_GATE(gate);
      tpool *pool = tpool_create((int)threads, buffers[b]);
      for (uint32_t round = 1; round <= (buffers[b] < TPOOL_BUFFER_MAX ? 2 : 1); round++) {
        for (uint32_t i = 0; i < threads; i++)
          CU_ASSERT_EQUAL_FATAL(tpool_add(pool, test_gate_task, &gate), 0);
        CU_ASSERT_FATAL(test_gate_await(&gate, threads));
        int added = 0;
        while (added <= buffers[b] && tpool_try_add(pool, test_count_task, &ran) == 0)
          added++;
        CU_ASSERT_EQUAL(added, buffers[b]);
        CU_ASSERT_EQUAL(tpool_try_add(pool, test_count_task, &ran), -EAGAIN);
        CU_ASSERT_EQUAL(test_value(&ran), (round - 1) * (uint64_t)buffers[b]);
        test_gate_let(&gate, threads);
        CU_ASSERT_EQUAL(tpool_wait(pool), 0);
        CU_ASSERT_EQUAL(test_value(&ran), round * (uint64_t)buffers[b]);
      }
      tpool_destroy(pool);
    }
  }
}

/// A task, or a job, of another pool that finds the buffer of the first full: it runs its job itself, as a
/// thread of that pool for so long.
typedef struct {
  tpool *full;
  int tried, added, working, waited, worked_after;
  uint32_t runs;
} visitor_t;

static void look_around(void *visitor_arg)
{
  visitor_t *visitor = visitor_arg;
  visitor->runs++;
  visitor->working = tpool_count_working_threads(visitor->full);
  visitor->waited = tpool_wait(visitor->full);
}

static void visit(void *visitor_arg)
{
  visitor_t *visitor = visitor_arg;
  visitor->tried = tpool_try_add(visitor->full, look_around, visitor);
  visitor->added = tpool_add(visitor->full, look_around, visitor);
  visitor->worked_after = tpool_count_working_threads(visitor->full);
}

TEST_CASE(tasks_of_other_pools_run_it_themselves)
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
    CU_ASSERT(visitor[i].tried == -EAGAIN && visitor[i].added == 0 && visitor[i].runs == 1);
    CU_ASSERT_EQUAL(visitor[i].working, 2); // one stands in the gate
    CU_ASSERT_EQUAL(visitor[i].waited, -EDEADLK);
    CU_ASSERT_EQUAL(visitor[i].worked_after, 1);
  }
  test_empty(&full);
  CU_ASSERT_EQUAL(test_value(&full.ran), 2);
  tpool_destroy(other);
  test_destroy(core);
}

static void *wait_for_all(void *pool)
{
  return (void *)(intptr_t)tpool_wait(pool);
}

TEST_CASE(counts_working_threads)
{
  TEST_GATE(gate);
  tpool *pool = tpool_create(3, 10);
  test_threads_t threads = {0};
  for (int i = 0; i <= 4; i++) {
    CU_ASSERT_FATAL(i == 0 || test_gate_await(&gate, 1));
    CU_ASSERT_EQUAL(tpool_count_working_threads(pool), i);
    if (i < 4)
      CU_ASSERT_EQUAL(tpool_add(pool, test_gate_task, &gate), 0);
    if (i == 3)
      test_spawn(&threads, wait_for_all, pool); // the thread that waits runs the fourth
  }
  test_gate_let(&gate, 4);
  test_join(&threads);
  CU_ASSERT_EQUAL(tpool_wait(pool), 0);
  CU_ASSERT_EQUAL(tpool_count_working_threads(pool), 0);
  tpool_destroy(pool);
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
  for (uintptr_t i = 0; i < JOBS; i++)
    if (tpool_try_add(order.pool, expect_turn, (void *)i) != 0)
      ws_add_relaxed(&order.wrong, 1);
}

/// Of a thread outside, and of a job. One thread runs them: this one only waits for the last.
TEST_CASE(jobs_of_one_thread_begin_in_order)
{
  for (uint32_t inside = 0; inside <= 1; inside++) {
    memset(&order, 0, sizeof order);
    sem_init(&order.over, 0, 0);
    TEST_GATE(gate);
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
    sem_destroy(&order.over);
  }
}

/// A job that uses its own pool; also one that waits for another pool, a job of which then runs inside it, on
/// the same thread, and does that.
static struct {
  tpool *outer, *inner;
  test_gate_t gate; ///< in which the inner pool's worker stands
  sem_t over;
  ws_au64_t ran;
  int waited, filled, added, working, nested, after;
  int64_t shut;
} deep;

static void count_deep(void *unused)
{
  deep.working = tpool_count_working_threads(deep.outer);
  deep.nested = tpool_wait(deep.outer);
}

/// It fills the buffer and adds one more, which then runs inside it. The thread counts once.
static void use_outer(void *unused)
{
  deep.waited = tpool_wait(deep.outer);
  deep.shut = tpool_shutdown_now(deep.outer, NULL, NULL);
  deep.filled = tpool_try_add(deep.outer, test_count_task, &deep.ran);
  deep.added = tpool_add(deep.outer, count_deep, NULL);
  deep.after = tpool_count_working_threads(deep.outer);
  test_gate_let(&deep.gate, 1);
  sem_post(&deep.over);
}

static void wait_for_inner(void *unused)
{
  tpool_try_add(deep.inner, use_outer, NULL);
  tpool_wait(deep.inner);
  sem_post(&deep.over);
}

TEST_CASE(jobs_use_their_own_pool)
{
  for (uint32_t nests = 0; nests <= 1; nests++) {
    memset(&deep, 0, sizeof deep);
    sem_init(&deep.over, 0, 0);
    test_gate_init(&deep.gate);
    deep.outer = tpool_create(1, 1);
    deep.inner = tpool_create(1, 1);
    CU_ASSERT_EQUAL(tpool_add(deep.inner, test_gate_task, &deep.gate), 0);
    CU_ASSERT_FATAL(test_gate_await(&deep.gate, 1));
    CU_ASSERT_EQUAL(tpool_add(deep.outer, nests ? wait_for_inner : use_outer, NULL), 0);
    for (uint32_t i = 0; i <= nests; i++)
      CU_ASSERT_FATAL(test_sem_wait(&deep.over)); // tpool_wait() might run the job
    CU_ASSERT(deep.waited == -EDEADLK && deep.shut == -EDEADLK && deep.nested == -EDEADLK);
    CU_ASSERT_FALSE(tpool_is_stopping(deep.outer));
    CU_ASSERT(deep.filled == 0 && deep.added == 0);
    CU_ASSERT(deep.working == 1 && deep.after == 1);
    tpool_destroy(deep.outer);
    tpool_destroy(deep.inner);
    CU_ASSERT_EQUAL(test_value(&deep.ran), 1);
    test_gate_destroy(&deep.gate);
    sem_destroy(&deep.over);
  }
}

/// A thread adds to one pool and then runs jobs of another: each pool keeps its places.
TEST_CASE(a_helper_of_two_pools)
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
    CU_ASSERT_EQUAL(tpool_try_add(pool[1], test_gate_let_one, &gate[1]), 0);
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

static ws_au64_t shared_pushes;

TEST_WRAP(bool, ws_shared_begin, (ws_tasks_t * tasks, ws_kind_t kind, bool grow))
{
  ws_stat_add(&shared_pushes, 1);
  return __real_ws_shared_begin(tasks, kind, grow);
}

static void add_ten(void *pool)
{
  for (uint32_t i = 0; i < 10; i++)
    tpool_add(pool, test_empty_task, NULL);
}

static void add_own(void *pool_arg)
{
  static uint32_t calls;
  if (calls++ == 0)
    tpool_add(pool_arg, add_own, pool_arg);
}

/// A job that adds itself goes behind the others, by a queue that all threads share. One that adds other jobs
/// does not.
TEST_CASE(jobs_that_a_job_adds_are_its_threads)
{
  tpool *pool = tpool_create(1, 50);
  CU_ASSERT_EQUAL(tpool_add(pool, add_ten, pool), 0);
  CU_ASSERT_EQUAL(tpool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&shared_pushes), 0);
  CU_ASSERT_EQUAL(tpool_add(pool, add_own, pool), 0);
  CU_ASSERT_EQUAL(tpool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&shared_pushes), 1);
  tpool_destroy(pool);
}

TEST_MAIN("tpool")
