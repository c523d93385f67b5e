// SPDX-License-Identifier: BSD-3-Clause
/// @file test_stress_random.c
/// Random operations on random pools against a count of what was pushed: every settings' corner, many seeds.
/// Groups and tags in all orders: test_stress_joins.c.

#include "../../prewake/ws_prewake.h"
#include "../../sleep/ws_sleep_state.h"
#include "../support/ws_test.h"

#define ROUNDS 60u ///< on any machine; with WS_STRESS_SECONDS, so long
#define ACTS 20u ///< of each thread

typedef struct {
  ws_pool_t *pool;
  uint64_t random;
  ws_au64_t ran, taken;
  ws_au32_t wrong;
  uint32_t phases; ///< that it has left open
  ws_full_t full;
} actor_t;

typedef struct {
  actor_t *actor;
  ws_group_t *group;
  uint32_t depth, width;
} node_t;

/// @return false: the pool did not take the task, and its group has been told
static bool push_one(actor_t *actor, void (*func)(void *), void *arg, ws_group_t *group)
{
  const int result = ws_pool_push(actor->pool, (ws_task_t){.func = func, .arg = arg, .group = group});
  if (result == 0)
    ws_add_relaxed(&actor->taken, 1);
  else if (group)
    ws_group_complete(group, 1);
  if (result != 0 && !(result == -EAGAIN && actor->full == WS_FULL_FAIL))
    ws_add_relaxed(&actor->wrong, 1);
  return result == 0;
}

/// Pushes some and joins them, some levels deep. Refused tasks it runs itself.
static void fork_join(void *node_arg)
{
  const node_t *node = node_arg;
  ws_add_relaxed(&node->actor->ran, 1);
  if (node->depth == 0)
    return;
  ws_group_t group;
  node_t child = {node->actor, &group, node->depth - 1, node->width};
  ws_group_init(&group, node->width);
  for (uint32_t i = 0; i < node->width; i++) {
    if (push_one(node->actor, fork_join, &child, &group))
      continue;
    ws_add_relaxed(&node->actor->taken, 1);
    fork_join(&child);
  }
  ws_group_wait(&group, node->actor->pool);
}

static void act_fork_join(actor_t *actor, uint32_t count)
{
  ws_group_t group;
  node_t node = {actor, &group, count % 4, 3};
  ws_group_init(&group, 1);
  push_one(actor, fork_join, &node, &group);
  ws_group_wait(&group, actor->pool);
}

static void act_batch(actor_t *actor, uint32_t count)
{
  ws_task_t tasks[40];
  ws_group_t group;
  ws_group_init(&group, count);
  for (uint32_t i = 0; i < count; i++)
    tasks[i] = (ws_task_t){.func = test_count_task, .arg = &actor->ran, .group = &group};
  const int64_t taken = ws_pool_push_batch(actor->pool, tasks, count);
  if (taken < 0 || (taken < count && actor->full != WS_FULL_FAIL))
    ws_add_relaxed(&actor->wrong, 1);
  ws_add_relaxed(&actor->taken, (uint64_t)taken);
  if (taken < count)
    ws_group_complete(&group, count - (uint32_t)taken);
  ws_group_wait(&group, test_random(&actor->random) % 4 ? actor->pool : NULL);
}

/// A task that adds children to a group that others wait for, and leaves them behind.
static void leave_children(void *node_arg)
{
  const node_t *node = node_arg;
  ws_add_relaxed(&node->actor->ran, 1);
  ws_group_add(node->group, 3);
  for (uint32_t i = 0; i < 3; i++)
    push_one(node->actor, test_count_task, &node->actor->ran, node->group);
}

static void act_growing_group(actor_t *actor, uint32_t unused)
{
  ws_group_t group;
  node_t node = {actor, &group, 0, 0};
  ws_group_init(&group, 4);
  for (uint32_t i = 0; i < 4; i++)
    push_one(actor, leave_children, &node, &group);
  ws_group_wait(&group, actor->pool);
}

/// Pushes come about when the workers' timers end, and modes change meanwhile.
static void act_before_a_burst(actor_t *actor, uint32_t count)
{
  const uint64_t now_ns = test_now_ns(), random = test_random(&actor->random);
  if (random % 8 == 0)
    ws_pool_set_spin(actor->pool, (ws_spin_t)(random / 8 % (WS_SPIN_HOT + 1)), 50000);
  ws_pool_prewake_at(actor->pool, 4, now_ns + 100000);
  ws_pool_phase_begin(actor->pool, random % 3);
  while (test_now_ns() < now_ns + (random >> 32) % 120000)
    sched_yield();
  act_batch(actor, count);
  if (random % 5 > 0 || actor->phases++ > 0) // a phase may not end
    ws_pool_phase_end(actor->pool);
}

