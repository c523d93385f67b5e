// SPDX-License-Identifier: BSD-3-Clause
/// @file laneless_scene.h
/// What the tests of threads without a lane share: a pool whose worker stands in a gate. Each case runs in a
/// child process, whose deadline ends a wait that does not end.
#ifndef LANELESS_SCENE_H
#define LANELESS_SCENE_H

#include <stdlib.h>

#include "../../support/ws_test.h"

enum { FAILED = 1 };

static ws_pool_t *pool;
static test_gate_t gate;
static ws_group_t group;
static pthread_t waiter;
static ws_au64_t own_runs; ///< of tasks, by the thread that waits
static test_threads_t holder; ///< of the pool's only lane
static sem_t has_lane, lane_may_go;

static inline ws_settings_t without_lanes(void)
{
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 128;
  settings.lanes = 0;
  settings.full = WS_FULL_FAIL;
  return settings;
}

static inline void begin(const ws_settings_t *settings)
{
  pool = test_create(settings);
  test_gate_init(&gate);
  waiter = pthread_self();
}

static inline void hold(void)
{
  test_push(pool, test_gate_task, &gate, NULL);
  if (!test_gate_await(&gate, 1))
    abort();
}

static inline void *hold_the_lane(void *unused)
{
  (void)unused;
  hold();
  sem_post(&has_lane);
  return test_sem_wait(&lane_may_go) ? NULL : &gate;
}

/// Have another thread own the only lane of the pool, and the worker stand in the gate.
static inline bool begin_without_the_lane(void)
{
  ws_settings_t settings = without_lanes();
  settings.lanes = 1;
  begin(&settings);
  sem_init(&has_lane, 0, 0);
  sem_init(&lane_may_go, 0, 0);
  test_spawn(&holder, hold_the_lane, NULL);
  return test_sem_wait(&has_lane);
}

/// From now on the caller gets the lane when it pushes.
static inline void free_the_lane(void)
{
  sem_post(&lane_may_go);
  test_join(&holder);
}

/// @return FAILED unless all is well. Lets the worker go.
static inline int end(bool good)
{
  test_gate_let(&gate, 1);
  good &= ws_pool_wait(pool) == 0 && ws_load_relaxed(&test_refused) == 0;
  test_destroy(pool);
  test_gate_destroy(&gate);
  return good ? 0 : FAILED;
}

static inline void own_task(void *unused)
{
  (void)unused;
  ws_add_relaxed(&own_runs, (uint64_t)(pthread_equal(pthread_self(), waiter) != 0));
}

static inline void in_child(int (*play)(void *))
{
  CU_ASSERT_EQUAL(test_in_child(play, NULL), 0);
}

#endif
