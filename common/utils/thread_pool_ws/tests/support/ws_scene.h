// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_scene.h
/// What the tests of events share: a pool, tasks that are told apart, and a gate. One scene at a time.
#ifndef WS_SCENE_H
#define WS_SCENE_H

#include <string.h>

#include "ws_recorder.h"
#include "ws_test.h"

#define SCENE_TASKS 20u

static struct {
  ws_pool_t *pool;
  int64_t id; ///< of the pool
  test_gate_t gate;
  alignas(4) ws_group_t group, inner;
  char arg[SCENE_TASKS]; ///< tasks are told apart by these addresses
} scene;

/// Its function, in the record.
static inline void told_task(void *arg)
{
  WS_PROBE(func, (uintptr_t)arg);
}

static inline void push_told(uint32_t arg, ws_group_t *group)
{
  test_push(scene.pool, told_task, &scene.arg[arg], group);
}

/// Of a task that shall run while another stands in the gate.
static inline void told_and_let_go(void *arg)
{
  told_task(arg);
  test_gate_let(&scene.gate, 1);
}

static inline void scene_begin(const ws_settings_t *settings, void (*look)(const recorded_t *recorded))
{
  memset(&scene, 0, sizeof(scene));
  recorder_begin(look);
  test_gate_init(&scene.gate);
  scene.pool = test_create(settings);
  scene.id = (int64_t)scene.pool->id;
}

static inline void scene_end(void)
{
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
}

/// The only worker stands in the gate from now on.
static inline void scene_hold(void)
{
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
}

#endif
