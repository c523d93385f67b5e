// SPDX-License-Identifier: BSD-3-Clause
/// @file test_shared.c
/// The lock of a queue that all threads share lends priority, and a wait goes on in it where it may. What
/// such a queue promises otherwise: scenes/queues.c. Without memory: explore.

#include "../../../tasks/ws_shared.h"
#include "../../support/ws_seam.h"

static uint32_t lending; ///< locks that lend the priority of those who wait

static int pthread_mutex_init_seam(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes)
{
  int protocol = PTHREAD_PRIO_NONE;
  if (attributes)
    pthread_mutexattr_getprotocol(attributes, &protocol);
  lending += protocol == PTHREAD_PRIO_INHERIT;
  return __real_pthread_mutex_init(lock, attributes);
}

TEST_CASE(locks_lend_priority)
{
  ws_settings_t settings = test_settings(1);
  settings.reserve = true; // all queues are there
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_TRUE(lending >= 4); // lanes, normal, high, low
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

TEST_MAIN_SEAMS("shared", SEAM(pthread_mutex_init))
