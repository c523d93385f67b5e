// SPDX-License-Identifier: BSD-3-Clause
/// @file squares.c
/// A program that uses the installed library: a burst of tasks, each of which computes a square.
#include <stdint.h>
#include <stdio.h>

#include "ws_pool.h"

#define TASKS 1000u

static void square(void *number_arg)
{
  uint64_t *number = number_arg;
  *number *= *number;
}

int main(void)
{
  static uint64_t number[TASKS];
  ws_settings_t settings;
  ws_pool_t *pool;
  ws_group_t group;
  uint64_t sum = 0;
  ws_settings_default(&settings);
  settings.workers = 2;
  const int error = ws_pool_create(&pool, &settings);
  if (error < 0) {
    fprintf(stderr, "ws_pool_create: %d\n", error);
    return 1;
  }
  ws_group_init(&group, TASKS);
  for (uint64_t i = 0; i < TASKS; i++) {
    number[i] = i;
    if (ws_pool_push(pool, (ws_task_t){.func = square, .arg = &number[i], .group = &group}) < 0)
      ws_group_complete(&group, 1); // refused: it will not run
  }
  ws_group_wait(&group, pool); // this thread runs tasks, too
  ws_pool_destroy(pool);
  for (uint32_t i = 0; i < TASKS; i++)
    sum += number[i];
  printf("the squares of 0 to %u add up to %llu\n", TASKS - 1, (unsigned long long)sum);
  return sum == 332833500 ? 0 : 1;
}
