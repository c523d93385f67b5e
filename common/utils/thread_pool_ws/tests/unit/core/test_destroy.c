// SPDX-License-Identifier: BSD-3-Clause
/// @file test_destroy.c
/// A pool that is destroyed as the process exits inside one of its tasks, one whose task destroys it while no
/// thread can be made, and one whose task destroys it while the push of that task goes on. Other ends of
/// pools: scenes/stop.c.

#include "../../support/ws_seam.h"

static ws_au32_t no_threads;

static int ws_os_thread_create_seam(pthread_t *thread, size_t stack_bytes, uint64_t patience_ns,
                                    void *(*func)(void *arg), void *arg)
{
  return ws_load_acquire(&no_threads)
             ? EAGAIN
             : __real_ws_os_thread_create(thread, stack_bytes, patience_ns, func, arg);
}

static ws_pool_t *pool_of_exit;

static void destroy_at_exit(void)
{
  ws_pool_destroy(pool_of_exit);
}

static void exit_75(void *unused)
{
  exit(75);
}

enum { ON_WORKER, IN_PUSH, IN_WAIT, DURING_STOP, EXITS };

static int exit_in_task(void *how_arg)
{
  const int how = *(const int *)how_arg;
  const ws_settings_t settings = test_settings(how == IN_PUSH ? 0 : 2);
  if (ws_pool_create(&pool_of_exit, &settings) < 0 || atexit(destroy_at_exit) != 0)
    return 1;
  if (how == IN_WAIT) {
    ws_group_t group;
    ws_group_init(&group, 1);
    TEST_GATE(gate);
    for (int i = 0; i < 2; i++)
      test_push(pool_of_exit, test_gate_task, &gate, NULL);
    if (!test_gate_await(&gate, 2)) // no worker takes the next task
      return 1;
    test_push(pool_of_exit, exit_75, NULL, &group);
    ws_group_wait(&group, pool_of_exit);
  }
  test_push(pool_of_exit, exit_75, NULL, NULL);
  if (how == DURING_STOP)
    ws_pool_stop(pool_of_exit, WS_STOP_DRAIN);
  for (;;)
    pause();
}

/// The status is the program's, wherever the task runs.
TEST_CASE(at_exit)
{
  for (int how = ON_WORKER; how < EXITS; how++)
    CU_ASSERT_EQUAL(test_in_child(exit_in_task, &how), 75);
}

static void destroy_it(void *pool)
{
  ws_pool_destroy(pool);
}

/// The pool and its threads stay, and the warning says so.
static int end_without_thread(void *unused)
{
  ws_au64_t ran = {0};
  ws_pool_t *pool = test_pool(1);
  ws_store_release(&no_threads, 1);
  test_push(pool, destroy_it, pool, NULL);
  ws_pool_wait(pool);
  test_push(pool, test_count_task, &ran, NULL);
  ws_pool_wait(pool);
  return test_value(&ran) == 1 && test_warnings_with("The pool and its threads stay") == 1 ? 3 : 1;
}

TEST_CASE(without_a_thread)
{
  CU_ASSERT_EQUAL(test_in_child(end_without_thread, NULL), 3);
}

// A push that has woken the worker goes on when the task has destroyed the pool: when the end waits for the
// push, or unmaps the pool.

static ws_aptr_t doomed; ///< the pool
static void *doomed_memory;
static _Thread_local bool pushes; ///< the next wake is that of the push
static ws_au32_t in_push;
static sem_t end_looks, is_gone;

static void ws_os_futex_wake_seam(ws_au32_t *word, uint32_t count)
{
  __real_ws_os_futex_wake(word, count);
  if (!pushes)
    return;
  pushes = false;
  if (!test_sem_wait(&end_looks))
    _exit(4);
  ws_store_release(&in_push, 0);
}

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  const struct ws_pool_s *pool = ws_load_acquire(&doomed);
  if (pool && ((void *)word == &pool->end.destroyed || (void *)word == &pool->end.holds))
    sem_post(&end_looks);
  return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
}

static void ws_os_unmap_seam(void *memory, size_t bytes)
{
  if (memory == doomed_memory && ws_load_acquire(&in_push))
    _exit(5);
  __real_ws_os_unmap(memory, bytes);
  if (memory == doomed_memory)
    sem_post(&is_gone);
}

static int push_and_be_late(void *lanes_arg)
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = *(const uint32_t *)lanes_arg;
  ws_pool_t *pool = test_create(&settings);
  sem_init(&end_looks, 0, 0);
  sem_init(&is_gone, 0, 0);
  if (!test_until_quiet(pool))
    return 1;
  doomed_memory = pool->block;
  ws_store_release(&in_push, 1);
  ws_store_release(&doomed, pool);
  pushes = true;
  if (ws_pool_push(pool, (ws_task_t){.func = destroy_it, .arg = pool}) != 0 || pushes)
    return 2; // it has woken no worker
  return test_sem_wait(&is_gone) ? 3 : 6;
}

TEST_CASE(a_pool_outlives_the_push_of_its_last_task)
{
  for (uint32_t lanes = 0; lanes < 2; lanes++)
    CU_ASSERT_EQUAL(test_in_child(push_and_be_late, &lanes), 3);
}

TEST_MAIN_SEAMS("destroy", SEAM(ws_os_futex_wake), SEAM(ws_os_futex_wait_until), SEAM(ws_os_unmap),
                SEAM(ws_os_thread_create))
