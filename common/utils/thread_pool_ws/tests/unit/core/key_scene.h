// SPDX-License-Identifier: BSD-3-Clause
/// @file key_scene.h
/// What the tests of cancel by key share: a pool, a key, a gate for its worker, and tasks that count.
#ifndef KEY_SCENE_H
#define KEY_SCENE_H

#include "../../../include/ws_key.h"
#include "../../support/ws_test.h"

enum { TASKS = 10 };

static ws_pool_t *pool;
static test_gate_t gate;
static ws_key_t key;
static ws_au64_t runs, cancels;
static ws_keyed_t tasks[TASKS];

static inline void begin(uint32_t workers, ws_full_t full)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = WS_SPIN_OFF;
  settings.full = full;
  pool = test_create(&settings);
  test_gate_init(&gate);
  ws_key_init(&key);
  ws_store_relaxed(&runs, 0);
  ws_store_relaxed(&cancels, 0);
}

static inline void end(void)
{
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static inline void hold(void)
{
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
}

/// Push @p count of the tasks.
static inline void push(ws_key_t *with, uint32_t count, ws_group_t *group)
{
  for (uint32_t i = 0; i < count; i++) {
    tasks[i] = (ws_keyed_t){.key = with,
                            .func = test_count_task,
                            .on_cancel = test_count_task,
                            .arg = &runs,
                            .group = group,
                            .priority = (ws_priority_t)(i % 3)};
    CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &tasks[i]), 0);
  }
}

static inline void count_cancel(void *unused)
{
  (void)unused;
  test_count_task(&cancels);
}

/// @return a task with the key, inside whose function the pool's only worker stands
static inline ws_keyed_t *begin_inside_task(void)
{
  static ws_keyed_t task;
  begin(1, WS_FULL_GROW);
  task = (ws_keyed_t){.key = &key, .func = test_gate_task, .on_cancel = count_cancel, .arg = &gate};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &task), 0);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&gate, 1));
  return &task;
}

/// A task that is skipped then counts elsewhere than one that runs.
static inline void tell_apart(void)
{
  for (uint32_t i = 0; i < TASKS; i++)
    tasks[i].on_cancel = count_cancel;
}

#endif
