// SPDX-License-Identifier: BSD-3-Clause
// groups BURSTS   two threads, a pool each, whose tasks are alike but for their group: the argument is NULL.
// One pushes BURSTS times six "outer", each of which pushes four "inner" into the other's pool and joins
// them. The other pushes BURSTS times eight "inner".
#include <pthread.h>
#include <stdlib.h>

#include "ws_pool.h"

static ws_pool_t *of_rx, *of_tx;
static int bursts;

static void burst(ws_pool_t *pool, void (*func)(void *), unsigned tasks)
{
  ws_group_t group;
  ws_group_init(&group, tasks);
  for (unsigned i = 0; i < tasks; i++)
    if (ws_pool_push(pool, (ws_task_t){.func = func, .group = &group}) < 0)
      exit(2);
  ws_group_wait(&group, pool);
}

// Not static: the report finds their names.
void inner(void *arg);
void outer(void *arg);

void inner(void *arg)
{
  (void)arg;
}

void outer(void *arg)
{
  (void)arg;
  burst(of_tx, inner, 4);
}

static void *rx(void *arg)
{
  for (int i = 0; i < bursts; i++)
    burst(of_rx, outer, 6);
  return arg;
}

static void *tx(void *arg)
{
  for (int i = 0; i < bursts; i++)
    burst(of_tx, inner, 8);
  return arg;
}

int main(int argc, char **argv)
{
  bursts = argc > 1 ? atoi(argv[1]) : 1;
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 1;
  if (ws_pool_create(&of_rx, &settings) < 0 || ws_pool_create(&of_tx, &settings) < 0)
    return 1;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, rx, NULL);
  pthread_create(&threads[1], NULL, tx, NULL);
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  ws_pool_destroy(of_rx);
  ws_pool_destroy(of_tx);
  return 0;
}
