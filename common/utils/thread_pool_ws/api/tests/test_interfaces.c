// SPDX-License-Identifier: BSD-3-Clause
/// @file test_interfaces.c
/// What the interfaces task_manager, tpool and ws_sched have in common, as a program would use each by the
/// description in its header.
#include "../../tests/support/ws_death.h"
#include "../task_manager.h"
#include "../tpool.h"
#include "../ws_sched.h"

#define TASKS 511u

static struct {
  void *pool;
  task_manager_t man;
  ws_sched_task_t task[TASKS]; ///< of ws_sched
  ws_au64_t ran[TASKS], refused;
} play;

static void note(int result)
{
  ws_add_relaxed(&play.refused, result != 0);
}

static void begin_man(int threads, int unused)
{
  init_task_manager(&play.man, (uint32_t)threads);
}

static void push_man(void (*func)(void *), uint32_t number)
{
  async_task_manager(&play.man, (task_t){.args = &play.ran[number], .func = func});
}

static void wait_man(void)
{
  wait_all_task_manager(&play.man);
}

static void end_man(void)
{
  free_task_manager(&play.man, NULL);
  CU_ASSERT_PTR_NULL(play.man.pool);
}

static void begin_tpool(int threads, int buffer)
{
  play.pool = tpool_create(threads, buffer);
}

static void push_tpool(void (*func)(void *), uint32_t number)
{
  note(tpool_add(play.pool, func, &play.ran[number]));
}

static void wait_tpool(void)
{
  note(tpool_wait(play.pool));
}

static void end_tpool(void)
{
  note(tpool_destroy(play.pool));
}

static void begin_sched(int threads, int capacity)
{
  play.pool = sched_init((uint32_t)threads, (uint32_t)capacity);
}

/// The same tasks again in each round.
static void push_sched(void (*func)(void *), uint32_t number)
{
  note(sched_is_complete(&play.task[number]) == 0);
  note(sched_task_init(&play.task[number], func, &play.ran[number], (ws_priority_t)(number % 3)));
  note(sched_post(play.pool, &play.task[number]));
}

static void wait_sched(void)
{
  note(sched_execute(play.pool));
}

static void end_sched(void)
{
  note(sched_fini(play.pool));
}

/// A buffer below the number of tasks is full nearly always, for adds of threads and of jobs.
static const struct {
  int buffer;
  void (*begin)(int threads, int buffer), (*push)(void (*func)(void *), uint32_t number), (*wait)(void),
      (*end)(void);
} faces[] = {
    {0, begin_man, push_man, wait_man, end_man},
    {1, begin_tpool, push_tpool, wait_tpool, end_tpool},
    {10, begin_tpool, push_tpool, wait_tpool, end_tpool},
    {1000, begin_tpool, push_tpool, wait_tpool, end_tpool},
    {TASKS, begin_sched, push_sched, wait_sched, end_sched},
};
static size_t face;

static void begin_and_end(void)
{
  faces[face].begin(1, 1);
  faces[face].end();
}

TEST_CASE(the_environment_is_read)
{
  for (face = 0; face < TEST_COUNT(faces); face++)
    CU_ASSERT(reads_environment(begin_and_end));
}

/// Task i pushes its children, 2 i + 1 and 2 i + 2.
static void grow(void *ran)
{
  const uint32_t number = (uint32_t)((ws_au64_t *)ran - play.ran);
  test_count_task(ran);
  for (uint32_t child = 2 * number + 1; child <= 2 * number + 2 && child < TASKS; child++)
    faces[face].push(grow, child);
}

/// Of a thread, and of tasks of tasks: a wait is for those, too.
TEST_CASE(each_task_runs_once)
{
  for (face = 0; face < TEST_COUNT(faces); face++) {
    for (int threads = 1; threads <= 8; threads++) {
      memset(&play, 0, sizeof play);
      faces[face].begin(threads, faces[face].buffer);
      for (uint32_t round = 1; round <= 4; round++) {
        if (round % 2)
          faces[face].push(grow, 0);
        for (uint32_t i = 0; i < TASKS && round % 2 == 0; i++)
          faces[face].push(test_count_task, i);
        faces[face].wait();
        for (uint32_t i = 0; i < TASKS; i++)
          CU_ASSERT_EQUAL_FATAL(test_value(&play.ran[i]), round);
      }
      faces[face].end();
      CU_ASSERT_EQUAL(test_value(&play.refused), 0);
    }
  }
}

TEST_MAIN("interfaces")
