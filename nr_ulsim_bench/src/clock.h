// SPDX-License-Identifier: BSD-3-Clause
/// @file clock.h
/// The clock of all measurements, and work of a given length.
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>
#include <time.h> // IWYU pragma: export

/// More than this between two looks at the clock, of 20 to 60 ns each, means that the thread was off the CPU.
#define WORK_GAP_NS_MAX 300

static inline uint64_t clock_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void clock_sleep_until(uint64_t deadline_ns)
{
  struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                              .tv_nsec = (long)(deadline_ns % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) != 0)
    ;
}

/// Compute for @p work_ns on a CPU. Time off the CPU does not count: else two tasks that share a core would
/// both advance at full speed, and a pool with too many threads would look good.
/// @return when it began
static inline uint64_t busy_work(uint64_t work_ns)
{
  const uint64_t start_ns = clock_now_ns();
  uint64_t last_ns = start_ns;
  for (uint64_t done_ns = 0; done_ns < work_ns;) {
    const uint64_t now_ns = clock_now_ns();
    const uint64_t gap_ns = now_ns - last_ns;
    done_ns += gap_ns < WORK_GAP_NS_MAX ? gap_ns : WORK_GAP_NS_MAX;
    last_ns = now_ns;
  }
  return start_ns;
}

#endif
