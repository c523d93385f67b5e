// SPDX-License-Identifier: BSD-3-Clause
/// @file wakes.c
/// Threads that sleep: woken by another thread's futex call after their CPU has been idle for a time, woken
/// by a timer, and woken on the CPU of the caller.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "micro.h"

#define WARM 20u ///< not counted: caches and pages are cold
#define HOME_TURNS 8u
#define LATE_NS UINT64_C(20000000) ///< a wake that takes longer is given up

static struct {
  _Alignas(64) uint32_t word; ///< number of the wake
  _Alignas(64) uint64_t ran_ns; ///< when the sleeper ran on; 0 = not yet
  uint64_t asleep_ns; ///< shortly before it began to sleep
  uint32_t ran_on;
  uint32_t cpu, wakes;
  uint32_t home; ///< of a sleeper that is not pinned: where it goes before every HOME_TURNS-th sleep
  bool pinned, batch;
  bool goes_first; ///< real-time, where that is allowed
} sleeper;

static double *call_ns, *latency_ns;
static uint32_t samples;
static struct {
  uint32_t samples, stayed; ///< of wakes of a thread whose last CPU it was: those that ran there again
} at_home, at_callers;

static void go_home(uint32_t wake)
{
  cpu_set_t all;
  if (sleeper.pinned || wake % HOME_TURNS != 0)
    return;
  sched_getaffinity(0, sizeof(all), &all);
  micro_pin(sleeper.home);
  sched_setaffinity(0, sizeof(all), &all);
  sleeper.ran_on = sleeper.home;
}

static void *sleep_and_run(void *arg)
{
  if (sleeper.pinned)
    micro_pin(sleeper.cpu);
  if (sleeper.batch)
    micro_batch();
  if (sleeper.goes_first)
    micro_realtime();
  for (uint32_t wake = 0; wake < sleeper.wakes; wake++) {
    go_home(wake);
    __atomic_store_n(&sleeper.asleep_ns, micro_now_ns(), __ATOMIC_RELEASE);
    micro_wait(&sleeper.word, wake);
    const uint64_t now_ns = micro_now_ns();
    sleeper.ran_on = (uint32_t)sched_getcpu();
    __atomic_store_n(&sleeper.ran_ns, now_ns, __ATOMIC_RELEASE);
  }
  return arg;
}

/// The caller sleeps until shortly before it wakes the sleeper. @param awake_us  before that; UINT32_MAX = it
/// does not sleep
static void wait_for_idle(uint32_t idle_us, uint32_t awake_us)
{
  uint64_t asleep_ns;
  while ((asleep_ns = __atomic_exchange_n(&sleeper.asleep_ns, 0, __ATOMIC_ACQ_REL)) == 0)
    ;
  const uint64_t until_ns = asleep_ns + idle_us * UINT64_C(1000);
  if (awake_us <= idle_us)
    micro_sleep_until(until_ns - awake_us * UINT64_C(1000));
  micro_spin_until(until_ns);
}

static bool ran(uint64_t from_ns)
{
  while (__atomic_load_n(&sleeper.ran_ns, __ATOMIC_ACQUIRE) == 0)
    if (micro_now_ns() - from_ns > LATE_NS)
      return false;
  return true;
}

static void wake_once(uint32_t wake)
{
  __atomic_store_n(&sleeper.ran_ns, 0, __ATOMIC_RELAXED);
  const uint32_t ran_on = sleeper.ran_on;
  const uint64_t from_ns = micro_now_ns();
  __atomic_store_n(&sleeper.word, wake, __ATOMIC_RELEASE);
  const long woken = micro_wake(&sleeper.word);
  const uint64_t called_ns = micro_now_ns();
  if (sleeper.batch)
    micro_sleep_until(called_ns + 20000);
  const bool came = ran(from_ns);
  if (!came)
    micro_sleep_until(from_ns + 5 * LATE_NS); // it waits for this very CPU
  if (wake <= WARM || woken != 1 || !came)
    return;
  if (ran_on == sleeper.home) {
    at_home.samples++;
    at_home.stayed += sleeper.ran_on == ran_on;
  } else {
    at_callers.samples++;
    at_callers.stayed += sleeper.ran_on == ran_on;
  }
  call_ns[samples] = (double)(called_ns - from_ns);
  latency_ns[samples++] = (double)(sleeper.ran_ns - from_ns);
}

