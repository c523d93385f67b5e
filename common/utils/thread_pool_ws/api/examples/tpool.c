// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool.c
/// A program on the interface tpool: the sum of 1 to 4096 by halves, in which jobs add jobs to a buffer of
/// one; then an end at once, with jobs that may not have run.
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "tpool.h"

#define COUNT 4096u
#define JOBS 1000u

static tpool *pool;
static atomic_ullong sum;
static atomic_uint ran, refused;
static unsigned dropped;

typedef struct {
  uint32_t first, count;
} range_t;

static range_t range[2 * COUNT]; // a tree: the halves of i are 2 i and 2 i + 1

static void add_range(void *range_arg)
{
  const range_t *whole = range_arg;
  if (whole->count == 1) {
    sum += whole->first;
    return;
  }
  const uint32_t half = whole->count / 2;
  range_t *low = &range[2 * (whole - range)];
  low[0] = (range_t){whole->first, half};
  low[1] = (range_t){whole->first + half, half};
  for (uint32_t i = 0; i < 2; i++)
    if (tpool_add(pool, add_range, &low[i]) != 0)
      refused++;
}

static void count(void *unused)
{
  (void)unused;
  ran++;
}

static void drop(void *unused, void (*func)(void *), void *arg)
{
  (void)unused;
  (void)arg;
  if (func == count)
    dropped++;
}

int main(void)
{
  pool = tpool_create(2, 1);
  if (!pool) {
    perror("tpool_create");
    return 1;
  }
  range[1] = (range_t){1, COUNT};
  if (tpool_add(pool, add_range, &range[1]) != 0 || tpool_wait(pool) != 0)
    return 1;
  tpool_destroy(pool);

  pool = tpool_create(2, JOBS);
  for (uint32_t i = 0; pool && i < JOBS; i++)
    if (tpool_add(pool, count, NULL) != 0)
      refused++;
  const int64_t result = tpool_shutdown_now(pool, drop, NULL);
  tpool_destroy(pool);
  printf("sum %llu; %u ran, %u were dropped, %u refused\n", (unsigned long long)sum, ran, dropped, refused);
  return sum == 8390656 && ran + dropped == JOBS && result == dropped && refused == 0 ? 0 : 1;
}
