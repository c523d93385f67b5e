// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_scene.h
/// What the tests of fibers share: a pool, a gate, and errors that fibers note, for CUnit is for the main
/// thread only.
#ifndef FIBER_SCENE_H
#define FIBER_SCENE_H

#include "../../../fiber/ws_fiber_process.h" // IWYU pragma: export
#include "../../../include/ws_fiber.h" // IWYU pragma: export
#include "../../../include/ws_sync.h" // IWYU pragma: export
#include "../../support/ws_test.h" // IWYU pragma: export

/// What a child process returns that has found no error. Not 0: Boost.Context ends the process with that when
/// a fiber goes astray.
#define CHILD_GOOD 9

static struct {
  ws_pool_t *pool;
  ws_group_t group;
  test_gate_t gate;
  ws_latch_t latch;
  ws_au32_t count, value, errors;
} scene;

static inline void scene_begin(uint32_t workers)
{
  scene.pool = test_pool(workers);
  ws_store_relaxed(&scene.count, 0);
  ws_store_relaxed(&scene.value, 0);
  ws_store_relaxed(&scene.errors, 0);
  test_gate_init(&scene.gate);
  ws_latch_init(&scene.latch, 1);
}

static inline void scene_end(void)
{
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.errors), 0);
  test_gate_destroy(&scene.gate);
  test_destroy(scene.pool);
}

/// @return what a child returns: whether all was good, also what its fibers noted
static inline int child_result(bool good)
{
  scene_end();
  return good && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

/// A case that is a process of its own.
#define CHILD_CASE(name, body)                                                                               \
  TEST_CASE(name)                                                                                            \
  {                                                                                                          \
    CU_ASSERT_EQUAL(test_in_child(body, NULL), CHILD_GOOD);                                                  \
  }

static inline void note(bool good)
{
  if (!good)
    ws_add_relaxed(&scene.errors, 1);
}

static inline void set_value(void *unused)
{
  ws_store_release(&scene.value, 1);
}

static inline void push_fiber(void (*func)(void *), const void *arg, ws_group_t *group)
{
  note(ws_fiber_push(scene.pool, func, (void *)(uintptr_t)arg, group, NULL) == 0);
}

static inline void wait_for_latch(void *unused)
{
  note(ws_latch_wait(&scene.latch) == 0);
}

/// @return whether the process has memory of stacks
static inline bool any_slab(void)
{
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  const bool any = ws_fiber_process.slabs != NULL;
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  return any;
}

static inline bool is_done(void *group)
{
  return ws_group_done(group);
}

static inline ws_fiber_stats_t fiber_stats(void)
{
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  return stats;
}

static inline uint64_t parked(void)
{
  return fiber_stats().parked;
}

static inline bool are_parked(void *count)
{
  return parked() == *(const uint64_t *)count;
}

/// From now on no idle stack is closed, however long the test takes.
static inline void fiber_never_trim(void)
{
  ws_fiber_process_begin();
  pthread_mutex_lock(&ws_fiber_process.alarm_lock);
  ws_fiber_process.trims = true;
  pthread_mutex_unlock(&ws_fiber_process.alarm_lock);
}

/// @brief Wait until so many fibers are in the lot. @return false after the deadline
static inline bool await_parked(uint64_t count)
{
  return test_until(are_parked, &count);
}

#endif
