// SPDX-License-Identifier: BSD-3-Clause
/// @file pi.c
/// A program that uses the installed library: pi as the integral of 4 / (1 + x * x) from 0 to 1, a parallel
/// reduction. An observer pins each worker to a CPU, and counts those that have started.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "ws_pool.h"
#include "ws_reduce.h"

#define INTERVALS UINT64_C(10000000)
#define PIN_STEP 1u // 2 skips SMT siblings where they are numbered in pairs
#define PIN_FIRST 1u // leaves out the first CPU, which the kernel interrupts most

typedef struct {
  cpu_set_t mask; ///< CPUs of this process
  _Atomic uint32_t workers_in;
} tracker_t;

/// Called on each worker's own thread.
static void observe(void *tracker_arg, const ws_observation_t *observation)
{
  tracker_t *tracker = tracker_arg;
  if (observation->what != WS_OBSERVED_START)
    return;
  uint32_t left = (PIN_FIRST + observation->worker * PIN_STEP) % (uint32_t)CPU_COUNT(&tracker->mask);
  uint32_t cpu = 0;
  while (!CPU_ISSET(cpu, &tracker->mask) || left-- > 0)
    cpu++;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
  atomic_fetch_add(&tracker->workers_in, 1);
}

/// Add the heights of the intervals [first, end), each at its midpoint.
static void add_heights(void *width_arg, uint64_t first, uint64_t end, void *sum)
{
  const double width = *(const double *)width_arg;
  for (uint64_t i = first; i < end; i++) {
    const double x = ((double)i + 0.5) * width;
    *(double *)sum += 4 / (1 + x * x);
  }
}

static void add(void *width_arg, void *left, const void *right)
{
  (void)width_arg;
  *(double *)left += *(const double *)right;
}

int main(void)
{
  static tracker_t tracker;
  sched_getaffinity(0, sizeof tracker.mask, &tracker.mask);
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 2;
  settings.observer = observe;
  settings.observer_arg = &tracker;
  ws_pool_t *pool;
  const int error = ws_pool_create(&pool, &settings);
  if (error < 0) {
    fprintf(stderr, "ws_pool_create: %d\n", error);
    return 1;
  }
  ws_stats_t stats;
  ws_pool_stats(pool, &stats, NULL, 0);
  while (atomic_load(&tracker.workers_in) < stats.workers) // until all workers are in
    sched_yield();
  double width = 1.0 / INTERVALS, sum = 0;
  const ws_reduce_t heights = {.piece = add_heights, .combine = add, .arg = &width, .bytes = sizeof sum};
  ws_reduce(pool, &heights, 0, INTERVALS, &sum); // this thread computes, too
  ws_pool_destroy(pool);
  const double pi = sum * width;
  printf("pi is %.12f, computed by %u workers and this thread\n", pi, stats.workers);
  return fabs(pi - 3.14159265358979323846) < 1e-10 ? 0 : 1;
}
