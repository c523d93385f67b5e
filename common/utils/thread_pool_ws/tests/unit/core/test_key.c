// SPDX-License-Identifier: BSD-3-Clause
/// @file test_key.c
/// Cancel by key, with pushes, starts and cancels of both kinds at once. One at a time: scenes/key.c.
#include <stdlib.h>

#include "../../../include/ws_key.h"
#include "../../support/ws_test.h"

enum { JOBS = 6000, PUSHERS = 3, CANCELLERS = 2, SOME = 20000 };

static ws_pool_t *pool;
static ws_key_t key, key_of_some;
static ws_keyed_t some[SOME]; ///< are cancelled one by one, too
static ws_au64_t runs, cancels, cancelled;
static ws_au32_t pushed, ended;

static void run_job(void *job)
{
  test_count_task(&runs);
  free(job);
}

static void cancel_job(void *job)
{
  test_count_task(&cancels);
  free(job);
}

static void begin(void)
{
  pool = test_pool(2);
  ws_key_init(&key);
  ws_key_init(&key_of_some);
  runs = cancels = cancelled = (ws_au64_t){0};
  pushed = ended = (ws_au32_t){0};
}

static void *push_jobs(void *unused)
{
  for (uint32_t i = 0; i < JOBS; i++) {
    ws_keyed_t *job = malloc(sizeof(*job));
    if (!job)
      abort();
    *job = (ws_keyed_t){.key = &key, .func = run_job, .on_cancel = cancel_job, .arg = job};
    job->priority = (ws_priority_t)(i % 3);
    if (ws_pool_push_keyed(pool, job) != 0)
      ws_add_relaxed(&test_refused, 1);
  }
  ws_add_release(&ended, 1);
  return unused;
}

/// Every job is freed once, and the cancels return what they have skipped.
static void jobs_that_free_themselves(void)
{
  begin();
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < PUSHERS; i++)
    test_spawn(&threads, push_jobs, NULL);
  int64_t skipped = 0;
  while (ws_load_acquire(&ended) < PUSHERS)
    skipped += ws_pool_cancel_wait(pool, &key);
  test_join(&threads);
  skipped += ws_pool_cancel_wait(pool, &key);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs) + test_value(&cancels), PUSHERS * JOBS);
  CU_ASSERT_EQUAL((int64_t)test_value(&cancels), skipped);
  CU_ASSERT_EQUAL(test_stats(pool).cancelled_tasks, test_value(&cancels));
  test_destroy(pool);
}

static void *cancel_all(void *unused)
{
  while (ws_load_acquire(&pushed) < SOME)
    ws_add_relaxed(&cancelled, (uint64_t)ws_pool_cancel(pool, &key_of_some));
  return unused;
}

static void *cancel_some(void *seed)
{
  uint64_t random = *(const uint64_t *)seed;
  for (uint32_t count; (count = ws_load_acquire(&pushed)) < SOME;)
    if (count > 0 && ws_pool_cancel_task(pool, &some[count - 1 - test_random(&random) % count / 8]) == 0)
      ws_add_relaxed(&cancelled, 1);
  return NULL;
}

/// Each task that was skipped was cancelled by one call.
static void each_task_is_cancelled_by_one_call(void)
{
  begin();
  test_threads_t threads = {0};
  uint64_t seeds[CANCELLERS];
  for (uint32_t i = 0; i < CANCELLERS; i++) {
    seeds[i] = test_seed() + i;
    test_spawn(&threads, cancel_all, NULL);
    test_spawn(&threads, cancel_some, &seeds[i]);
  }
  for (uint32_t i = 0; i < SOME; i++) {
    some[i] = (ws_keyed_t){.key = &key_of_some, .func = test_count_task, .arg = &runs};
    if (ws_pool_push_keyed(pool, &some[i]) != 0)
      ws_add_relaxed(&test_refused, 1);
    ws_add_release(&pushed, 1);
  }
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs) + test_value(&cancelled), SOME);
  CU_ASSERT_EQUAL(test_value(&cancelled), test_stats(pool).cancelled_tasks);
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key_of_some), 0);
  test_destroy(pool);
}

TEST_MAIN("key", TEST_CASE(jobs_that_free_themselves), TEST_CASE(each_task_is_cancelled_by_one_call))
