// SPDX-License-Identifier: BSD-3-Clause
/// @file test_task_manager.c
/// The interface task_manager: its end with tasks that never ran, and its refusals.
#include "../task_manager.h"

#include "../../tests/support/ws_death.h"

#define TASKS 500u

/// One worker stands in a task until the end has taken all others off the queues.
static struct {
  task_manager_t man;
  sem_t entered, pushed_all;
  bool pushes_one; ///< once more, then
  ws_au32_t cleaned[TASKS + 1];
  ws_au32_t inside, overlaps, ran, late;
} ending;

static void clean(void *index_arg)
{
  if (ws_add_relaxed(&ending.inside, 1) != 0)
    ws_add_relaxed(&ending.overlaps, 1);
  ws_add_relaxed(&ending.cleaned[(uintptr_t)index_arg], 1);
  ws_sub_relaxed(&ending.inside, 1);
}

static void never(void *unused)
{
  ws_add_relaxed(&ending.ran, 1);
}

static bool is_empty(void *unused)
{
  return test_stats(ending.man.pool).queued_tasks == 0;
}

static void stand(void *unused)
{
  sem_post(&ending.entered);
  if (!test_sem_wait(&ending.pushed_all) || !test_until(is_empty, unused))
    ws_add_relaxed(&ending.late, 1);
  if (ending.pushes_one)
    async_task_manager(&ending.man, (task_t){.args = (void *)(uintptr_t)TASKS, .func = never});
}

TEST_CASE(free_cleans_or_drops_what_never_ran)
{
  static const struct {
    void (*clean)(void *);
    bool pushes_one;
  } rows[] = {{NULL, false}, {clean, false}, {clean, true}};
  for (uint32_t row = 0; row < TEST_COUNT(rows); row++) {
    memset(&ending, 0, sizeof ending);
    ending.pushes_one = rows[row].pushes_one;
    sem_init(&ending.entered, 0, 0);
    sem_init(&ending.pushed_all, 0, 0);
    init_task_manager(&ending.man, 1);
    async_task_manager(&ending.man, (task_t){.func = stand});
    CU_ASSERT_FATAL(test_sem_wait(&ending.entered));
    for (uintptr_t i = 0; i < TASKS; i++)
      async_task_manager(&ending.man, (task_t){.args = (void *)i, .func = never});
    sem_post(&ending.pushed_all);
    free_task_manager(&ending.man, rows[row].clean);
    for (uint32_t i = 0; i <= TASKS; i++)
      CU_ASSERT_EQUAL_FATAL(ws_load_relaxed(&ending.cleaned[i]),
                            rows[row].clean && (i < TASKS || rows[row].pushes_one));
    CU_ASSERT(ws_load_relaxed(&ending.overlaps) == 0 && ws_load_relaxed(&ending.ran) == 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&ending.late), 0);
  }
}

static void wait_in_task(void *man)
{
  wait_all_task_manager(man);
}

static void free_in_task(void *man)
{
  free_task_manager(man, NULL);
}

typedef enum {
  INIT_NULL,
  INIT_NONE,
  INIT_TOO_MANY,
  ASYNC_NULL,
  WAIT_NULL,
  ASYNC_WITHOUT_FUNC,
  FREE_TWICE,
  WAIT_INSIDE,
  FREE_INSIDE
} misuse_t;
static const struct {
  misuse_t misuse;
  const char *message;
} misuses[] = {{INIT_NULL, "init_task_manager(): man is NULL"},
               {INIT_NONE, "init_task_manager(): num_threads is 0"},
               {INIT_TOO_MANY, "init_task_manager(): Invalid argument"},
               {INIT_TOO_MANY, "workers"},
               {ASYNC_NULL, "async_task_manager(): man is NULL"},
               {WAIT_NULL, "wait_all_task_manager(): man is NULL"},
               {ASYNC_WITHOUT_FUNC, "async_task_manager(): task.func is NULL"},
               {FREE_TWICE, "free_task_manager(): man has been freed"},
               {WAIT_INSIDE, "wait_all_task_manager(): called inside a task of man"},
               {FREE_INSIDE, "free_task_manager(): called inside a task of man"}};
static misuse_t misuse;

/// Ends the process.
static void use_wrongly(void)
{
  static const uint32_t threads[] = {[INIT_NONE] = 0,  [INIT_TOO_MANY] = 1025, [ASYNC_WITHOUT_FUNC] = 1,
                                     [FREE_TWICE] = 1, [WAIT_INSIDE] = 1,      [FREE_INSIDE] = 1};
  task_manager_t man;
  if (misuse == ASYNC_NULL)
    async_task_manager(NULL, (task_t){.func = test_count_task});
  if (misuse == WAIT_NULL)
    wait_all_task_manager(NULL);
  init_task_manager(misuse == INIT_NULL ? NULL : &man, threads[misuse]);
  if (misuse == ASYNC_WITHOUT_FUNC)
    async_task_manager(&man, (task_t){0});
  if (misuse == WAIT_INSIDE || misuse == FREE_INSIDE) {
    async_task_manager(&man,
                       (task_t){.args = &man, .func = misuse == WAIT_INSIDE ? wait_in_task : free_in_task});
    wait_all_task_manager(&man);
  }
  free_task_manager(&man, NULL);
  free_task_manager(&man, NULL);
}

TEST_CASE(invalid_use_ends_the_process)
{
  for (uint32_t i = 0; i < TEST_COUNT(misuses); i++) {
    misuse = misuses[i].misuse;
    CU_ASSERT(dies_with(use_wrongly, misuses[i].message));
  }
}

TEST_MAIN("task_manager")
