// SPDX-License-Identifier: BSD-3-Clause
/// @file test_rt_sched.c
/// After sched_init() nothing asks for memory (ws_asked.h): not the first posts of each priority, not those
/// of tasks, not those of more threads than lanes, not waits.

#include "../../tests/support/ws_asked.h"
#include "../ws_sched.h"

#define THREADS (WS_SCHED_LANES + 3)
#define TASKS 30u ///< of each thread
#define LOST 101 ///< exit status: a task was not posted, or did not run

static struct {
  ws_sched_t *sched;
  ws_sched_task_t task[THREADS][TASKS], child[THREADS][TASKS];
  ws_au64_t ran, refused;
  sem_t begin, ended, leave;
} crowd;

static void post(ws_sched_task_t *task)
{
  if (sched_post(crowd.sched, task) != 0)
    ws_add_relaxed(&crowd.refused, 1);
}

static void count_and_post(void *child)
{
  ws_add_relaxed(&crowd.ran, 1);
  post(child);
}

static void prepare(uint32_t thread)
{
  for (uint32_t i = 0; i < TASKS; i++) {
    ws_sched_task_t *child = &crowd.child[thread][i];
    sched_task_init(child, test_count_task, &crowd.ran, (ws_priority_t)(i % 3));
    sched_task_init(&crowd.task[thread][i], count_and_post, child, (ws_priority_t)(i / 3 % 3));
  }
}

/// One that ends when all have posted: it keeps its lane.
static void *post_twice(void *own_tasks)
{
  ws_sched_task_t *task = own_tasks;
  test_sem_wait(&crowd.begin);
  for (uint32_t round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < TASKS; i++)
      post(&task[i]);
    if (sched_execute(crowd.sched) != 0)
      ws_add_relaxed(&crowd.refused, 1);
    for (uint32_t i = 0; i < TASKS; i++)
      if (sched_is_complete(&task[i]) != 1)
        ws_add_relaxed(&crowd.refused, 1);
  }
  sem_post(&crowd.ended);
  test_sem_wait(&crowd.leave);
  return NULL;
}

static int count_from_the_start(void *workers)
{
  memset(&crowd, 0, sizeof crowd);
  sem_init(&crowd.begin, 0, 0);
  sem_init(&crowd.ended, 0, 0);
  sem_init(&crowd.leave, 0, 0);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < THREADS; i++) {
    prepare(i);
    test_spawn(&threads, post_twice, crowd.task[i]);
  }
  crowd.sched = sched_init(*(uint32_t *)workers, 2 * THREADS * TASKS);
  if (!crowd.sched)
    return LOST;
  count_begin();
  for (uint32_t i = 0; i < THREADS; i++)
    sem_post(&crowd.begin);
  for (uint32_t i = 0; i < THREADS; i++)
    test_sem_wait(&crowd.ended);
  sched_execute(crowd.sched);
  const int count = count_end();
  for (uint32_t i = 0; i < THREADS; i++)
    sem_post(&crowd.leave);
  test_join(&threads);
  sched_fini(crowd.sched);
  const uint64_t wanted = 2 * 2 * THREADS * TASKS; // rounds, tasks and their children
  return test_value(&crowd.refused) == 0 && test_value(&crowd.ran) == wanted ? count : LOST;
}

TEST_CASE(no_memory_after_the_start)
{
  for (uint32_t workers = 1; workers <= 4; workers += 3) {
    const int code = test_in_child(count_from_the_start, &workers);
    if (code != 0)
      printf("\n  %u workers: %d ", workers, code);
    CU_ASSERT_EQUAL(code, 0);
  }
}

TEST_MAIN("rt_sched")