/// @param caller  CPU of the calling thread. @param awake_us  it has been awake when it calls
static void series(uint32_t caller, uint32_t awake_us, uint32_t idle_us, uint32_t count)
{
  pthread_t thread;
  sleeper.wakes = count + WARM;
  call_ns = calloc(sleeper.wakes, sizeof(double));
  latency_ns = calloc(sleeper.wakes, sizeof(double));
  if (!call_ns || !latency_ns)
    abort();
  micro_start(&thread, sleep_and_run, NULL);
  micro_slack(1);
  micro_pin(caller); // not before: the sleeper would inherit it
  for (uint32_t wake = 1; wake <= sleeper.wakes; wake++) {
    wait_for_idle(idle_us, awake_us);
    wake_once(wake);
  }
  pthread_join(thread, NULL);
}

int micro_wakes(uint32_t cpu, uint32_t caller, uint32_t awake_us, uint32_t idle_us, uint32_t count)
{
  sleeper.cpu = cpu;
  sleeper.pinned = true;
  sleeper.batch = cpu == caller; // it shall not take the CPU from the caller
  series(caller, awake_us, idle_us, count);
  printf("{\"count\": %u, ", samples);
  micro_print_spread("call_ns", call_ns, samples);
  printf(", ");
  micro_print_spread("latency_ns", latency_ns, samples);
  printf("}\n");
  return 0;
}

static bool hog_is_over;

static void *hog(void *arg)
{
  micro_pin(sleeper.cpu);
  micro_batch();
  while (!__atomic_load_n(&hog_is_over, __ATOMIC_RELAXED))
    ;
  return arg;
}

/// Another thread runs on the sleeper's CPU, which the sleeper takes from it.
int micro_kicks(uint32_t cpu, uint32_t caller, uint32_t idle_us, uint32_t count)
{
  pthread_t thread;
  sleeper.cpu = cpu;
  sleeper.pinned = sleeper.goes_first = true;
  micro_start(&thread, hog, NULL);
  series(caller, 100, idle_us, count);
  __atomic_store_n(&hog_is_over, true, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  printf("{\"count\": %u, ", samples);
  micro_print_spread("call_ns", call_ns, samples);
  printf(", ");
  micro_print_spread("latency_ns", latency_ns, samples);
  printf("}\n");
  return 0;
}

static double share(uint32_t part, uint32_t whole)
{
  return whole > 0 ? (double)part / whole : -1;
}

/// The sleeper may use all CPUs: where does it wake, with the caller awake on one CPU and the other idle?
int micro_place(uint32_t caller, uint32_t home, uint32_t idle_us, uint32_t count)
{
  sleeper.home = home;
  series(caller, 100, idle_us, count);
  printf("{\"count\": %u, \"home_stays\": %.4f, \"home_count\": %u, \"callers_stays\": %.4f, "
         "\"callers_count\": %u, ",
         samples, share(at_home.stayed, at_home.samples), at_home.samples,
         share(at_callers.stayed, at_callers.samples), at_callers.samples);
  micro_print_spread("latency_ns", latency_ns, samples);
  printf("}\n");
  return 0;
}

static uint64_t cpu_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/// How late a sleep ends; the CPU time of a sleep; how much longer a piece of code takes right after it.
int micro_timers(uint32_t cpu, uint32_t sleep_us, uint32_t count)
{
  static uint32_t never;
  double *late_ns = calloc(count, sizeof(double)), *longer_ns = calloc(count, sizeof(double));
  if (!late_ns || !longer_ns)
    abort();
  micro_pin(cpu);
  micro_slack(1);
  uint64_t before_ns = 0, piece_ns = 0;
  for (uint32_t i = 0; i < count + WARM; i++) {
    if (i == WARM)
      before_ns = cpu_ns();
    const uint64_t until_ns = micro_now_ns() + sleep_us * UINT64_C(1000);
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                                   .tv_nsec = (long)(until_ns % 1000000000u)};
    while (micro_now_ns() < until_ns)
      micro_futex(&never, FUTEX_WAIT_BITSET, 0, &until);
    const uint64_t woken_ns = micro_now_ns();
    micro_piece();
    const uint64_t cold_ns = micro_now_ns();
    micro_piece();
    const uint64_t warm_ns = micro_now_ns();
    if (i < WARM)
      continue;
    late_ns[i - WARM] = (double)(woken_ns - until_ns);
    longer_ns[i - WARM] = (double)(cold_ns - woken_ns) - (double)(warm_ns - cold_ns);
    piece_ns += warm_ns - woken_ns;
  }
  const double cycle_ns = (double)(cpu_ns() - before_ns - piece_ns) / count;
  printf("{\"count\": %u, \"cpu_ns\": %.0f, ", count, cycle_ns);
  micro_print_spread("cold_ns", longer_ns, count);
  printf(", ");
  micro_print_spread("late_ns", late_ns, count);
  printf("}\n");
  free(late_ns);
  free(longer_ns);
  return 0;
}
