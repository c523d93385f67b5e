// SPDX-License-Identifier: BSD-3-Clause
/// @file task_manager.c
/// A manager is a pool. The user's function is the function of the pool's task, so a task costs as much as in
/// the core.
#include "task_manager.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "../base/ws_base.h"
#include "ws_pool.h"

#define LOST "man was made before this process was forked"

static ws_pool_t *live_pool(const task_manager_t *man, const char *function)
{
  if (!man)
    ws_misuse(function, "man is NULL");
  if (!man->pool)
    ws_misuse(function, "man has been freed");
  return man->pool;
}

static void clean_skipped(void *man_arg, const ws_task_t *task)
{
  task_manager_t *man = man_arg;
  pthread_mutex_lock(&man->cleaning); // several workers may skip tasks at once; it also publishes clean
  if (man->clean)
    man->clean(task->arg);
  pthread_mutex_unlock(&man->cleaning);
}

void init_task_manager(task_manager_t *man, uint32_t num_threads)
{
  if (!man)
    ws_misuse(__func__, "man is NULL");
  if (num_threads == 0)
    ws_misuse(__func__, "num_threads is 0");
  *man = (task_manager_t){0};
  pthread_mutex_init(&man->cleaning, NULL);
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.name = "manager";
  settings.workers = num_threads;
  settings.skipped = clean_skipped;
  settings.skipped_arg = man;
  ws_settings_environment(&settings);
  const int error = ws_pool_create(&man->pool, &settings); // an invalid number has a warning
  if (error < 0)
    ws_misuse(__func__, "%s", strerror(-error));
}

void free_task_manager(task_manager_t *man, void (*clean)(void *args))
{
  ws_pool_t *pool = live_pool(man, __func__);
  if (ws_pool_is_lost(pool)) { // a thread of the parent may hold the lock
    man->pool = NULL;
    return;
  }
  pthread_mutex_lock(&man->cleaning);
  man->clean = clean;
  pthread_mutex_unlock(&man->cleaning);
  if (ws_pool_stop(pool, WS_STOP_ABORT) == -EDEADLK)
    ws_misuse(__func__, "called inside a task of man");
  ws_pool_destroy(pool);
  pthread_mutex_destroy(&man->cleaning);
  man->pool = NULL;
}

void async_task_manager(task_manager_t *man, task_t task)
{
  const int error = ws_pool_push(live_pool(man, __func__), (ws_task_t){.func = task.func, .arg = task.args});
  if (__builtin_expect(error < 0, 0))
    ws_misuse(__func__, "%s",
              error == -EINVAL  ? "task.func is NULL"
              : error == -ESRCH ? LOST
                                : "free_task_manager() is under way");
}

void wait_all_task_manager(task_manager_t *man)
{
  const int error = ws_pool_wait(live_pool(man, __func__));
  if (error < 0)
    ws_misuse(__func__, "%s", error == -ESRCH ? LOST : "called inside a task of man");
}
