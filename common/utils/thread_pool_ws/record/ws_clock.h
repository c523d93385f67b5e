// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_clock.h
/// The clock of the rings: ns since some time, at the rate of CLOCK_MONOTONIC. It is the CPU's counter, which
/// takes less time to read than the clock, if Linux uses that for its own clock.
///
/// The counter is compared with CLOCK_MONOTONIC in pairs of reads. Of several tries the tightest pair counts,
/// and a pair that took longer than 20 us not at all: a thread that was preempted in between would give a
/// wrong rate for the life of the process. The rate is measured once, as all events share it.
#ifndef WS_CLOCK_H
#define WS_CLOCK_H

#include "../os/ws_os.h" // IWYU pragma: export

/// Written before the first event. ns_a_tick is 0 if the counter cannot be used.
extern struct ws_clock_s {
  double ns_a_tick;
} ws_clock;

/// @brief Measure the rate: some ms, once in a process.
void ws_clock_begin(void);

/// @brief Read the rings' clock, and CLOCK_REALTIME at the same time.
void ws_clock_pair(uint64_t *own_ns, uint64_t *real_ns);

/// The CPU's counter; 0 = it cannot be read.
static inline uint64_t ws_clock_ticks(void)
{
#if defined(__x86_64__) && !defined(WS_SIMULATED)
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

static inline uint64_t ws_clock_ns(void)
{
  const bool counts = WS_LIKELY(ws_clock.ns_a_tick > 0);
  return counts ? (uint64_t)((double)(int64_t)ws_clock_ticks() * ws_clock.ns_a_tick) : ws_os_now_ns();
}

/// @return 0 if the counter has begun anew since: the machine was suspended
static inline uint64_t ws_clock_since(uint64_t then_ns, uint64_t now_ns)
{
  return now_ns > then_ns ? now_ns - then_ns : 0;
}

#endif
