// SPDX-License-Identifier: BSD-3-Clause
/// @file test_pause.c
/// Pause, resume and purge. What must not run in a pause is counted after a task that ran in the pause, or
/// after all workers have parked.
#include <errno.h>

#include "../../../include/ws_key.h"
#include "../../support/ws_test.h"

#define TASKS 40u
#define WORKERS 3u

static ws_pool_t *pool;
static ws_au64_t runs;
static ws_au32_t skips;

static void begin(uint32_t workers)
{
  pool = test_pool(workers);
  ws_store_relaxed(&runs, 0);
  ws_store_relaxed(&skips, 0);
}

static bool have_parked(void *unused)
{
  (void)unused;
  return test_stats(pool).workers_awake == 0;
}

static void push_all(uint32_t count, ws_group_t *group)
{
  for (uint32_t i = 0; i < count; i++)
    test_push(pool, test_count_task, &runs, group);
}

static void *wait_for_pool(void *unused)
{
  ws_pool_wait(pool);
  return unused;
}

/// A worker that was looking for a task as the pause began may have run one.
static void pause_all(void)
{
  CU_ASSERT_EQUAL(ws_pool_pause(pool), 0);
  CU_ASSERT_TRUE(test_until(have_parked, NULL));
}

/// The workers park though tasks are queued, and neither pushes nor waits for the pool run one.
static void nothing_begins_in_a_pause(void)
{
  begin(WORKERS);
  pause_all();
  CU_ASSERT_EQUAL(ws_pool_pause(pool), 0);
  CU_ASSERT_TRUE(ws_pool_is_paused(pool));
  push_all(TASKS, NULL);
  test_threads_t threads = {.count = 0};
  test_spawn(&threads, wait_for_pool, NULL);
  CU_ASSERT_TRUE(test_until(have_parked, NULL));
  CU_ASSERT_EQUAL(ws_pool_wait_until(pool, test_now_ns() + 1000000), -ETIMEDOUT);
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, TASKS);
  CU_ASSERT_EQUAL(ws_pool_resume(pool), 0);
  CU_ASSERT_EQUAL(ws_pool_resume(pool), 0);
  CU_ASSERT_FALSE(ws_pool_is_paused(pool));
  test_join(&threads);
  CU_ASSERT_EQUAL(test_value(&runs), TASKS);
  test_destroy(pool);
}

/// The tasks of a pause run though no push comes after the resume: on workers, for nothing waits.
static bool have_run(void *count)
{
  return test_value(&runs) == *(const uint64_t *)count;
}

static void resume_wakes_workers(void)
{
  begin(WORKERS);
  for (uint64_t round = 1; round <= 50; round++) {
    uint64_t all = round * TASKS;
    ws_pool_pause(pool);
    if (round % 2 == 0)
      CU_ASSERT_TRUE(test_until(have_parked, NULL));
    push_all(TASKS, NULL);
    ws_pool_resume(pool);
    CU_ASSERT_TRUE_FATAL(test_until(have_run, &all));
  }
  test_destroy(pool);
}

/// A task that has begun runs to its end, and its join runs what it has pushed.
static void push_and_join(void *gate)
{
  ws_group_t group;
  test_gate_task(gate);
  ws_group_init(&group, TASKS);
  push_all(TASKS, &group);
  ws_group_wait(&group, pool);
}

static void joins_end_in_a_pause(void)
{
  begin(1);
  test_gate_t gate;
  test_gate_init(&gate);
  ws_group_t group;
  ws_group_init(&group, 1);
  test_push(pool, push_and_join, &gate, &group);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&gate, 1));
  push_all(1, NULL); // unrelated
  ws_pool_pause(pool);
  test_gate_let(&gate, 1);
  ws_group_wait(&group, NULL);
  CU_ASSERT_EQUAL(test_value(&runs), TASKS);
  CU_ASSERT_TRUE(test_until(have_parked, NULL));
  ws_group_init(&group, TASKS);
  push_all(TASKS, &group);
  ws_group_wait(&group, pool); // of this thread
  CU_ASSERT_EQUAL(test_value(&runs), 2 * TASKS);
  ws_pool_resume(pool);
  ws_pool_wait(pool);
  CU_ASSERT_EQUAL(test_value(&runs), 2 * TASKS + 1);
  test_gate_destroy(&gate);
  test_destroy(pool);
}

/// Tasks with priorities lie elsewhere.
static void priorities_pause_too(void)
{
  begin(2);
  pause_all();
  for (uint32_t i = 0; i < TASKS; i++)
    ws_pool_push(pool, (ws_task_t){.func = test_count_task, .arg = &runs, .priority = i % 3});
  CU_ASSERT_TRUE(test_until(have_parked, NULL));
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  ws_pool_resume(pool);
  ws_pool_wait(pool);
  CU_ASSERT_EQUAL(test_value(&runs), TASKS);
  test_destroy(pool);
}

static void stops_end_a_pause(void)
{
  begin(2);
  pause_all();
  push_all(TASKS, NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_EQUAL(test_value(&runs), TASKS);
  CU_ASSERT_FALSE(ws_pool_is_paused(pool));
  CU_ASSERT_EQUAL(ws_pool_pause(pool), -ECANCELED);
  CU_ASSERT_EQUAL(ws_pool_resume(pool), -ECANCELED);
  test_destroy(pool);
  begin(2);
  pause_all();
  push_all(TASKS, NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_ABORT), TASKS);
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  test_destroy(pool);
}

