// SPDX-License-Identifier: BSD-3-Clause
// ws-wakes: how long this machine takes to wake a thread, by another thread's call and by its own timer, and
// what the deeper idle states have to do with it.
// Use: ws-wakes             all ways, gaps, classes; idle states as they are and off; a JSON object a line
//      ws-wakes --help      names all keys
// A line has figures, or "skipped" or "error" with the reason. `nrbench doctor` says what it means.
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "cpus.h"
#include "process.h"
#include "words.h"

#define SAMPLES_MIN 10u
#define CPU_NONE UINT32_MAX
#define LIMIT_S 5.0 // of a series, and
#define LIMIT_FACTOR 10 // so many times what it would take if nothing were late
#define SERIES_SAMPLES_MAX 100000u

typedef enum {
  WAKE_FUTEX, ///< asleep in the kernel until another CPU calls
  WAKE_TIMER, ///< asleep until a time of its own
  WAKE_LOOK, ///< awake, looks at a word that another CPU writes
} wake_kind_t;

/// Of one series.
typedef struct {
  uint64_t latency_ns[SERIES_SAMPLES_MAX];
  uint64_t call_ns[SERIES_SAMPLES_MAX]; ///< what waking cost the caller; not of WAKE_TIMER
  uint32_t samples;
  uint32_t awake; ///< not counted in samples: it was not asleep when it should be woken
} series_result_t;

static const char usage[] =
    "usage: ws-wakes [key=value]...\n"
    "keys:  kind=all|futex|timer|look     woken by a call, by its own timer, or awake and looking\n"
    "       gap_us=N                      how long it sleeps before each wake (default: 250, 1000, 5000; "
    "look: 250)\n"
    "       class=all|other|fifo          normal class, SCHED_FIFO\n"
    "       hold=all|no|yes               yes: /dev/cpu_dma_latency held at 0, no deep idle states\n"
    "       samples=N measure_ms=N        of each series: as many, and about as long, at most\n"
    "       cpu=N caller_cpu=N            of the thread that is woken, of the one that wakes it\n"
    "       priority=N                    in SCHED_FIFO\n";

typedef struct {
  int32_t kind; ///< 0 = all, else wake_kind_t + 1
  enum { CLASS_ALL, CLASS_OTHER, CLASS_FIFO } sched_class;
  enum { HOLD_ALL, HOLD_NO, HOLD_YES } hold;
  uint32_t gap_us; ///< 0 = all
  uint32_t samples, measure_ms, cpu, caller_cpu, priority;
  timer_t limit; ///< kills this process
} request_t;

static const word_key_t keys[] = {
    {"kind", WORD_ONE_OF(request_t, kind, "all", "futex", "timer", "look")},
    {"gap_us", WORD_NUMBER(request_t, gap_us, 20, 1000000)},
    {"class", WORD_ONE_OF(request_t, sched_class, "all", "other", "fifo")},
    {"hold", WORD_ONE_OF(request_t, hold, "all", "no", "yes")},
    {"samples", WORD_NUMBER(request_t, samples, 1, SERIES_SAMPLES_MAX)},
    {"measure_ms", WORD_NUMBER(request_t, measure_ms, 0, 60000)},
    {"cpu", WORD_NUMBER(request_t, cpu, 0, CPU_SETSIZE - 1)},
    {"caller_cpu", WORD_NUMBER(request_t, caller_cpu, 0, CPU_SETSIZE - 1)},
    {"priority", WORD_NUMBER(request_t, priority, 1, 99)},
    {NULL},
};

/// The first wakes of a series are not counted: pages and caches are cold.
#define WARM_SAMPLES 5u
#define WORD_STOP UINT32_MAX
/// A thread that looks gives up when the other has not come for so long: it may wait for this very CPU.
#define LOOK_NS_MAX UINT64_C(1000000000)
#define LOOKS_PER_TIME (UINT32_C(1) << 18) // reading the clock at each look would make looking slow

