// SPDX-License-Identifier: BSD-3-Clause
/// @file work.h
/// For the programs of the tutorial: the time, and work that takes a given time.
#ifndef WORK_H
#define WORK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// Compute until @p us have passed.
static inline void work_us(uint64_t us)
{
  const uint64_t end_ns = now_ns() + us * 1000;
  while (now_ns() < end_ns)
    ;
}

static inline void sleep_until(uint64_t at_ns)
{
  const struct timespec at = {(time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
    ;
}

#endif