static void act_unrelated(actor_t *actor, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    push_one(actor, test_count_task, &actor->ran, NULL);
  if (count == 1 && ws_pool_wait(actor->pool) != 0)
    ws_add_relaxed(&actor->wrong, 1);
}

/// Workers sleep meanwhile.
static void act_rest(actor_t *actor, uint32_t count)
{
  if (count > 35)
    test_sleep_ms(1 + count % 3);
  sched_yield();
}

static void *act_on(void *actor_arg)
{
  static void (*const acts[])(actor_t * actor, uint32_t count) = {
      act_batch, act_fork_join, act_unrelated, act_growing_group, act_before_a_burst, act_rest};
  actor_t *actor = actor_arg;
  for (uint32_t i = 0; i < ACTS; i++) {
    const uint64_t random = test_random(&actor->random);
    acts[random % TEST_COUNT(acts)](actor, 1 + (uint32_t)(random >> 8) % 40);
  }
  return NULL;
}

static ws_pool_t *random_pool(uint64_t *random, ws_full_t *full)
{
  static const uint32_t workers[] = {1, 1, 2, 2, 3, 4, 8, 0};
  static const uint32_t capacities[] = {2, 2, 4, 16, 64, 1024};
  static const uint64_t spins_ns[] = {0, 1000, 50000, 200000};
  ws_settings_t settings = test_settings(workers[test_random(random) % TEST_COUNT(workers)]);
  settings.queue_capacity = capacities[test_random(random) % TEST_COUNT(capacities)];
  settings.full = (ws_full_t)(test_random(random) % 3);
  settings.lanes = (uint32_t)(test_random(random) % 4);
  settings.spin = (ws_spin_t)(test_random(random) % 3);
  settings.spin_ns_max = spins_ns[test_random(random) % TEST_COUNT(spins_ns)];
  settings.join_spin_ns_max = spins_ns[test_random(random) % TEST_COUNT(spins_ns)];
  settings.pin_step = test_random(random) % 4 == 0;
  *full = settings.full;
  return test_create(&settings);
}

/// Two pools, and three threads at a time, which end and are followed by others; then all stop, and the books
/// must balance.
static void play_one_round(uint64_t *random)
{
  ws_full_t full[2];
  ws_pool_t *pool[2] = {random_pool(random, &full[0]), random_pool(random, &full[1])};
  actor_t actor[3];
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < 3; i++)
    actor[i] = (actor_t){.pool = pool[i % 2], .full = full[i % 2], .random = test_random(random)};
  for (uint32_t life = 0; life < 3; life++) {
    for (uint32_t i = 0; i < 3; i++)
      test_spawn(&threads, act_on, &actor[i]);
    test_join(&threads);
  }
  for (uint32_t i = 0; i < 2; i++)
    CU_ASSERT_EQUAL(
        test_random(random) % 2 ? (int64_t)ws_pool_wait(pool[i]) : ws_pool_stop(pool[i], WS_STOP_DRAIN), 0);
  for (uint32_t i = 0; i < 3; i++) {
    CU_ASSERT_EQUAL(ws_load_relaxed(&actor[i].wrong), 0);
    CU_ASSERT_EQUAL(test_value(&actor[i].ran), test_value(&actor[i].taken));
  }
  for (uint32_t i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(test_stats(pool[i]).queued_tasks, 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool[i])->helpers), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool[i])->blocked), 0);
    ws_pool_stop(pool[i], WS_STOP_DRAIN); // if it has not stopped
    CU_ASSERT_EQUAL(ws_prewake_armed(pool[i]), 0);
    test_destroy(pool[i]);
  }
}

TEST_CASE(random_operations_balance)
{
  const char *seconds = getenv("WS_STRESS_SECONDS");
  const uint64_t end_ns = test_now_ns() + (seconds ? (uint64_t)(atof(seconds) * 1e9) : 0);
  uint64_t random = test_seed();
  for (uint32_t round = 0; seconds ? test_now_ns() < end_ns : round < ROUNDS; round++)
    play_one_round(&random);
}

/// By a thread outside, and by a worker.
TEST_CASE(joins_a_thousand_deep)
{
  for (uint32_t i = 0; i < 6; i++) {
    ws_settings_t settings = test_settings(1 + i % 2);
    settings.full = (ws_full_t)(i / 2);
    settings.queue_capacity = 2;
    actor_t actor = {.pool = test_create(&settings), .full = settings.full};
    ws_group_t group;
    node_t node = {&actor, &group, 1500, 1};
    fork_join(&node);
    ws_group_init(&group, 1);
    push_one(&actor, fork_join, &node, &group);
    ws_group_wait(&group, NULL);
    CU_ASSERT_EQUAL(test_value(&actor.ran), 2 * 1501);
    test_destroy(actor.pool);
  }
}

TEST_MAIN("stress_random")
