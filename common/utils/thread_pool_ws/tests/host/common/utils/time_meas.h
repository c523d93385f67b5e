// SPDX-License-Identifier: BSD-3-Clause
/// @file time_meas.h
/// Stand-in for the host's time measurement: the cycle counter, and what a queue element fills in.
#ifndef WS_HOST_TIME_MEAS_H
#define WS_HOST_TIME_MEAS_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

typedef long long oai_cputime_t;

struct notifiedFIFO_elt_s;

typedef struct time_stats {
  oai_cputime_t in; ///< cycle counter at the start
  oai_cputime_t diff; ///< cycles from start to end, summed
  oai_cputime_t p_time;
  double diff_square;
  oai_cputime_t max;
  int trials;
  int meas_flag;
  char *meas_name;
  int meas_index;
  int meas_enabled;
  struct notifiedFIFO_elt_s *tpoolmsg;
} time_stats_t;

/// @return the cycle counter; where this file knows none, nanoseconds
static inline unsigned long long rdtsc_oai(void)
{
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
#endif
}

#endif
