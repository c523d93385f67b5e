// SPDX-License-Identifier: BSD-3-Clause
// late_library FILE [stay]   a pool that runs tasks of a library which the program has just loaded. It ends,
// or says "ran" and waits for a signal. Compiled with -DLIBRARY it is that library.
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "ws_pool.h"

void in_library(void *arg);

#ifdef LIBRARY
void in_library(void *arg)
{
  (void)arg;
}
#else
int main(int argc, char **argv)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 1;
  ws_pool_t *pool;
  if (argc < 2 || ws_pool_create(&pool, &settings) < 0)
    return 1;
  void *library = dlopen(argv[1], RTLD_NOW);
  union {
    void *symbol;
    void (*func)(void *);
  } task = {.symbol = library ? dlsym(library, "in_library") : NULL};
  if (!task.symbol)
    return 2;
  ws_group_t group;
  ws_group_init(&group, 2);
  for (int i = 0; i < 2; i++)
    if (ws_pool_push(pool, (ws_task_t){.func = task.func, .group = &group}) < 0)
      return 3;
  ws_group_wait(&group, pool);
  if (argc > 2) {
    puts("ran");
    fflush(stdout);
    pause();
  }
  ws_pool_destroy(pool);
  return 0;
}
#endif
