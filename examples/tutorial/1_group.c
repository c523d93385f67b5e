// SPDX-License-Identifier: BSD-3-Clause
/// @file 1_group.c
/// docs/tutorial.md, step 1: a burst of tasks, and a wait for all of them.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ws_pool.h"

#define PIECES 8u
#define NUMBERS 8000000u

typedef struct {
  uint64_t first, end, sum;
} piece_t;

static void add_up(void *piece_arg)
{
  piece_t *piece = piece_arg;
  for (uint64_t i = piece->first; i < piece->end; i++)
    piece->sum += i;
}

int main(void)
{
  ws_settings_t settings;
  ws_settings_default(&settings); // a worker for each CPU
  ws_pool_t *pool;
  const int error = ws_pool_create(&pool, &settings);
  if (error < 0) {
    fprintf(stderr, "ws_pool_create: %s\n", strerror(-error));
    return 1;
  }

  piece_t piece[PIECES];
  ws_group_t group;
  ws_group_init(&group, PIECES);
  for (uint32_t i = 0; i < PIECES; i++) {
    piece[i] = (piece_t){.first = (uint64_t)i * NUMBERS / PIECES, .end = (i + 1ull) * NUMBERS / PIECES};
    if (ws_pool_push(pool, (ws_task_t){.func = add_up, .arg = &piece[i], .group = &group}) < 0)
      ws_group_complete(&group, 1); // refused: it will not run
  }
  ws_group_wait(&group, pool); // this thread runs tasks, too

  uint64_t sum = 0;
  for (uint32_t i = 0; i < PIECES; i++)
    sum += piece[i].sum;
  printf("the numbers below %u add up to %" PRIu64 "\n", NUMBERS, sum);
  ws_pool_destroy(pool);
  return sum == (uint64_t)NUMBERS * (NUMBERS - 1) / 2 ? 0 : 1;
}
