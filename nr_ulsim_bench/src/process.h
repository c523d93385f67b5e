// SPDX-License-Identifier: BSD-3-Clause
/// @file process.h
/// Child processes that end: with their parent, after a time, or when asked to.
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef enum {
  NOISE_NORMAL, ///< normal class, as nice as this process
  NOISE_LOWEST, ///< nice 19
  NOISE_SESSION, ///< nice 19 in a session of its own: with autogroups it weighs as much as this session
  NOISE_REALTIME, ///< SCHED_FIFO, below the workers of a pool
  NOISE_HOST ///< SCHED_FIFO above all, on one CPU, for exponential times: a host that takes this CPU away
} noise_kind_t;

/// What another program does.
typedef struct {
  noise_kind_t kind;
  uint64_t on_us; ///< time for which it computes, with or without a CPU
  uint64_t off_us; ///< time for which it then sleeps; 0 = it computes all the time
  uint32_t cpu; ///< of NOISE_HOST, and the seed of its times
} noise_t;

/// @brief The calling process is killed when its parent dies.
void process_die_with_parent(void);

/// @brief Start children that compute beside a measurement and end with this process.
/// @param child  out, [count]; -1 = not started
/// @return false with errno = one is missing
bool process_start_all(const noise_t *noise, uint32_t count, pid_t *child);

/// @brief End them.
void process_end_all(const pid_t *child, uint32_t count);

/// @brief Kill a child and wait until it is gone.
void process_end(pid_t process);

/// @brief Let the kernel kill this process when process_set_limit() has run out.
/// A parent that waits for the moment could not, when real-time workers spin on every CPU, and a parent that
/// outranks them can spin itself: reaping a process waits for a thread that looks at it in /proc, which may
/// be one that the parent keeps off the CPU.
/// @return false with errno set
bool process_limit(timer_t *timer, double limit_s);

/// @brief Begin anew: it is killed after @p limit_s from now.
bool process_set_limit(timer_t timer, double limit_s);

/// @brief Hold the idle states down to this latency, until the file is closed. @return the file; -1 with
/// errno
int process_hold_latency(int32_t latency_us);

#endif
