// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_scene.h
/// What the tests of events share: a pool, tasks that are told apart, and a gate. One scene at a time.
#ifndef WS_SCENE_H
#define WS_SCENE_H

#include "ws_recorder.h" // IWYU pragma: export
#include "ws_test.h" // IWYU pragma: export

#define SCENE_TASKS 20u

static struct {
  ws_pool_t *pool;
  int64_t id; ///< of the pool
  test_gate_t gate;
  alignas(4) ws_group_t group, inner;
  char arg[SCENE_TASKS]; ///< tasks are told apart by these addresses
} scene;

/// What must have happened: an event with these fields; those that it does not have are 0.
typedef struct {
  const char *event;
  int64_t field[RECORDER_FIELDS_MAX];
} happening_t;
#define ANY INT64_MIN ///< whatever the field is

static inline bool is_happening(const recorded_t *recorded, const happening_t *wanted)
{
  bool same = true;
  for (uint32_t i = 0; i < RECORDER_FIELDS_MAX; i++)
    same &= wanted->field[i] == ANY || wanted->field[i] == recorded->field[i];
  return same;
}

/// @return whether all of them are in the record, each after the one before it
static inline bool have_happened(const happening_t *wanted, uint32_t count)
{
  const recorded_t *at = NULL;
  for (uint32_t i = 0; i < count; i++) {
    do
      at = recorder_next(at, wanted[i].event);
    while (at && !is_happening(at, &wanted[i]));
    if (!at) {
      printf("\n  %u: no such %s ", i, wanted[i].event);
      return false;
    }
  }
  return true;
}

#define EXPECT(...)                                                                                          \
  CU_ASSERT_TRUE(have_happened((const happening_t[]){__VA_ARGS__},                                           \
                               sizeof((const happening_t[]){__VA_ARGS__}) / sizeof(happening_t)))
/// Fields.
#define TOLD ADDRESS(told_task)
#define ARG(index) ADDRESS(&scene.arg[index])
#define GROUP ADDRESS(&scene.group)
#define INNER ADDRESS(&scene.inner)

/// Its function, in the record.
static inline void told_task(void *arg)
{
  WS_PROBE(func, NULL, (uintptr_t)arg);
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

static inline void scene_begin_pool(uint32_t workers)
{
  const ws_settings_t settings = test_settings(workers);
  scene_begin(&settings, NULL);
}

/// The only worker stands in the gate from now on.
static inline void scene_hold(void)
{
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
}

#endif
