// SPDX-License-Identifier: BSD-3-Clause
/// @file micro.c
/// micro.h.
#define _GNU_SOURCE
#include "micro.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void need(bool done, const char *what)
{
  if (done)
    return;
  fprintf(stderr, "ws_calibrate: %s: %s\n", what, strerror(errno));
  exit(1);
}

void micro_sleep_until(uint64_t until_ns)
{
  const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                                 .tv_nsec = (long)(until_ns % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
    ;
}

long micro_futex(const uint32_t *word, int operation, uint32_t value, const struct timespec *until)
{
  return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

void micro_wait(const uint32_t *word, uint32_t value)
{
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
    micro_futex(word, FUTEX_WAIT, value, NULL);
}

long micro_wake(const uint32_t *word)
{
  return micro_futex(word, FUTEX_WAKE, 1, NULL);
}

void micro_pin(uint32_t cpu)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  need(sched_setaffinity(0, sizeof(set), &set) == 0, "sched_setaffinity");
}

void micro_batch(void)
{
  const struct sched_param param = {0};
  need(sched_setscheduler(0, SCHED_BATCH, &param) == 0, "SCHED_BATCH");
}

bool micro_realtime(void)
{
  const struct sched_param param = {.sched_priority = 1};
  return sched_setscheduler(0, SCHED_FIFO, &param) == 0;
}

void micro_slack(uint64_t ns)
{
  need(prctl(PR_SET_TIMERSLACK, ns) == 0, "PR_SET_TIMERSLACK");
}

void micro_start(pthread_t *thread, void *(*func)(void *), void *arg)
{
  errno = pthread_create(thread, NULL, func, arg);
  need(errno == 0, "pthread_create");
}

static int compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double percentile(const double *sorted, uint32_t count, double share)
{
  const double at = share * (count - 1);
  const uint32_t below = (uint32_t)at;
  const uint32_t above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
}

void micro_print_spread(const char *name, double *values, uint32_t count)
{
  static const double shares[] = {0, 0.1, 0.5, 0.9, 0.99, 0.999};
  qsort(values, count, sizeof(double), compare);
  printf("\"%s\": [", name);
  for (uint32_t i = 0; i < 6; i++)
    printf("%s%.0f", i > 0 ? ", " : "", count > 0 ? percentile(values, count, shares[i]) : 0);
  printf("]");
}

double micro_median(double *values, uint32_t count)
{
  qsort(values, count, sizeof(double), compare);
  return percentile(values, count, 0.5);
}
