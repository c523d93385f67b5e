// SPDX-License-Identifier: BSD-3-Clause
/// @file test_local.c
/// What belongs to a fiber: values of variables (ws_local.h), its address.
#include "../../../include/ws_local.h"

#include "fiber_scene.h"

#define FIBERS 40u
#define TURNS 50u

static ws_au32_t ends, foreign_ends;

/// The value is the address of its fiber or thread.
static void end_value(void *owner)
{
  ws_add_relaxed(&ends, 1); // relaxed: read after the join
  if (owner != ws_caller_id())
    ws_add_relaxed(&foreign_ends, 1);
}

static void *own_value(void)
{
  return (void *)(uintptr_t)ws_caller_id();
}

static const ws_local_t first = {.end = end_value}, second = {0};

static void begin(uint32_t workers)
{
  scene_begin(workers);
  ws_store_relaxed(&ends, 0);
  ws_store_relaxed(&foreign_ends, 0);
}

/// Each fiber keeps its values while it moves among workers.
static void keep_values(void *unused)
{
  (void)unused;
  const ws_fiber_t *self = ws_fiber_self();
  int own;
  note(self != NULL && ws_caller_id() == self);
  note(ws_local_get(&first) == NULL && ws_local_get(&second) == NULL);
  note(ws_local_set(&second, &own) == 0 && ws_local_set(&first, &own) == 0);
  note(ws_local_set(&first, own_value()) == 0); // the value from before is dropped
  for (uint32_t i = 0; i < TURNS; i++) {
    ws_yield();
    note(ws_local_get(&first) == self && ws_local_get(&second) == &own && ws_fiber_self() == self);
  }
}

static void values_belong_to_fibers(void)
{
  CU_ASSERT_PTR_NULL(ws_fiber_self());
  CU_ASSERT_PTR_NULL(ws_local_get(&first));
  begin(3);
  ws_group_init(&scene.group, FIBERS);
  for (uint32_t i = 0; i < FIBERS; i++)
    push_fiber(keep_values, NULL, &scene.group);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ends), FIBERS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&foreign_ends), 0);
  scene_end();
}

/// The end of one value sets another, which is ended, too; in the fiber, which may wait.
static void set_first(void *fiber)
{
  ws_yield();
  note(ws_local_set(&first, fiber) == 0);
}

static const ws_local_t sets_first = {.end = set_first};

static void leave_value(void *unused)
{
  (void)unused;
  note(ws_local_set(&sets_first, own_value()) == 0);
}

static void ends_run_in_their_fiber(void)
{
  begin(2);
  ws_group_init(&scene.group, FIBERS);
  for (uint32_t i = 0; i < FIBERS; i++)
    push_fiber(leave_value, NULL, &scene.group);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ends), FIBERS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&foreign_ends), 0);
  scene_end();
}

/// A plain task, and a thread, have the thread's value.
static void use_worker_value(void *unused)
{
  (void)unused;
  note(!ws_fiber_self());
  const uintptr_t count = (uintptr_t)ws_local_get(&second);
  note(ws_local_set(&second, (void *)(count + 1)) == 0); // NOLINT: a number in place of an address
  ws_store_relaxed(&scene.value, (uint32_t)count + 1);
}

static void *have_thread_value(void *unused)
{
  note(ws_local_get(&first) == NULL && ws_local_set(&first, own_value()) == 0);
  note(ws_local_get(&first) == ws_caller_id());
  return unused;
}

static void values_of_threads(void)
{
  begin(1);
  ws_group_init(&scene.group, 3);
  for (uint32_t i = 0; i < 3; i++)
    ws_pool_push(scene.pool, (ws_task_t){.func = use_worker_value, .group = &scene.group});
  ws_group_wait(&scene.group, NULL); // does not help
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 3);
  test_threads_t threads = {.count = 0};
  for (uint32_t i = 0; i < 3; i++)
    test_spawn(&threads, have_thread_value, NULL);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ends), 3);
  CU_ASSERT_EQUAL(ws_load_relaxed(&foreign_ends), 0);
  CU_ASSERT_EQUAL(ws_local_set(NULL, &ends), -EINVAL);
  scene_end();
}

TEST_MAIN("local", TEST_CASE(values_belong_to_fibers), TEST_CASE(ends_run_in_their_fiber),
          TEST_CASE(values_of_threads))
