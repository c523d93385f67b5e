// SPDX-License-Identifier: BSD-3-Clause
/// @file series.h
/// One series of wakes: the same way to wake, gap, class and idle states.
#ifndef WAKES_SERIES_H
#define WAKES_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define SERIES_SAMPLES_MAX 100000u

typedef enum {
  WAKE_FUTEX, ///< asleep in the kernel until another CPU calls
  WAKE_TIMER, ///< asleep until a time of its own
  WAKE_LOOK, ///< awake, looks at a word that another CPU writes
} wake_kind_t;

typedef struct {
  wake_kind_t kind;
  uint32_t gap_us; ///< how long it sleeps, or looks, before each wake
  uint32_t samples; ///< at most SERIES_SAMPLES_MAX
  uint32_t cpu; ///< of the thread that is woken
  uint32_t caller_cpu; ///< of the thread that wakes it; another one
  uint32_t priority; ///< of both in SCHED_FIFO; 0 = both in the normal class
} series_t;

typedef struct {
  uint64_t latency_ns[SERIES_SAMPLES_MAX];
  uint64_t call_ns[SERIES_SAMPLES_MAX]; ///< what waking cost the caller; not of WAKE_TIMER
  uint32_t samples;
  uint32_t awake; ///< not counted in samples: it was not asleep when it should be woken
} series_result_t;

/// @return 0 or the error of what the kernel refused: a CPU, the class
int32_t series_run(const series_t *series, series_result_t *result);

#endif
