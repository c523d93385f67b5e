// SPDX-License-Identifier: BSD-3-Clause
// Fibers of this pool, on one worker.
#include <stddef.h>

#include "clock.h"
#include "latch_ping.h"
#include "ws_fiber.h"
#include "ws_sync.h"

#define AT_ONCE_MAX 100000u // sleepers

/// Two fibers that take turns.
typedef struct {
  ws_pool_t *pool;
  uint32_t count, at_once;
  ws_mutex_t mutex;
  const void *last; ///< fiber that locked last
  uint32_t in_a_row; ///< locks by the fiber that had locked before
  uint64_t begin_ns, end_ns;
  uint32_t begun, failed;
} pair_t;

typedef struct {
  uint64_t deadline_ns, *late_ns;
} sleeper_t;

static ws_pool_t *make_pool(void)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 1;
  settings.fifo = true;
  ws_pool_t *pool = NULL;
  ws_pool_create(&pool, &settings);
  return pool;
}

/// The time counts from the moment when both fibers have begun.
static void begin(pair_t *pair)
{
  pair->begun++;
  while (pair->begun < 2)
    ws_yield();
  if (pair->begin_ns == 0)
    pair->begin_ns = clock_now_ns();
}

static void yield_often(void *pair_arg)
{
  pair_t *const pair = pair_arg;
  begin(pair);
  for (uint32_t i = 0; i < pair->count; i++)
    ws_yield();
  pair->end_ns = clock_now_ns();
}

static void lock_often(void *pair_arg)
{
  pair_t *const pair = pair_arg;
  const int own = 0;
  begin(pair);
  for (uint32_t i = 0; i < pair->count; i++) {
    ws_mutex_lock(&pair->mutex);
    pair->in_a_row += pair->last == &own;
    pair->last = &own;
    ws_yield();
    ws_mutex_unlock(&pair->mutex);
    ws_yield();
  }
  pair->end_ns = clock_now_ns();
}

static void do_nothing(void *unused)
{
  (void)unused;
}

static void spawn_often(void *pair_arg)
{
  pair_t *const pair = pair_arg;
  for (uint32_t left = pair->count; left > 0 && !pair->failed; left -= pair->at_once) {
    if (left == pair->count - pair->count / 10 / pair->at_once * pair->at_once)
      pair->begin_ns = clock_now_ns(); // the first tenth maps the stacks
    ws_group_t group;
    ws_group_init(&group, pair->at_once);
    for (uint32_t i = 0; i < pair->at_once; i++)
      if (ws_fiber_push(pair->pool, do_nothing, NULL, &group, NULL) != 0) {
        ws_group_complete(&group, 1);
        pair->failed++;
      }
    ws_group_wait(&group, pair->pool);
  }
  pair->end_ns = clock_now_ns();
}

/// Run @p func in so many fibers. The caller waits without a pool, so that all of them run on the worker.
static double run(pair_t *pair, void (*func)(void *), uint32_t fibers)
{
  pair->pool = make_pool();
  if (!pair->pool)
    return 0;
  ws_group_t group;
  ws_group_init(&group, fibers);
  for (uint32_t i = 0; i < fibers; i++)
    if (ws_fiber_push(pair->pool, func, pair, &group, NULL) != 0) {
      ws_group_complete(&group, 1);
      pair->failed++;
      pair->begun++;
    }
  ws_group_wait(&group, NULL);
  ws_pool_destroy(pair->pool);
  return pair->failed ? 0 : (double)(pair->end_ns - pair->begin_ns);
}

static double ws_yields(uint32_t count)
{
  pair_t pair = {.count = count};
  return run(&pair, yield_often, 2) / (2.0 * count);
}

static double ws_hands_over(uint32_t count)
{
  pair_t pair = {.count = count};
  const double taken_ns = run(&pair, lock_often, 2);
  return pair.in_a_row > count / 100 + 1 ? 0 : taken_ns / (2.0 * count);
}

static double ws_spawns(uint32_t count, uint32_t at_once)
{
  pair_t pair = {.count = count / at_once * at_once, .at_once = at_once};
  const uint32_t warm = pair.count / 10 / at_once * at_once;
  return run(&pair, spawn_often, 1) / (pair.count - warm);
}

static void sleep_once(void *sleeper_arg)
{
  const sleeper_t *const sleeper = sleeper_arg;
  ws_sleep_until(sleeper->deadline_ns);
  *sleeper->late_ns = clock_now_ns() - sleeper->deadline_ns;
}

static bool ws_sleeps(const uint64_t *deadline_ns, uint64_t *late_ns, uint32_t count)
{
  static sleeper_t sleeper[AT_ONCE_MAX];
  ws_pool_t *const pool = count <= AT_ONCE_MAX ? make_pool() : NULL;
  if (!pool)
    return false;
  ws_group_t group;
  ws_group_init(&group, count);
  uint32_t failed = 0;
  for (uint32_t i = 0; i < count; i++) {
    sleeper[i] = (sleeper_t){deadline_ns[i], &late_ns[i]};
    if (ws_fiber_push(pool, sleep_once, &sleeper[i], &group, NULL) != 0) {
      ws_group_complete(&group, 1);
      failed++;
    }
  }
  ws_group_wait(&group, NULL);
  ws_pool_destroy(pool);
  return failed == 0;
}

const ping_t ping_ws = {"this project", ws_yields, ws_hands_over, ws_spawns, ws_sleeps};
