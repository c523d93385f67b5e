// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_fiber.c
/// The interface tpool, called in a fiber of a pool of the core. Its functions are plain tasks: one that
/// waited as a fiber would leave what lies on the stack below it, and let others run on its thread.
#include "../../include/ws_fiber.h"
#include "tpool_test.h"

static test_full_t full;
static ws_au64_t jobs, drops, as_fibers;

/// A plain task is no fiber, and cannot let others run.
static void look(void)
{
  if (ws_fiber_self() || ws_yield())
    ws_add_relaxed(&as_fibers, 1);
}

static void job(void *unused)
{
  (void)unused;
  look();
  ws_add_release(&jobs, 1);
}

static void drop(void *unused, void (*func)(void *), void *arg)
{
  (void)unused;
  (void)func;
  (void)arg;
  look();
  ws_add_release(&drops, 1);
}

static void add(void *unused)
{
  (void)unused;
  CU_ASSERT_EQUAL(tpool_add(full.pool, job, NULL), 0);
}

static void shut_down(void *unused)
{
  (void)unused;
  CU_ASSERT_EQUAL(tpool_shutdown_now(full.pool, drop, NULL), 2);
}

static bool all_dropped(void *unused)
{
  (void)unused;
  return ws_load_acquire(&drops) == 2;
}

TEST_CASE(functions_are_plain_tasks)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 1;
  ws_pool_t *pool = NULL;
  ws_group_t group;
  const ws_fiber_options_t options = {.stack_bytes = 262144};
  CU_ASSERT_EQUAL_FATAL(ws_pool_create(&pool, &settings), 0);
  CU_ASSERT_FATAL(test_fill(&full, 2));
  ws_group_init(&group, 2);
  CU_ASSERT_EQUAL(ws_fiber_push(pool, add, NULL, &group, &options), 0);
  CU_ASSERT_EQUAL(ws_fiber_push(pool, shut_down, NULL, &group, &options), 0);
  CU_ASSERT(test_until(all_dropped, NULL));
  test_gate_let(&full.gate, 1);
  ws_group_wait(&group, pool);
  CU_ASSERT_EQUAL(ws_load_acquire(&jobs), 1);
  CU_ASSERT_EQUAL(ws_load_acquire(&as_fibers), 0);
  ws_pool_destroy(pool);
  tpool_destroy(full.pool);
  test_gate_destroy(&full.gate);
}

TEST_MAIN("tpool_fiber")
