// SPDX-License-Identifier: BSD-3-Clause
/// @file fork_rows_api.h
/// The rows of test_fork_calls.c for the interfaces of other pools.
#ifndef FORK_ROWS_API_H
#define FORK_ROWS_API_H

#include "../../tests/unit/setup/fork_rows.h" // IWYU pragma: export
#include "task_manager.h" // IWYU pragma: export
#include "tpool.h" // IWYU pragma: export
#include "ws_sched.h" // IWYU pragma: export

static struct {
  tpool *full, *empty; ///< the buffer of full is, and its thread stands
  stand_t job;
  task_manager_t man, freed; ///< freed is being freed: a call of clean stands, under a lock
  test_gate_t tasks, cleans;
  ws_sched_t *sched; ///< full
  ws_sched_task_t posted[2], other;
  test_threads_t waits;
} api;

static void *add_to_full(void *unused)
{
  tpool_add(api.full, test_empty_task, unused);
  return unused;
}

static void *free_man(void *unused)
{
  free_task_manager(&api.freed, test_gate_task);
  return unused;
}

static void begin_tpool(void)
{
  test_gate_init(&api.job.gate);
  api.full = tpool_create(1, 1);
  api.empty = tpool_create(1, 4);
  CU_ASSERT_PTR_NOT_NULL_FATAL(api.full);
  CU_ASSERT_PTR_NOT_NULL_FATAL(api.empty);
  CU_ASSERT_EQUAL(tpool_add(api.full, stand_task, &api.job), 0);
  CU_ASSERT_TRUE(test_gate_await(&api.job.gate, 1));
  CU_ASSERT_EQUAL(tpool_add(api.full, test_empty_task, NULL), 0);
  test_spawn(&api.waits, add_to_full, NULL); // it blocks
}

static void begin_api(void)
{
  begin_tpool();
  test_gate_init(&api.tasks);
  test_gate_init(&api.cleans);
  init_task_manager(&api.man, 1);
  init_task_manager(&api.freed, 1);
  async_task_manager(&api.freed, (task_t){.func = test_gate_task, .args = &api.tasks});
  CU_ASSERT_TRUE(test_gate_await(&api.tasks, 1));
  async_task_manager(&api.freed, (task_t){.func = test_empty_task, .args = &api.cleans});
  test_spawn(&api.waits, free_man, NULL);
  CU_ASSERT_TRUE(test_gate_await(&api.cleans, 1));
  api.sched = sched_init(1, 2);
  CU_ASSERT_PTR_NOT_NULL_FATAL(api.sched);
  CU_ASSERT_EQUAL(sched_task_init(&api.other, test_empty_task, NULL, WS_PRIORITY_NORMAL), 0);
  for (uint32_t i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(sched_task_init(&api.posted[i], test_gate_task, &api.tasks, WS_PRIORITY_NORMAL), 0);
    CU_ASSERT_EQUAL(sched_post(api.sched, &api.posted[i]), 0);
  }
  CU_ASSERT_TRUE(test_gate_await(&api.tasks, 1));
}

static void end_api(void)
{
  test_gate_let(&api.job.gate, 1);
  test_gate_let(&api.tasks, 3);
  test_gate_let(&api.cleans, 1);
  test_join(&api.waits);
  tpool_destroy(api.full);
  tpool_destroy(api.empty);
  free_task_manager(&api.man, NULL);
  CU_ASSERT_EQUAL(sched_fini(api.sched), 0);
  test_gate_destroy(&api.tasks);
  test_gate_destroy(&api.cleans);
}

static int use_own_tpool(void)
{
  tpool *own = tpool_create(2, 2);
  for (uint32_t i = 0; i < 10; i++)
    if (tpool_add(own, test_empty_task, NULL) != 0)
      return -1;
  return tpool_wait(own) + tpool_destroy(own);
}

static int use_own_man(void)
{
  task_manager_t own;
  init_task_manager(&own, 1);
  async_task_manager(&own, (task_t){.func = test_empty_task});
  wait_all_task_manager(&own);
  free_task_manager(&own, NULL);
  return 0;
}

static int use_own_sched(void)
{
  ws_sched_t *own = sched_init(1, 2);
  const int posted = sched_post(own, &api.other);
  return posted + sched_execute(own) + sched_fini(own);
}

static void try_api(void)
{
  RETURNS(tpool_create, use_own_tpool(), 0);
  RETURNS(tpool_add, tpool_add(api.full, test_empty_task, NULL), -ESRCH);
  RETURNS(tpool_add, tpool_add(api.empty, test_empty_task, NULL), -ESRCH);
  RETURNS(tpool_try_add, tpool_try_add(api.full, test_empty_task, NULL), -ESRCH);
  RETURNS(tpool_try_add, tpool_try_add(api.empty, test_empty_task, NULL), -ESRCH);
  RETURNS(tpool_wait, tpool_wait(api.full), -ESRCH);
  RETURNS(tpool_shutdown, tpool_shutdown(api.full), 0);
  RETURNS(tpool_shutdown_now, tpool_shutdown_now(api.full, NULL, NULL), -ESRCH);
  RETURNS(tpool_count_working_threads, tpool_count_working_threads(api.full), -ESRCH);
  RETURNS(tpool_destroy, tpool_destroy(api.full), 0);
  RETURNS(init_task_manager, use_own_man(), 0);
  RETURNS(free_task_manager, (free_task_manager(&api.man, NULL), 0), 0);
  RETURNS(free_task_manager, (free_task_manager(&api.freed, NULL), 0), 0);
  ENDS(async_task_manager, (async_task_manager(&api.man, (task_t){.func = test_empty_task}), 0));
  ENDS(wait_all_task_manager, (wait_all_task_manager(&api.man), 0));
  RETURNS(sched_init, use_own_sched(), 0);
  RETURNS(sched_post, sched_post(api.sched, &api.other), -ESRCH);
  RETURNS(sched_execute, sched_execute(api.sched), -ESRCH);
  RETURNS(sched_fini, sched_fini(api.sched), 0);
}

#endif