static void count_skip(void *unused, const ws_task_t *task)
{
  (void)unused;
  ws_add_relaxed(&skips, task->arg == &runs);
}

static void count_cancel(void *unused)
{
  (void)unused;
  ws_add_relaxed(&skips, 1);
}

/// All kinds of tasks are skipped, their groups are completed, and the pool goes on.
static void purges_skip_what_is_queued(void)
{
  ws_settings_t settings = test_settings(2);
  settings.skipped = count_skip;
  pool = test_create(&settings);
  ws_store_relaxed(&runs, 0);
  ws_store_relaxed(&skips, 0);
  ws_key_t key;
  ws_key_init(&key);
  ws_group_t group;
  ws_group_init(&group, TASKS + 3);
  pause_all();
  push_all(TASKS, &group);
  ws_keyed_t keyed[3];
  for (uint32_t i = 0; i < 3; i++) {
    keyed[i] = (ws_keyed_t){
        .key = &key, .func = test_empty_task, .on_cancel = count_cancel, .group = &group, .priority = i};
    CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &keyed[i]), 0);
  }
  CU_ASSERT_EQUAL(ws_pool_purge(pool), TASKS + 3);
  CU_ASSERT_EQUAL(ws_pool_purge(pool), 0);
  ws_group_wait(&group, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&skips), TASKS + 3);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0); // it is idle, though paused
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  CU_ASSERT_EQUAL(test_stats(pool).skipped_tasks, TASKS + 3);
  ws_pool_resume(pool);
  push_all(TASKS, NULL);
  ws_pool_wait(pool);
  CU_ASSERT_EQUAL(test_value(&runs), TASKS);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0); // those of the purge do not count
  test_destroy(pool);
}

static void purge_task(void *result)
{
  *(int64_t *)result = ws_pool_purge(pool);
}

/// In a task, on the one worker, and by a thread while workers take and others push.
static void purges_in_a_task(void)
{
  begin(1);
  int64_t purged = -1;
  ws_group_t group, own;
  ws_group_init(&group, TASKS);
  ws_group_init(&own, 1);
  ws_pool_pause(pool);
  test_push(pool, purge_task, &purged, &own);
  push_all(TASKS, &group);
  ws_pool_resume(pool);
  ws_group_wait(&own, NULL);
  ws_group_wait(&group, NULL);
  CU_ASSERT_EQUAL((uint64_t)purged + test_value(&runs), TASKS);
  test_destroy(pool);
}

static ws_au32_t over;

static void *purge_again_and_again(void *purged)
{
  while (!ws_load_relaxed(&over))
    ws_add_relaxed((ws_au64_t *)purged, (uint64_t)ws_pool_purge(pool));
  return NULL;
}

static void purges_race_with_pushes(void)
{
  begin(WORKERS);
  ws_au64_t purged;
  ws_init_store(&purged, 0);
  ws_store_relaxed(&over, 0);
  test_threads_t threads = {.count = 0};
  for (uint32_t i = 0; i < 2; i++)
    test_spawn(&threads, purge_again_and_again, &purged);
  for (uint32_t round = 1; round <= 300; round++) {
    ws_group_t group;
    ws_group_init(&group, TASKS);
    push_all(TASKS, &group);
    ws_group_wait(&group, round % 2 == 0 ? pool : NULL);
  }
  ws_store_relaxed(&over, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&purged) + test_value(&runs), 300 * TASKS);
  test_destroy(pool);
}

static void misuse_is_reported(void)
{
  CU_ASSERT_EQUAL(ws_pool_pause(NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_resume(NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_purge(NULL), -EINVAL);
  CU_ASSERT_FALSE(ws_pool_is_paused(NULL));
  begin(0);
  CU_ASSERT_EQUAL(ws_pool_pause(pool), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_purge(pool), 0);
  test_destroy(pool);
}

/// Pauses, resumes and pushes at the same moment: each task runs.
static void *pause_and_resume(void *unused)
{
  while (!ws_load_relaxed(&over)) {
    ws_pool_pause(pool);
    ws_pool_resume(pool);
  }
  return unused;
}

static void pauses_race_with_pushes(void)
{
  begin(WORKERS);
  ws_store_relaxed(&over, 0);
  test_threads_t threads = {.count = 0};
  for (uint32_t i = 0; i < 2; i++)
    test_spawn(&threads, pause_and_resume, NULL);
  for (uint64_t round = 1; round <= 100; round++) {
    uint64_t all = 2 * round;
    push_all(2, NULL);
    CU_ASSERT_TRUE_FATAL(test_until(have_run, &all));
  }
  ws_store_relaxed(&over, 1);
  test_join(&threads);
  test_destroy(pool);
}

TEST_MAIN("pause", TEST_CASE(nothing_begins_in_a_pause), TEST_CASE(resume_wakes_workers),
          TEST_CASE(joins_end_in_a_pause), TEST_CASE(priorities_pause_too), TEST_CASE(stops_end_a_pause),
          TEST_CASE(purges_skip_what_is_queued), TEST_CASE(purges_in_a_task),
          TEST_CASE(purges_race_with_pushes), TEST_CASE(misuse_is_reported),
          TEST_CASE(pauses_race_with_pushes))