/// One series: the same way to wake, gap, class and idle states. The words are each on a cache line of its
/// own, so that a look at one does not wait for the other.
typedef struct {
  wake_kind_t kind;
  uint32_t gap_us; ///< how long it sleeps, or looks, before each wake
  uint32_t samples; ///< at most SERIES_SAMPLES_MAX
  uint32_t cpu; ///< of the thread that is woken
  uint32_t caller_cpu; ///< of the thread that wakes it; another one
  uint32_t priority; ///< of both in SCHED_FIFO; 0 = both in the normal class
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
  const uint64_t give_up_ns = clock_now_ns() + LOOK_NS_MAX + meeting->gap_us * UINT64_C(1000);
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
  const bool looks = meeting->kind == WAKE_LOOK;
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
  const uint64_t gap_ns = meeting->gap_us * UINT64_C(1000);
  uint64_t until_ns = clock_now_ns() + gap_ns;
  clock_sleep_until(until_ns);
  while (atomic_load_explicit(&meeting->ran_ns, memory_order_acquire) == 0 && !atomic_load(&meeting->gave_up))
    clock_sleep_until(until_ns += gap_ns);
}

static void *wake_other(void *arg)
{
  meeting_t *const meeting = arg;
  series_result_t *const result = meeting->result;
  const uint32_t wakes = WARM_SAMPLES + meeting->samples;
  for (uint32_t wake = 1; wake <= wakes; wake++) {
    atomic_store_explicit(&meeting->ran_ns, 0, memory_order_relaxed);
    const uint64_t begin_ns = clock_now_ns();
    atomic_store_explicit(&meeting->word, wake, memory_order_release);
    const int64_t woken = meeting->kind == WAKE_LOOK ? 1 : futex(&meeting->word, FUTEX_WAKE, 1);
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
  for (uint32_t i = 0; i < WARM_SAMPLES + meeting->samples; i++) {
    const uint64_t deadline_ns = clock_now_ns() + meeting->gap_us * UINT64_C(1000);
    clock_sleep_until(deadline_ns);
    if (i >= WARM_SAMPLES)
      result->latency_ns[result->samples++] = clock_now_ns() - deadline_ns;
  }
  return NULL;
}

static int32_t start(pthread_t *thread, uint32_t cpu, void *(*func)(void *), meeting_t *meeting)
{
  pthread_attr_t attr;
  cpu_set_t cpus;
  const struct sched_param param = {.sched_priority = (int)meeting->priority};
  if (cpu >= CPU_SETSIZE)
    return EINVAL;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  pthread_attr_init(&attr);
  int32_t error = pthread_attr_setaffinity_np(&attr, sizeof cpus, &cpus);
  pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&attr, meeting->priority ? SCHED_FIFO : SCHED_OTHER);
  pthread_attr_setschedparam(&attr, &param);
  if (!error)
    error = pthread_create(thread, &attr, func, meeting);
  pthread_attr_destroy(&attr);
  return error;
}

/// @return 0 or the error of what the kernel refused: a CPU, the class
static int32_t run_series(meeting_t *meeting)
{
  pthread_t sleeper, caller;
  const bool by_timer = meeting->kind == WAKE_TIMER;
  meeting->result->samples = meeting->result->awake = 0;
  int32_t error = start(&sleeper, meeting->cpu, by_timer ? sleep_by_timer : sleep_and_run, meeting);
  if (error)
    return error;
  error = by_timer ? 0 : start(&caller, meeting->caller_cpu, wake_other, meeting);
  if (error) {
    atomic_store(&meeting->word, WORD_STOP);
    futex(&meeting->word, FUTEX_WAKE, INT_MAX);
  } else if (!by_timer) {
    pthread_join(caller, NULL);
  }
  pthread_join(sleeper, NULL);
  return error == 0 && atomic_load(&meeting->gave_up) ? ETIMEDOUT : error;
}

/// CPUs that were not asked for: of those that this process may use, the woken thread gets the last.
static void choose_cpus(request_t *request)
{
  const cpu_set_t mask = cpus_mask();
  for (uint32_t cpu = CPU_SETSIZE; cpu-- > 0;) {
    if (!CPU_ISSET(cpu, &mask))
      continue;
    if (request->cpu == CPU_NONE && cpu != request->caller_cpu)
      request->cpu = cpu;
    else if (request->caller_cpu == CPU_NONE && cpu != request->cpu)
      request->caller_cpu = cpu;
  }
}

static void report_result(report_t *report, series_result_t *result, bool called)
{
  report_count(report, "samples", result->samples);
  report_count(report, "awake", result->awake);
  if (result->samples == 0) {
    report_text(report, "skipped", "the thread was never asleep when it was to be woken");
    return;
  }
  report_percentiles(report, "", result->latency_ns, result->samples);
  if (called)
    report_percentiles(report, "call", result->call_ns, result->samples);
}

