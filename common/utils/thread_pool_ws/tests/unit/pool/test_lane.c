// SPDX-License-Identifier: BSD-3-Clause
/// @file test_lane.c
/// Threads that are not workers: which queue is theirs, in how many pools, and what becomes of it when they
/// end.
#include "../../../pool/ws_lane.h"

#include <errno.h>

#include "../../support/ws_test.h"

enum { POOLS = 20, THREADS = 12 };

/// More pools than the thread remembers: each push must go to the pool it names, each pool gives one lane.
static void one_thread_alternates_between_20_pools(void)
{
  ws_pool_t *pool[POOLS];
  ws_au64_t count[POOLS] = {{0}};
  ws_group_t group[POOLS];
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 64;
  for (uint32_t i = 0; i < POOLS; i++) {
    pool[i] = test_create(&settings);
    ws_group_init(&group[i], 100);
  }
  for (uint32_t round = 0; round < 100; round++)
    for (uint32_t i = 0; i < POOLS; i++)
      test_push(pool[i], test_count_task, &count[i], &group[i]);
  for (uint32_t i = 0; i < POOLS; i++) {
    ws_group_wait(&group[i], pool[i]);
    CU_ASSERT_EQUAL(test_value(&count[i]), 100);
    CU_ASSERT_EQUAL(test_stats(pool[i]).lanes_used, 1);
    test_destroy(pool[i]);
  }
}

typedef struct {
  ws_pool_t *pool;
  ws_au64_t *count;
  uint32_t tasks;
  ws_queue_t *lane; ///< out
  pthread_barrier_t *together; ///< NULL = none
} pusher_t;

static void *push_some(void *pusher_arg)
{
  pusher_t *pusher = pusher_arg;
  ws_group_t group;
  ws_group_init(&group, pusher->tasks);
  if (pusher->together)
    pthread_barrier_wait(pusher->together);
  for (uint32_t i = 0; i < pusher->tasks; i++)
    test_push(pusher->pool, test_count_task, pusher->count, &group);
  pusher->lane = ws_here(pusher->pool).queue;
  ws_group_wait(&group, pusher->pool);
  if (pusher->together)
    pthread_barrier_wait(pusher->together); // no thread ends, and frees its lane, before all have pushed
  return NULL;
}

static void lane_is_reused_after_its_thread_ended(void)
{
  ws_au64_t count = {0};
  ws_settings_t settings = test_settings(1);
  settings.lanes = 1;
  pusher_t pusher = {.pool = test_create(&settings), .count = &count, .tasks = 10};
  for (uint32_t i = 0; i < 200; i++) {
    test_threads_t threads = {0};
    pusher.lane = NULL;
    test_spawn(&threads, push_some, &pusher);
    test_join(&threads);
    CU_ASSERT_PTR_NOT_NULL(pusher.lane);
  }
  CU_ASSERT_EQUAL(test_value(&count), 2000);
  CU_ASSERT_EQUAL(test_stats(pusher.pool).lanes_used, 1);
  test_destroy(pusher.pool);
}

/// Twelve threads, two lanes, an overflow queue of 4: every policy runs every task that it took.
static void more_threads_than_lanes_under_each_policy(void)
{
  for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_INLINE; full++) {
    ws_au64_t count = {0};
    ws_settings_t settings = test_settings(2);
    settings.lanes = 2;
    settings.queue_capacity = 4;
    settings.full = (ws_full_t)full;
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, THREADS);
    pusher_t pusher[THREADS];
    test_threads_t threads = {0};
    ws_pool_t *pool = test_create(&settings);
    for (uint32_t i = 0; i < THREADS; i++) {
      pusher[i] = (pusher_t){.pool = pool, .count = &count, .tasks = 500, .together = &together};
      test_spawn(&threads, push_some, &pusher[i]);
    }
    test_join(&threads);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_EQUAL(test_value(&count), 500 * THREADS);
    const uint32_t lanes = test_stats(pool).lanes_used;
    CU_ASSERT_TRUE(full == WS_FULL_GROW ? lanes >= 2 && lanes <= THREADS : lanes == 2);
    CU_ASSERT_EQUAL(TEST_SUM(pool, run_tasks) + TEST_SUM(pool, inline_tasks), 500 * THREADS);
    test_destroy(pool);
    pthread_barrier_destroy(&together);
  }
}

typedef struct {
  ws_pool_t *pool;
  ws_au64_t *count;
  uint32_t taken;
  int first_refusal;
} laneless_t;

