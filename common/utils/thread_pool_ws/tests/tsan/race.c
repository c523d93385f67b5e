// SPDX-License-Identifier: BSD-3-Clause
/// @file race.c
/// Two accesses of a plain variable that nothing orders: ThreadSanitizer must report them. WS_TEST_RACE names
/// the function that races. One access follows the other in time, by a flag that orders nothing. So the
/// report does not depend on chance.
#include <stdlib.h>
#include <string.h>

#include "ws_pool.h"

long shared; ///< not static: the compiler would leave out stores that nothing reads
static int flag; ///< accessed relaxed: orders nothing

static void raise_flag(void)
{
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
}

static void await_flag(void)
{
  while (!__atomic_load_n(&flag, __ATOMIC_RELAXED))
    ;
}

static void write_first(void *unused)
{
  shared = 1;
  raise_flag();
}

static void write_second(void *unused)
{
  await_flag();
  shared = 2;
}

static void push(ws_pool_t *pool, void (*func)(void *), void *arg, ws_group_t *group)
{
  if (ws_pool_push(pool, (ws_task_t){.func = func, .arg = arg, .group = group}) < 0)
    abort();
}

/// The task is over, but its group has not been waited for.
static void without_wait(ws_pool_t *pool)
{
  ws_group_t group;
  ws_group_init(&group, 1);
  push(pool, write_first, NULL, &group);
  await_flag();
  shared = 3;
  ws_group_wait(&group, pool);
}

/// Two tasks of one group. The second holds its thread until the first has run on another.
static void between_tasks(ws_pool_t *pool)
{
  ws_group_t group;
  ws_group_init(&group, 2);
  push(pool, write_second, NULL, &group);
  push(pool, write_first, NULL, &group);
  ws_group_wait(&group, NULL);
}

/// The pusher writes after the push.
static void after_push(ws_pool_t *pool)
{
  ws_group_t group;
  ws_group_init(&group, 1);
  push(pool, write_second, NULL, &group);
  shared = 4;
  raise_flag();
  ws_group_wait(&group, NULL); // does not run the task
}

static const struct {
  const char *name;
  void (*run)(ws_pool_t *pool);
} races[] = {{"without_wait", without_wait}, {"between_tasks", between_tasks}, {"after_push", after_push}};

int main(void)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 2;
  ws_pool_t *pool;
  if (ws_pool_create(&pool, &settings) < 0)
    return 1;
  for (size_t i = 0; i < sizeof(races) / sizeof(races[0]); i++)
    if (strcmp(races[i].name, WS_TEST_RACE) == 0)
      races[i].run(pool);
  ws_pool_destroy(pool);
  return 0;
}