static void measure(const request_t *request, wake_kind_t kind, uint32_t gap_us, bool realtime, bool hold)
{
  static series_result_t result;
  static report_t report;
  const uint32_t fitting = (uint32_t)(request->measure_ms * UINT64_C(1000) / gap_us);
  const uint32_t wanted = request->samples < fitting ? request->samples : fitting;
  meeting_t meeting = {.kind = kind,
                       .gap_us = gap_us,
                       .samples = wanted < SAMPLES_MIN ? SAMPLES_MIN : wanted,
                       .cpu = request->cpu,
                       .caller_cpu = request->caller_cpu,
                       .priority = realtime ? request->priority : 0,
                       .result = &result};
  report_text(&report, "kind", (const char *const[]){"futex", "timer", "look"}[kind]);
  report_text(&report, "class", realtime ? "fifo" : "other");
  report_count(&report, "gap_us", gap_us);
  report_bool(&report, "hold", hold);
  report_count(&report, "cpu", meeting.cpu);
  const int32_t held = hold ? process_hold_latency(0) : -1;
  const double planned_s = (double)meeting.samples * gap_us / 1e6;
  int32_t error = 0;
  if (!process_set_limit(request->limit, LIMIT_S + LIMIT_FACTOR * planned_s))
    report_text(&report, "skipped", strerror(errno));
  else if (hold && held < 0)
    report_text(&report, "skipped", strerror(errno));
  else if (kind != WAKE_TIMER && request->caller_cpu == CPU_NONE)
    report_text(&report, "skipped", "there is no second CPU to wake it from");
  else if ((error = run_series(&meeting)) != 0)
    report_text(&report, "skipped", strerror(error));
  else
    report_result(&report, &result, kind == WAKE_FUTEX);
  if (held >= 0)
    close(held);
  report_print(&report);
}

/// What is compared with each other is measured one after the other: idle states as they are, and off.
static void measure_kind(const request_t *request, wake_kind_t kind, bool realtime)
{
  static const uint32_t usual_us[] = {250, 1000, 5000};
  const uint32_t gaps = request->gap_us || kind == WAKE_LOOK ? 1 : sizeof usual_us / sizeof usual_us[0];
  for (uint32_t i = 0; i < gaps; i++) {
    const uint32_t gap_us = request->gap_us ? request->gap_us : usual_us[i];
    if (request->hold != HOLD_YES)
      measure(request, kind, gap_us, realtime, false);
    if (request->hold != HOLD_NO && kind != WAKE_LOOK)
      measure(request, kind, gap_us, realtime, true);
  }
}

static void measure_all(const request_t *request)
{
  for (uint32_t realtime = 0; realtime < 2; realtime++)
    for (int32_t kind = WAKE_FUTEX; kind <= WAKE_LOOK; kind++)
      if (request->sched_class != (realtime ? CLASS_OTHER : CLASS_FIFO)
          && (request->kind == 0 || request->kind == kind + 1))
        measure_kind(request, (wake_kind_t)kind, realtime);
}

/// Threads that spin at a high priority must end, whatever happens to those that they wait for. The timer is
/// not left to the CPU where they spin: kernels with PREEMPT_RT run it in a thread there.
static bool limit_time(request_t *request)
{
  cpu_set_t mask = cpus_mask();
  CPU_CLR(request->cpu, &mask);
  if (CPU_COUNT(&mask) > 0)
    sched_setaffinity(0, sizeof mask, &mask);
  return process_limit(&request->limit, LIMIT_S);
}

int main(int argc, char **argv)
{
  static report_t report;
  request_t request = {.samples = 400,
                       .measure_ms = 250,
                       .cpu = CPU_NONE,
                       .caller_cpu = CPU_NONE,
                       .priority = 97}; // as OAI's workers
  words_take(argc, argv, usage, keys, &request);
  process_die_with_parent();
  const bool same_cpu = request.cpu != CPU_NONE && request.cpu == request.caller_cpu;
  choose_cpus(&request);
  if (same_cpu)
    report_error(&report, "request: cpu and caller_cpu are the same");
  else if (!limit_time(&request))
    report_error(&report, "no timer: %s", strerror(errno));
  if (report.length) {
    report_print(&report);
    return EXIT_FAILURE;
  }
  measure_all(&request);
  return EXIT_SUCCESS;
}
