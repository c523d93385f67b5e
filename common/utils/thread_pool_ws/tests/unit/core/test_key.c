// SPDX-License-Identifier: BSD-3-Clause
/// @file test_key.c
/// Cancel by key: each task of a key runs or is skipped, exactly once; groups are completed in both cases.
#include <errno.h>
#include <stdlib.h>

#include "key_scene.h"

static void queued_tasks_are_skipped(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  ws_group_t group;
  ws_group_init(&group, TASKS);
  push(&key, TASKS, &group);
  tell_apart();
  ws_au64_t others = {0};
  for (uint32_t i = 0; i < 5; i++)
    test_push(pool, test_count_task, &others, NULL);
  ws_pool_cancel(pool, &key);
  CU_ASSERT_EQUAL(test_value(&cancels), 0);
  test_gate_let(&gate, 1);
  ws_group_wait(&group, NULL); // completed all the same
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS);
  CU_ASSERT_EQUAL(test_value(&others), 5);
  CU_ASSERT_EQUAL(test_stats(pool).cancelled_tasks, TASKS);
  CU_ASSERT_EQUAL(test_stats(pool).skipped_tasks, 0);
  push(&key, TASKS, NULL); // after the cancel
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs), TASKS);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), 0);
  end();
}

/// A joining thread skips its group's tasks itself.
static void a_join_skips_too(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  ws_group_t group;
  ws_group_init(&group, TASKS);
  push(&key, TASKS, &group);
  tell_apart();
  ws_pool_cancel(pool, &key);
  ws_group_wait(&group, pool);
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS);
  test_gate_let(&gate, 1);
  end();
}

static void keys_are_apart(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  ws_key_t other;
  ws_key_init(&other);
  push(&other, 3, NULL);
  ws_keyed_t more = {.key = &key, .func = test_count_task, .arg = &runs};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &more), 0);
  ws_pool_cancel(pool, &key);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs), 3); // more has no on_cancel
  CU_ASSERT_EQUAL(test_stats(pool).cancelled_tasks, 1);
  end();
}

typedef struct {
  int64_t result;
  ws_au32_t ended;
} waiter_t;

static void *cancel_and_wait(void *waiter_arg)
{
  waiter_t *waiter = waiter_arg;
  waiter->result = ws_pool_cancel_wait(pool, &key);
  ws_store_release(&waiter->ended, 1);
  return NULL;
}

static bool is_cancelled(void *epoch)
{
  return __atomic_load_n(&key.live, __ATOMIC_ACQUIRE) >> 32 >= *(const uint64_t *)epoch;
}

static void a_wait_returns_what_was_skipped(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  push(&key, TASKS, NULL);
  waiter_t waiters[2] = {{0}};
  test_threads_t threads = {0};
  test_spawn(&threads, cancel_and_wait, &waiters[0]);
  CU_ASSERT_TRUE(test_until(is_cancelled, &(uint64_t){1}));
  CU_ASSERT_EQUAL(ws_load_acquire(&waiters[0].ended), 0);
  ws_keyed_t later = {.key = &key, .func = test_count_task, .arg = &runs};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &later), 0);
  test_spawn(&threads, cancel_and_wait, &waiters[1]);
  CU_ASSERT_TRUE(test_until(is_cancelled, &(uint64_t){2}));
  test_gate_let(&gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(waiters[0].result, TASKS);
  CU_ASSERT_EQUAL(waiters[1].result, 1);
  end();
}

/// Its task is inside its function: no cancel reaches it.
static void what_has_started_goes_on(void)
{
  begin_inside_task();
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), 0); // does not wait for its end
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&cancels), 0);
  CU_ASSERT_EQUAL(test_stats(pool).cancelled_tasks, 0);
  end();
}

/// More cancels than a key has epochs.
static void cancels_without_end(void)
{
  begin(1, WS_FULL_GROW);
  for (uint64_t i = 0; i < 10 * WS_KEY_EPOCHS; i++) {
    hold();
    push(&key, (uint32_t)(i % TASKS), NULL);
    if (i % 3 == 0) { // its count stays in the key
      ws_pool_cancel(pool, &key);
      test_gate_let(&gate, 1);
      CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
      continue;
    }
    waiter_t waiter = {0};
    test_threads_t threads = {0};
    test_spawn(&threads, cancel_and_wait, &waiter);
    CU_ASSERT_TRUE(test_until(is_cancelled, &(uint64_t){i + 1}));
    test_gate_let(&gate, 1);
    test_join(&threads);
    CU_ASSERT_EQUAL(waiter.result, (int64_t)(i % TASKS));
  }
  end();
}

