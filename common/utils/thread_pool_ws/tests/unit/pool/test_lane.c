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
  for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_FAIL; full++) {
    ws_au64_t count = {0};
    test_gate_t gate;
    test_gate_init(&gate);
    ws_settings_t settings = test_settings(1);
    settings.lanes = 1;
    settings.queue_capacity = 4;
    settings.full = (ws_full_t)full;
    laneless_t laneless = {.pool = test_create(&settings), .count = &count};
    test_push(laneless.pool, test_gate_task, &gate, NULL); // main has the only lane
    CU_ASSERT_TRUE(test_gate_await(&gate, 1));
    test_threads_t threads = {0};
    test_spawn(&threads, fill_shared, &laneless);
    test_join(&threads);
    CU_ASSERT_EQUAL(laneless.taken, full == WS_FULL_FAIL ? 4 : 100);
    CU_ASSERT_EQUAL(laneless.first_refusal, full == WS_FULL_FAIL ? -EAGAIN : 0);
    const ws_stats_t stats = test_stats(laneless.pool);
    CU_ASSERT_EQUAL(stats.lanes_used, 1);
    CU_ASSERT_EQUAL(stats.queued_tasks, full == WS_FULL_GROW ? 100 : 4);
    CU_ASSERT_EQUAL(stats.outside.inline_tasks, full == WS_FULL_INLINE ? 96 : 0);
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

static void thousands_of_short_threads(void)
{
  enum { ROUNDS = TEST_SANITIZED ? 150 : 600, AT_ONCE = 4 };
  ws_au64_t count = {0};
  ws_settings_t settings = test_settings(2);
  settings.lanes = 3;
  pusher_t pusher = {.pool = test_create(&settings), .count = &count, .tasks = 5};
  for (uint32_t round = 0; round < ROUNDS; round++) {
    test_threads_t threads = {0};
    for (uint32_t i = 0; i < AT_ONCE; i++)
      test_spawn(&threads, push_and_end, &pusher);
    test_join(&threads);
  }
  CU_ASSERT_EQUAL(ws_pool_wait(pusher.pool), 0);
  CU_ASSERT_EQUAL(test_value(&count), ROUNDS * AT_ONCE * 5);
  test_destroy(pusher.pool);
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

typedef struct {
  ws_pool_t *other;
  ws_au64_t *count;
} crossing_t;

static void push_to_other_pool_and_join(void *crossing_arg)
{
  const crossing_t *crossing = crossing_arg;
  ws_group_t group;
  ws_group_init(&group, 8);
  for (uint32_t i = 0; i < 8; i++)
    test_push(crossing->other, test_count_task, crossing->count, &group);
  ws_group_wait(&group, crossing->other);
}

static void worker_of_one_pool_pushes_to_another_and_joins(void)
{
  for (uint32_t workers = 1; workers <= 2; workers++) {
    ws_au64_t count = {0};
    ws_pool_t *a = test_pool(workers);
    crossing_t crossing = {.other = test_pool(1), .count = &count};
    ws_group_t group;
    ws_group_init(&group, 100);
    for (uint32_t i = 0; i < 100; i++)
      test_push(a, push_to_other_pool_and_join, &crossing, &group);
    ws_group_wait(&group, a);
    CU_ASSERT_EQUAL(test_value(&count), 800);
    test_destroy(a);
    test_destroy(crossing.other);
  }
}

/// A thread without a lane is inside a task that it runs inline; meanwhile a lane becomes free.
typedef struct {
  ws_pool_t *pool;
  ws_au64_t begun, may_go_on, pushed;
  int wait_result, push_result;
  test_threads_t other;
} inside_t;

static bool is_draining(void *inside_arg)
{
  return ws_load_relaxed(&((inside_t *)inside_arg)->pool->state) == WS_DRAINING;
}

static bool has_begun(void *inside_arg)
{
  return test_value(&((inside_t *)inside_arg)->begun) > 0;
}

static void push_inside(void *inside_arg)
{
  inside_t *inside = inside_arg;
  inside->wait_result = ws_pool_wait(inside->pool);
  ws_add_relaxed(&inside->begun, 1);
  while (test_value(&inside->may_go_on) == 0)
    test_sleep_ms(1);
  if (!test_until(is_draining, inside))
    return;
  const ws_task_t task = {.func = test_count_task, .arg = &inside->pushed};
  inside->push_result = ws_pool_push(inside->pool, task);
}

static void *push_laneless(void *inside_arg)
{
  test_push(((inside_t *)inside_arg)->pool, push_inside, inside_arg, NULL);
  return NULL;
}

/// Owns the only lane until the other thread is inside its task.
static void *own_lane(void *inside_arg)
{
  inside_t *inside = inside_arg;
  test_push(inside->pool, test_empty_task, NULL, NULL);
  test_spawn(&inside->other, push_laneless, inside);
  CU_ASSERT(test_until(has_begun, inside));
  return NULL;
}

static void *stop_pool(void *inside_arg)
{
  ws_pool_stop(((inside_t *)inside_arg)->pool, WS_STOP_DRAIN);
  return NULL;
}

static void lane_found_in_the_middle_of_a_task(void)
{
  ws_settings_t settings = test_settings(0);
  settings.lanes = 1;
  inside_t inside = {.pool = test_create(&settings), .push_result = -1};
  test_threads_t owner = {0}, stopper = {0};
  test_spawn(&owner, own_lane, &inside);
  test_join(&owner);
  test_spawn(&stopper, stop_pool, &inside);
  ws_add_relaxed(&inside.may_go_on, 1);
  test_join(&stopper);
  test_join(&inside.other);
  CU_ASSERT_EQUAL(inside.wait_result, -EDEADLK);
  CU_ASSERT_EQUAL(inside.push_result, 0);
  CU_ASSERT_EQUAL(test_value(&inside.pushed), 1);
  ws_pool_destroy(inside.pool);
}

TEST_MAIN("lane", TEST_CASE(one_thread_alternates_between_20_pools),
          TEST_CASE(lane_is_reused_after_its_thread_ended),
          TEST_CASE(more_threads_than_lanes_under_each_policy),
          TEST_CASE(overflow_queue_full_under_each_policy), TEST_CASE(thousands_of_short_threads),
          TEST_CASE(stale_entries_of_destroyed_pools), TEST_CASE(push_from_a_thread_that_ends),
          TEST_CASE(worker_of_one_pool_pushes_to_another_and_joins),
          TEST_CASE(lane_found_in_the_middle_of_a_task))