static void *fill_shared(void *laneless_arg)
{
  laneless_t *laneless = laneless_arg;
  for (uint32_t i = 0; i < 100; i++) {
    const int result =
        ws_pool_push(laneless->pool, (ws_task_t){.func = test_count_task, .arg = laneless->count});
    laneless->taken += result == 0;
    if (result < 0 && laneless->first_refusal == 0)
      laneless->first_refusal = result;
  }
  return NULL;
}

/// The only worker is held: a thread without a lane fills the overflow queue, and each policy answers as it
/// says.
static void overflow_queue_full_under_each_policy(void)
{
  static const struct {
    ws_full_t full;
    int refusal;
    uint32_t taken, queued, inline_tasks;
  } rows[] = {
      {WS_FULL_GROW, 0, 100, 100, 0}, {WS_FULL_INLINE, 0, 100, 4, 96}, {WS_FULL_FAIL, -EAGAIN, 4, 4, 0}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    ws_au64_t count = {0};
    test_gate_t gate;
    test_gate_init(&gate);
    ws_settings_t settings = test_settings(1);
    settings.lanes = 1;
    settings.queue_capacity = 4;
    settings.full = rows[i].full;
    laneless_t laneless = {.pool = test_create(&settings), .count = &count};
    test_push(laneless.pool, test_gate_task, &gate, NULL); // main has the only lane
    CU_ASSERT_TRUE(test_gate_await(&gate, 1));
    test_threads_t threads = {0};
    test_spawn(&threads, fill_shared, &laneless);
    test_join(&threads);
    const ws_stats_t stats = test_stats(laneless.pool);
    CU_ASSERT_EQUAL(laneless.taken, rows[i].taken);
    CU_ASSERT_EQUAL(laneless.first_refusal, rows[i].refusal);
    CU_ASSERT_EQUAL(stats.lanes_used, 1);
    CU_ASSERT_EQUAL(stats.queued_tasks, rows[i].queued);
    CU_ASSERT_EQUAL(stats.outside.inline_tasks, rows[i].inline_tasks);
    test_gate_let(&gate, 1);
    CU_ASSERT_EQUAL(ws_pool_wait(laneless.pool), 0);
    CU_ASSERT_EQUAL(test_value(&count), laneless.taken);
    test_destroy(laneless.pool);
    test_gate_destroy(&gate);
  }
}

static void *push_and_end(void *pusher_arg)
{
  pusher_t *pusher = pusher_arg;
  for (uint32_t i = 0; i < pusher->tasks; i++)
    test_push(pusher->pool, test_count_task, pusher->count, NULL);
  return NULL; // its tasks stay in its lane
}

/// A thread keeps what it remembers of pools that are gone; new pools may lie at the same addresses.
static void stale_entries_of_destroyed_pools(void)
{
  ws_au64_t count = {0};
  for (uint32_t round = 0; round < 100; round++) {
    ws_pool_t *pool = test_pool(1);
    ws_group_t group;
    ws_group_init(&group, 3);
    for (uint32_t i = 0; i < 3; i++)
      test_push(pool, test_count_task, &count, &group);
    ws_group_wait(&group, pool);
    CU_ASSERT_EQUAL_FATAL(test_value(&count), 3 * (round + 1));
    test_destroy(pool);
  }
}

static pthread_key_t late_key;

static void push_late(void *pusher_arg)
{
  push_and_end(pusher_arg);
}

static void *set_late_push(void *pusher_arg)
{
  pthread_setspecific(late_key, pusher_arg);
  return push_and_end(pusher_arg);
}

/// A destructor of the thread's own data pushes after the thread has left its lane.
static void push_from_a_thread_that_ends(void)
{
  ws_au64_t count = {0};
  ws_settings_t settings = test_settings(1);
  settings.lanes = 1;
  pusher_t pusher = {.pool = test_create(&settings), .count = &count, .tasks = 2};
  pthread_key_create(&late_key, push_late);
  for (uint32_t i = 0; i < 20; i++) {
    test_threads_t threads = {0};
    test_spawn(&threads, set_late_push, &pusher);
    test_join(&threads);
  }
  CU_ASSERT_EQUAL(ws_pool_wait(pusher.pool), 0);
  CU_ASSERT_EQUAL(test_value(&count), 80);
  CU_ASSERT_EQUAL(test_stats(pusher.pool).lanes_used, 1);
  pthread_key_delete(late_key);
  test_destroy(pusher.pool);
}

TEST_MAIN("lane", TEST_CASE(one_thread_alternates_between_20_pools),
          TEST_CASE(lane_is_reused_after_its_thread_ended),
          TEST_CASE(more_threads_than_lanes_under_each_policy),
          TEST_CASE(overflow_queue_full_under_each_policy), TEST_CASE(stale_entries_of_destroyed_pools),
          TEST_CASE(push_from_a_thread_that_ends))