static void *abort_pool(void *skipped)
{
  *(int64_t *)skipped = ws_pool_stop(pool, WS_STOP_ABORT);
  return NULL;
}

static bool is_aborted(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->state) != WS_RUNNING; // all that an abort sets is set
}

static void an_abort_tells_of_each_task(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  push(&key, TASKS, NULL);
  tell_apart();
  int64_t skipped = 0;
  test_threads_t threads = {0};
  test_spawn(&threads, abort_pool, &skipped);
  CU_ASSERT_TRUE(test_until(is_aborted, NULL));
  test_gate_let(&gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(skipped, TASKS);
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), TASKS); // none is queued any more
  end();
}

static void a_drain_skips_what_was_cancelled(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  push(&key, TASKS, NULL);
  tell_apart();
  ws_pool_cancel(pool, &key);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS);
  ws_keyed_t late = {.key = &key, .func = test_count_task, .on_cancel = count_cancel, .arg = &runs};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &late), -ECANCELED);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), 0);
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS);
  end();
}

static ws_au64_t inside;

static void cancel_inside(void *unused)
{
  (void)unused;
  ws_store_release(&inside, (uint64_t)ws_pool_cancel_wait(pool, &key));
}

static void wrong_calls(void)
{
  begin(1, WS_FULL_FAIL);
  ws_keyed_t task = {.key = &key, .func = test_count_task, .on_cancel = count_cancel, .arg = &runs};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(NULL, &task), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &(ws_keyed_t){.func = test_count_task}), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &(ws_keyed_t){.key = &key}), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(NULL, &key), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, NULL), -EINVAL);
  ws_pool_cancel(NULL, &key);
  ws_pool_cancel(pool, NULL);
  task.priority = (ws_priority_t)7;
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &task), -EINVAL);
  task.priority = WS_PRIORITY_NORMAL;
  test_push(pool, cancel_inside, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL((int64_t)test_value(&inside), -EDEADLK);
  hold();
  while (ws_pool_try_push(pool, (ws_task_t){.func = test_empty_task}) == 0)
    ;
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &task), -EAGAIN);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), 0); // waits for no task
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_value(&runs) == 0 && test_value(&cancels) == 0);
  end();
}

typedef struct {
  ws_keyed_t task;
  ws_au64_t *counter[2]; ///< of runs, of cancels
} job_t;

static void run_job(void *job_arg)
{
  job_t *job = job_arg;
  test_count_task(job->counter[0]);
  free(job);
}

static void cancel_job(void *job_arg)
{
  job_t *job = job_arg;
  test_count_task(job->counter[1]);
  free(job);
}

enum { PUSHERS = 3, JOBS = 2000 };
static ws_au32_t pushers_ended;

static void *push_jobs(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < JOBS; i++) {
    job_t *job = malloc(sizeof(*job));
    if (!job)
      abort();
    *job = (job_t){.task = {.key = &key, .func = run_job, .on_cancel = cancel_job, .arg = job},
                   .counter = {&runs, &cancels}};
    job->task.priority = (ws_priority_t)(i % 3);
    if (ws_pool_push_keyed(pool, &job->task) != 0)
      ws_add_relaxed(&test_refused, 1);
  }
  ws_add_release(&pushers_ended, 1);
  return NULL;
}

/// Pushes, starts and cancels at once: every job is freed once, and the cancels return what they skipped.
static void all_at_once(void)
{
  begin(2, WS_FULL_GROW);
  ws_store_relaxed(&pushers_ended, 0);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < PUSHERS; i++)
    test_spawn(&threads, push_jobs, NULL);
  int64_t skipped = 0;
  while (ws_load_acquire(&pushers_ended) < PUSHERS)
    skipped += ws_pool_cancel_wait(pool, &key);
  test_join(&threads);
  skipped += ws_pool_cancel_wait(pool, &key);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs) + test_value(&cancels), PUSHERS * JOBS);
  CU_ASSERT_EQUAL((int64_t)test_value(&cancels), skipped);
  CU_ASSERT_EQUAL(test_stats(pool).cancelled_tasks, test_value(&cancels));
  end();
}

TEST_MAIN("key", TEST_CASE(queued_tasks_are_skipped), TEST_CASE(a_join_skips_too), TEST_CASE(keys_are_apart),
          TEST_CASE(a_wait_returns_what_was_skipped), TEST_CASE(what_has_started_goes_on),
          TEST_CASE(cancels_without_end), TEST_CASE(an_abort_tells_of_each_task),
          TEST_CASE(a_drain_skips_what_was_cancelled), TEST_CASE(wrong_calls), TEST_CASE(all_at_once))
