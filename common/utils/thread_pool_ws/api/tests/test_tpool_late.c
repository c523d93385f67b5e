// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_late.c
/// The interface tpool: adds that are under way while the pool ends. Linked with --wrap of ws_count_pushed
/// and ws_run_late: a thread can stand in its push, between the look at the pool's state and the publication
/// of the task, and again before it runs or drops a task that no worker will take.
#include "tpool_test.h"

/// A thread that adds one job and stands twice in its push.
typedef struct {
  test_adder_t adder;
  sem_t before, publish, after, settle;
  uint32_t stage;
} slow_t;

static _Thread_local slow_t *slow;
static sem_t stopped; ///< posted when a ws_pool_stop() has returned
static ws_au32_t lates; ///< threads that have stood until the deadline

static void stand(sem_t *begun, sem_t *go_on)
{
  slow->stage++;
  sem_post(begun);
  if (!test_sem_wait(go_on))
    ws_add_relaxed(&lates, 1);
}

TEST_WRAP(void, ws_count_pushed, (struct ws_pool_s * pool, ws_queue_t *queue, uint64_t tasks))
{
  if (slow && slow->stage == 0)
    stand(&slow->before, &slow->publish);
  __real_ws_count_pushed(pool, queue, tasks);
}

TEST_WRAP(void, ws_run_late, (struct ws_pool_s * pool, ws_here_t here, const ws_task_t *task))
{
  if (slow && slow->stage == 1)
    stand(&slow->after, &slow->settle);
  __real_ws_run_late(pool, here, task);
}

TEST_WRAP(int64_t, ws_pool_stop, (ws_pool_t * pool, ws_stop_t how))
{
  const int64_t skipped = __real_ws_pool_stop(pool, how);
  sem_post(&stopped);
  return skipped;
}

static void *add_slowly(void *slow_arg)
{
  slow = slow_arg;
  return test_add_one(&slow->adder);
}

static void spawn_slow(test_threads_t *threads, slow_t *of, test_adder_t adder)
{
  *of = (slow_t){.adder = adder};
  sem_init(&of->before, 0, 0);
  sem_init(&of->publish, 0, 0);
  sem_init(&of->after, 0, 0);
  sem_init(&of->settle, 0, 0);
  test_spawn(threads, add_slowly, of);
}

/// A thread that ends a pool, and what it knows when its call has returned.
typedef struct {
  tpool *pool, *other;
  ws_au64_t calls;
  uint64_t known;
  int64_t result;
} ending_t;

static void drop(void *ending_arg, void (*func)(void *), void *arg)
{
  ending_t *ending = ending_arg;
  ws_add_relaxed(&ending->calls, 1);
  tpool_wait(ending->other);
}

static void *shut_down_now(void *ending_arg)
{
  ending_t *ending = ending_arg;
  ending->result = tpool_shutdown_now(ending->pool, drop, ending);
  ending->known = test_value(&ending->calls);
  return NULL;
}

/// The push publishes its job when the core has stopped already: the job is added, so it is dropped, counted
/// and reported before the shutdown returns. @p other: dropped waits for it
static void shut_down_during_an_add(tpool *other)
{
  ws_au64_t ran = {0};
  ending_t ending = {.pool = tpool_create(1, 3), .other = other};
  slow_t adder;
  test_threads_t adders = {0}, enders = {0};
  TEST_GATE(gate);
  sem_init(&stopped, 0, 0);
  CU_ASSERT_EQUAL(tpool_add(ending.pool, test_gate_task, &gate), 0);
  CU_ASSERT_FATAL(test_gate_await(&gate, 1)); // no worker waits for a task, so none is handed one
  spawn_slow(&adders, &adder, (test_adder_t){.pool = ending.pool, .func = test_count_task, .arg = &ran});
  CU_ASSERT_FATAL(test_sem_wait(&adder.before));
  test_gate_let(&gate, 1);
  test_spawn(&enders, shut_down_now, &ending);
  CU_ASSERT_FATAL(test_sem_wait(&stopped));
  sem_post(&adder.settle);
  sem_post(&adder.publish);
  test_join(&adders);
  test_join(&enders);
  CU_ASSERT_EQUAL(adder.adder.result, 0);
  CU_ASSERT_EQUAL(test_value(&ran), 0);
  CU_ASSERT_EQUAL(ending.result, 1);
  CU_ASSERT_EQUAL(ending.known, 1);
  tpool_destroy(ending.pool);
}

/// The thread that drops a job does so in its push. It may run a job of another pool, whose worker stands:
/// both pools keep their places.
TEST_CASE(shutdown_knows_adds_under_way)
{
  shut_down_during_an_add(NULL);
  TEST_GATE(gate);
  tpool *other = tpool_create(1, 1);
  for (uint32_t round = 0; round < 3; round++) { // a lost place would show
    CU_ASSERT_EQUAL(tpool_add(other, test_gate_task, &gate), 0);
    CU_ASSERT_FATAL(test_gate_await(&gate, 1));
    CU_ASSERT_EQUAL_FATAL(tpool_try_add(other, test_gate_let_one, &gate), 0);
    shut_down_during_an_add(other);
    CU_ASSERT_EQUAL(tpool_wait(other), 0);
  }
  tpool_destroy(other);
  CU_ASSERT_EQUAL(ws_load_relaxed(&lates), 0); // all stood until they were let go
}

TEST_MAIN("tpool_late")
