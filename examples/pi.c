// SPDX-License-Identifier: BSD-3-Clause
/// @file pi.c
/// A program that uses the installed library: pi as the integral of 4 / (1 + x * x) from 0 to 1, a parallel
/// reduction, by threads that float or that are pinned. An observer notes where each worker starts.
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "ws_pool.h"
#include "ws_reduce.h"

#define INTERVALS UINT64_C(10000000)
#define THREADS_MAX 1024u

static const char usage[] =
    "usage: pi [THREADS [STEP [FIRST]]]\n"
    "THREADS  that compute, this one too. Default: one for each CPU that the process may use\n"
    "STEP     from a thread's CPU to the next one's; 2 skips SMT siblings where they are numbered in pairs.\n"
    "         Default 0: threads float\n"
    "FIRST    CPU of the first worker; 1 leaves out the CPU that the kernel interrupts most. Default 0\n";

typedef struct {
  int32_t cpu[THREADS_MAX]; ///< of each worker
  _Atomic uint32_t workers_in;
} tracker_t;

/// Called on each worker's own thread.
static void observe(void *tracker_arg, const ws_observation_t *observation)
{
  tracker_t *tracker = tracker_arg;
  if (observation->what != WS_OBSERVED_START)
    return;
  tracker->cpu[observation->worker] = observation->cpu;
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

static void pin_this_thread(int32_t cpu)
{
  const size_t cpus = (size_t)cpu + 1, bytes = CPU_ALLOC_SIZE(cpus);
  cpu_set_t *one = CPU_ALLOC(cpus);
  if (!one)
    return;
  CPU_ZERO_S(bytes, one);
  CPU_SET_S((size_t)cpu, bytes, one);
  if (sched_setaffinity(0, bytes, one) != 0)
    perror("sched_setaffinity");
  CPU_FREE(one);
}

/// @return whether an argument that is there is a number up to @p max
static bool read_number(int argc, char **argv, int index, uint32_t max, uint32_t *number)
{
  if (index >= argc)
    return true;
  char *end;
  const unsigned long value = strtoul(argv[index], &end, 10);
  *number = (uint32_t)value;
  return argv[index][0] >= '0' && argv[index][0] <= '9' && *end == '\0' && value <= max;
}

int main(int argc, char **argv)
{
  static tracker_t tracker;
  ws_settings_t settings;
  ws_settings_default(&settings);
  uint32_t threads = settings.workers;
  if (argc > 4 || !read_number(argc, argv, 1, THREADS_MAX, &threads) || threads == 0
      || !read_number(argc, argv, 2, THREADS_MAX, &settings.pin_step)
      || !read_number(argc, argv, 3, THREADS_MAX, &settings.pin_first)) {
    fprintf(stderr, "pi: expected numbers up to %u\n%s", THREADS_MAX, usage);
    return 2;
  }
  settings.workers = threads - 1;
  settings.observer = observe;
  settings.observer_arg = &tracker;
  const int32_t own_cpu = ws_settings_cpu(&settings, settings.workers); // before this thread is pinned
  ws_pool_t *pool;
  const int error = ws_pool_create(&pool, &settings);
  if (error < 0) {
    fprintf(stderr, "ws_pool_create: %d\n", error);
    return 1;
  }
  if (own_cpu >= 0)
    pin_this_thread(own_cpu);
  ws_stats_t stats;
  ws_pool_stats(pool, &stats, NULL, 0);
  while (atomic_load(&tracker.workers_in) < stats.workers) // until all workers are in
    sched_yield();
  for (uint32_t i = 0; i < stats.workers; i++)
    printf("worker %u on CPU %d\n", i, tracker.cpu[i]);
  printf("this thread on CPU %d\n", sched_getcpu());
  double width = 1.0 / INTERVALS, sum = 0;
  const ws_reduce_t heights = {.piece = add_heights, .combine = add, .arg = &width, .bytes = sizeof sum};
  ws_reduce(pool, &heights, 0, INTERVALS, &sum); // this thread computes, too
  ws_pool_destroy(pool);
  const double pi = sum * width;
  printf("pi is %.12f, computed by %u workers and this thread\n", pi, stats.workers);
  return fabs(pi - 3.14159265358979323846) < 1e-10 ? 0 : 1;
}
