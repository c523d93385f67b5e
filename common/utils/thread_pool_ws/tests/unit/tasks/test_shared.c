// SPDX-License-Identifier: BSD-3-Clause
/// @file test_shared.c
/// A queue that all threads share has no memory before its first push, and a lock that lends priority. Memory
/// and locks are the test's. What such a queue promises otherwise: scenes/queues.c.

#include "../../../sleep/ws_wake.h"
#include "../../../tasks/ws_shared.h"
#include "../../support/ws_seam.h"

static bool no_memory;
static uint32_t maps; ///< of memory
static uint32_t lending; ///< locks that lend the priority of those who wait

static void *ws_os_map_seam(size_t bytes)
{
  maps++;
  return no_memory ? NULL : __real_ws_os_map(bytes);
}

static int pthread_mutex_init_seam(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes)
{
  int protocol = PTHREAD_PRIO_NONE;
  if (attributes)
    pthread_mutexattr_getprotocol(attributes, &protocol);
  lending += protocol == PTHREAD_PRIO_INHERIT;
  return __real_pthread_mutex_init(lock, attributes);
}

static ws_au64_t run;

static int push(ws_pool_t *pool, ws_priority_t priority)
{
  return ws_pool_push(pool, (ws_task_t){.func = test_count_task, .arg = &run, .priority = priority});
}

/// A push without memory returns what it does if the queue is full, and the next one has memory.
TEST_CASE(without_memory_a_queue_is_full)
{
  static const struct {
    ws_full_t full;
    int result;
    uint64_t run; ///< in the push
  } rows[] = {{WS_FULL_FAIL, -EAGAIN, 0}, {WS_FULL_INLINE, 0, 1}, {WS_FULL_GROW, 0, 1}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    ws_settings_t settings = test_settings(1);
    settings.full = rows[i].full;
    settings.queue_capacity = 4;
    ws_pool_t *pool = test_create(&settings);
    TEST_GATE(gate);
    test_hold(pool, &gate, 1);
    ws_store_relaxed(&run, 0);
    no_memory = true;
    CU_ASSERT_EQUAL(push(pool, WS_PRIORITY_HIGH), rows[i].result);
    CU_ASSERT_EQUAL(test_value(&run), rows[i].run);
    no_memory = false;
    for (uint32_t k = 0; k < 4; k++)
      CU_ASSERT_EQUAL(push(pool, WS_PRIORITY_HIGH), 0);
    no_memory = true; // it is full, and cannot grow
    CU_ASSERT_EQUAL(push(pool, WS_PRIORITY_HIGH), rows[i].result);
    CU_ASSERT_EQUAL(test_value(&run), 2 * rows[i].run);
    no_memory = false;
    test_gate_let(&gate, 1);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_EQUAL(test_value(&run), 2 * rows[i].run + 4);
    test_destroy(pool);
  }
}

/// A reserved queue maps nothing later.
TEST_CASE(a_reserved_queue_has_memory)
{
  ws_settings_t settings = test_settings(1);
  settings.full = WS_FULL_FAIL;
  settings.reserve = true;
  lending = 0;
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_TRUE(lending >= 4); // lanes, normal, high, low
  maps = 0;
  CU_ASSERT_EQUAL(push(pool, WS_PRIORITY_HIGH), 0);
  CU_ASSERT_EQUAL(push(pool, WS_PRIORITY_LOW), 0);
  CU_ASSERT_EQUAL(maps, 0);
  test_destroy(pool);
}

/// A wait with a time limit passes over another thread's task. Its cell then has an unrelated task, before
/// one that the wait could take if it were of the group.
TEST_CASE(a_wait_does_not_go_on_at_a_cell_that_has_another_task)
{
  static ws_tasks_t tasks;
  static ws_queue_t mine, others;
  ws_group_t wanted, unrelated;
  ws_wait_t wait = {.group = &wanted, .is_timed = true, .queue = &mine};
  ws_task_t task;
  const ws_task_t of_wanted = {.func = test_empty_task, .group = &wanted};
  const ws_task_t other = {.func = test_empty_task, .group = &unrelated};
  tasks.kinds = 1;
  CU_ASSERT_TRUE(ws_shared_init(&tasks.shared[0], 8, 0, true));
  const struct {
    const ws_task_t *pushed;
    const ws_queue_t *pusher; ///< NULL = it has no lane
  } rows[] = {{&of_wanted, &others}, {&other, NULL}, {&other, NULL}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    CU_ASSERT_TRUE(ws_shared_begin(&tasks, 0, false));
    ws_shared_end(&tasks, 0, rows[i].pushed, rows[i].pusher, NULL);
    CU_ASSERT_FALSE(ws_shared_take(&tasks, 0, &wait, &task));
    CU_ASSERT_FALSE(ws_shared_take(&tasks, 0, &wait, &task));
    if (i == 0)
      CU_ASSERT_TRUE(ws_shared_take(&tasks, 0, NULL, &task));
  }
  ws_shared_free(&tasks.shared[0]);
}

static bool has_run_and_sleeps(void *pool_arg)
{
  const ws_pool_t *pool = pool_arg;
  return test_value(&run) == 1 && ws_is_parked(pool, 0) && ws_os_thread_sleeps(ws_tid(pool->worker[0]));
}

/// A thread of a normal class that loses its CPU in a push must not keep a real-time worker on that CPU.
TEST_CASE(a_worker_parks_while_a_push_is_between_count_and_publication)
{
  ws_settings_t settings = test_settings(1);
  ws_pool_t *pool = test_create(&settings);
  ws_store_relaxed(&run, 0);
  ws_add_relaxed(&pool->tasks.shared_tasks, 1); // as such a push does, before the list
  CU_ASSERT_EQUAL(push(pool, WS_PRIORITY_NORMAL), 0);
  CU_ASSERT_TRUE(test_until(has_run_and_sleeps, pool));
  ws_sub_relaxed(&pool->tasks.shared_tasks, 1);
  test_destroy(pool);
}

TEST_MAIN_SEAMS("shared", SEAM(ws_os_map), SEAM(pthread_mutex_init))
