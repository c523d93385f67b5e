// SPDX-License-Identifier: BSD-3-Clause
/// @file pipeline.c
/// Two fibers on one worker: one makes numbers, the other adds them up. Each waits for the other by a
/// semaphore, and the worker runs the one that can go on.
#include <inttypes.h>
#include <stdio.h>

#include "ws_fiber.h"
#include "ws_sync.h"

#define PLACES 4u
#define NUMBERS 1000u

typedef struct {
  ws_sem_t free, full;
  uint64_t place[PLACES], sum;
} pipe_t;

static void make(void *pipe_arg)
{
  pipe_t *pipe = pipe_arg;
  for (uint64_t i = 0; i < NUMBERS; i++) {
    ws_sem_wait(&pipe->free);
    pipe->place[i % PLACES] = i;
    ws_sem_post(&pipe->full, 1);
  }
}

static void add(void *pipe_arg)
{
  pipe_t *pipe = pipe_arg;
  for (uint64_t i = 0; i < NUMBERS; i++) {
    ws_sem_wait(&pipe->full);
    pipe->sum += pipe->place[i % PLACES];
    ws_sem_post(&pipe->free, 1);
  }
}

int main(void)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 1;
  ws_pool_t *pool;
  if (ws_pool_create(&pool, &settings) < 0)
    return 1;
  pipe_t pipe = {.free = WS_SEM_INIT(PLACES), .full = WS_SEM_INIT(0)};
  ws_group_t group;
  ws_group_init(&group, 2);
  if (ws_fiber_push(pool, make, &pipe, &group, NULL) < 0 || ws_fiber_push(pool, add, &pipe, &group, NULL) < 0)
    return 1;
  ws_group_wait(&group, pool);
  ws_pool_destroy(pool);
  printf("%" PRIu64 "\n", pipe.sum);
  return pipe.sum == (uint64_t)NUMBERS * (NUMBERS - 1) / 2 ? 0 : 1;
}
