// SPDX-License-Identifier: BSD-3-Clause
#include "series.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

/// The first wakes of a series are not counted: pages and caches are cold.
#define WARM_SAMPLES 5u
#define WORD_STOP UINT32_MAX
/// A thread that looks gives up when the other has not come for so long: it may wait for this very CPU.
#define LOOK_NS_MAX UINT64_C(1000000000)
#define LOOKS_PER_TIME (UINT32_C(1) << 18) // reading the clock at each look would make looking slow

/// Each on a cache line of its own, so that a look at one does not wait for the other.
typedef struct {
  const series_t *series;
  series_result_t *result;
  _Alignas(64) _Atomic uint32_t word; ///< number of the wake
  _Alignas(64) _Atomic uint64_t ran_ns; ///< when the woken thread ran on; 0 = it has not yet
  _Atomic bool gave_up;
} meeting_t;

static int64_t futex(_Atomic uint32_t *word, int32_t operation, uint32_t value)
{
  return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/// @return the word when it has changed
static uint32_t sleep_for_word(meeting_t *meeting, uint32_t seen)
{
  uint32_t now;
  while ((now = atomic_load_explicit(&meeting->word, memory_order_acquire)) == seen)
    futex(&meeting->word, FUTEX_WAIT, seen);
  return now;
}

static uint32_t look_at_word(meeting_t *meeting, uint32_t seen)
{
  const uint64_t give_up_ns = clock_now_ns() + LOOK_NS_MAX + meeting->series->gap_us * UINT64_C(1000);
  for (uint32_t looks = 1;; looks++) {
    const uint32_t now = atomic_load_explicit(&meeting->word, memory_order_acquire);
    if (now != seen)
      return now;
    if (looks % LOOKS_PER_TIME == 0 && clock_now_ns() > give_up_ns) {
      atomic_store(&meeting->gave_up, true);
      return WORD_STOP;
    }
  }
}

static void *sleep_and_run(void *arg)
{
  meeting_t *const meeting = arg;
  const bool looks = meeting->series->kind == WAKE_LOOK;
  for (uint32_t seen = 0; seen != WORD_STOP;) {
    const uint32_t now = looks ? look_at_word(meeting, seen) : sleep_for_word(meeting, seen);
    atomic_store_explicit(&meeting->ran_ns, clock_now_ns(), memory_order_release);
    seen = now;
  }
  return NULL;
}

/// The caller sleeps until the woken thread has been asleep for the gap, however long it took to run.
static void wait_for_gap(meeting_t *meeting)
{
  const uint64_t gap_ns = meeting->series->gap_us * UINT64_C(1000);
  uint64_t until_ns = clock_now_ns() + gap_ns;
  clock_sleep_until(until_ns);
  while (atomic_load_explicit(&meeting->ran_ns, memory_order_acquire) == 0 && !atomic_load(&meeting->gave_up))
    clock_sleep_until(until_ns += gap_ns);
}

static void *wake_other(void *arg)
{
  meeting_t *const meeting = arg;
  series_result_t *const result = meeting->result;
  const uint32_t wakes = WARM_SAMPLES + meeting->series->samples;
  for (uint32_t wake = 1; wake <= wakes; wake++) {
    atomic_store_explicit(&meeting->ran_ns, 0, memory_order_relaxed);
    const uint64_t begin_ns = clock_now_ns();
    atomic_store_explicit(&meeting->word, wake, memory_order_release);
    const int64_t woken = meeting->series->kind == WAKE_LOOK ? 1 : futex(&meeting->word, FUTEX_WAKE, 1);
    const uint64_t call_ns = clock_now_ns() - begin_ns;
    wait_for_gap(meeting);
    if (atomic_load(&meeting->gave_up))
      break;
    const uint64_t latency_ns = atomic_load_explicit(&meeting->ran_ns, memory_order_relaxed) - begin_ns;
    if (wake <= WARM_SAMPLES)
      continue;
    if (woken == 1) {
      result->latency_ns[result->samples] = latency_ns;
      result->call_ns[result->samples++] = call_ns;
    } else {
      result->awake++;
    }
  }
  atomic_store_explicit(&meeting->word, WORD_STOP, memory_order_release);
  futex(&meeting->word, FUTEX_WAKE, INT_MAX);
  return NULL;
}

static void *sleep_by_timer(void *arg)
{
  const meeting_t *const meeting = arg;
  series_result_t *const result = meeting->result;
  prctl(PR_SET_TIMERSLACK, 1ul); // as the workers of the pool have it
  for (uint32_t i = 0; i < WARM_SAMPLES + meeting->series->samples; i++) {
    const uint64_t deadline_ns = clock_now_ns() + meeting->series->gap_us * UINT64_C(1000);
    clock_sleep_until(deadline_ns);
    if (i >= WARM_SAMPLES)
      result->latency_ns[result->samples++] = clock_now_ns() - deadline_ns;
  }
  return NULL;
}

static int32_t start(pthread_t *thread, uint32_t cpu, uint32_t priority, void *(*func)(void *),
                     meeting_t *meeting)
{
  pthread_attr_t attr;
  cpu_set_t cpus;
  const struct sched_param param = {.sched_priority = (int)priority};
  if (cpu >= CPU_SETSIZE)
    return EINVAL;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  int32_t error = pthread_attr_init(&attr);
  if (error)
    return error;
  error = pthread_attr_setaffinity_np(&attr, sizeof cpus, &cpus);
  if (!error)
    error = pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
  if (!error)
    error = pthread_attr_setschedpolicy(&attr, priority ? SCHED_FIFO : SCHED_OTHER);
  if (!error)
    error = pthread_attr_setschedparam(&attr, &param);
  if (!error)
    error = pthread_create(thread, &attr, func, meeting);
  pthread_attr_destroy(&attr);
  return error;
}

int32_t series_run(const series_t *series, series_result_t *result)
{
  meeting_t meeting = {.series = series, .result = result};
  pthread_t sleeper, caller;
  result->samples = result->awake = 0;
  if (series->kind == WAKE_TIMER) {
    const int32_t error = start(&sleeper, series->cpu, series->priority, sleep_by_timer, &meeting);
    if (!error)
      pthread_join(sleeper, NULL);
    return error;
  }
  int32_t error = start(&sleeper, series->cpu, series->priority, sleep_and_run, &meeting);
  if (error)
    return error;
  error = start(&caller, series->caller_cpu, series->priority, wake_other, &meeting);
  if (error) {
    atomic_store(&meeting.word, WORD_STOP);
    futex(&meeting.word, FUTEX_WAKE, INT_MAX);
  } else {
    pthread_join(caller, NULL);
  }
  pthread_join(sleeper, NULL);
  return error == 0 && atomic_load(&meeting.gave_up) ? ETIMEDOUT : error;
}
