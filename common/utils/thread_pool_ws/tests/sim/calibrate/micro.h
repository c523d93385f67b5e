// SPDX-License-Identifier: BSD-3-Clause
/// @file micro.h
/// What the micro-measurements share: clock, CPUs, futex, threads, percentiles. Real threads on the real
/// machine; nothing here is simulated, and nothing of the pool takes part.
#ifndef MICRO_H
#define MICRO_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t micro_now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// Busy until a time.
static inline void micro_spin_until(uint64_t until_ns)
{
  while (micro_now_ns() < until_ns)
    ;
}

void micro_sleep_until(uint64_t until_ns);

long micro_futex(const uint32_t *word, int operation, uint32_t value, const struct timespec *until);
void micro_wait(const uint32_t *word, uint32_t value);
long micro_wake(const uint32_t *word);

/// Ends the program with a message when the thread cannot have what it needs.
void micro_pin(uint32_t cpu);
void micro_batch(void);
/// @return whether the thread goes before normal ones now
bool micro_realtime(void);
void micro_slack(uint64_t ns);
void micro_start(pthread_t *thread, void *(*func)(void *), void *arg);

/// Prints "name": [percentiles 0, 10, 50, 90, 99, 99.9] and sorts the values.
void micro_print_spread(const char *name, double *values, uint32_t count);
double micro_median(double *values, uint32_t count);

/// As much code as a thread runs when it wakes (piece.c).
void micro_piece(void);

/// Each returns the program's exit status.
int micro_costs(uint32_t cpu);
int micro_line(uint32_t cpu, uint32_t other);
int micro_wakes(uint32_t cpu, uint32_t caller, uint32_t awake_us, uint32_t idle_us, uint32_t count);
int micro_kicks(uint32_t cpu, uint32_t caller, uint32_t idle_us, uint32_t count);
int micro_timers(uint32_t cpu, uint32_t sleep_us, uint32_t count);
int micro_switch(uint32_t cpu);
int micro_place(uint32_t caller, uint32_t home, uint32_t idle_us, uint32_t count);
int micro_detours(uint32_t turns);

#endif
