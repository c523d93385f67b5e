// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_jitter.h
/// Included before every C file of the preset "jitter". Before one in 512 atomic operations the thread gives
/// its CPU away for up to 3 ms. Tests that rely on the speed of a thread then fail, as they would one day
/// beside load. The thread yields; if it slept, the guard would take it for one whose task blocks.
#ifndef WS_JITTER_H
#define WS_JITTER_H

#ifndef WS_SIMULATED // a simulated machine has faults of its own

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // it is included before the file that would
#endif
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WS_JITTER_ONE_IN 512u
#define WS_JITTER_LONG_ONE_IN 8u
#define WS_JITTER_LONG_NS 3000000u
#define WS_JITTER_SHORT_NS 200000u

static inline uint64_t ws_jitter_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// xorshift64 (Marsaglia 2003), a sequence for each thread and file.
static inline uint64_t ws_jitter_random(void)
{
  static __thread uint64_t x;
  if (x == 0)
    x = ws_jitter_now_ns() ^ (uint64_t)(uintptr_t)&x;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return x;
}

static inline bool ws_jitter(void)
{
  const uint64_t drawn = ws_jitter_random();
  if (drawn % WS_JITTER_ONE_IN != 0)
    return true;
  const bool is_long = (drawn >> 20) % WS_JITTER_LONG_ONE_IN == 0;
  const uint64_t until_ns =
      ws_jitter_now_ns() + (drawn >> 32) % (is_long ? WS_JITTER_LONG_NS : WS_JITTER_SHORT_NS);
  while (ws_jitter_now_ns() < until_ns)
    syscall(SYS_sched_yield); // tests count the pool's calls of sched_yield
  return true;
}

#define __atomic_load_n(...) (ws_jitter(), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) (ws_jitter(), __atomic_store_n(__VA_ARGS__))
#define __atomic_exchange_n(...) (ws_jitter(), __atomic_exchange_n(__VA_ARGS__))
#define __atomic_fetch_add(...) (ws_jitter(), __atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_sub(...) (ws_jitter(), __atomic_fetch_sub(__VA_ARGS__))
#define __atomic_fetch_or(...) (ws_jitter(), __atomic_fetch_or(__VA_ARGS__))
#define __atomic_fetch_and(...) (ws_jitter(), __atomic_fetch_and(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) (ws_jitter(), __atomic_compare_exchange_n(__VA_ARGS__))

#endif

#endif
