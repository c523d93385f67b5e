// SPDX-License-Identifier: BSD-3-Clause
// ws-wakes: how long this machine takes to wake a thread, by another thread's call and by its own timer, and
// what the deeper idle states have to do with it.
// Use: ws-wakes             all ways, gaps, classes; idle states as they are and off; a JSON object a line
//      ws-wakes --help      names all keys
// A line has figures, or "skipped" or "error" with the reason. `nrbench doctor` says what it means.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"
#include "report.h"
#include "series.h"
#include "words.h"

#define LINE_CHARS_MAX 4096
#define GAPS_MAX 16u
#define SAMPLES_MIN 10u
#define CPU_NONE UINT32_MAX
#define LIMIT_S 5.0 // of a series, and
#define LIMIT_FACTOR 10 // so many times what it would take if nothing were late

static const char usage[] =
    "usage: ws-wakes [key=value]...\n"
    "keys:  kind=all|futex|timer|look     woken by a call, by its own timer, or awake and looking\n"
    "       gaps_us=250,1000,5000         how long it sleeps before each wake; look: the first only\n"
    "       class=all|other|fifo          normal class, SCHED_FIFO\n"
    "       hold=all|no|yes               yes: /dev/cpu_dma_latency held at 0, no deep idle states\n"
    "       samples=N measure_ms=N        of each series: as many, and about as long, at most\n"
    "       cpu=N caller_cpu=N            of the thread that is woken, of the one that wakes it\n"
    "       priority=N                    in SCHED_FIFO\n";

typedef enum { CLASS_ALL, CLASS_OTHER, CLASS_FIFO } class_choice_t;
typedef enum { HOLD_ALL, HOLD_NO, HOLD_YES } hold_choice_t;

typedef struct {
  int32_t kind; ///< 0 = all, else wake_kind_t + 1
  class_choice_t sched_class;
  hold_choice_t hold;
  uint32_t gaps_us[GAPS_MAX], gap_count;
  uint32_t samples, measure_ms, cpu, caller_cpu, priority;
  timer_t limit; ///< kills this process
} request_t;

static bool parse_gaps(const char *text, void *target)
{
  request_t *const request = target;
  for (request->gap_count = 0; request->gap_count < GAPS_MAX;) {
    uint32_t gap_us;
    int used;
    if (sscanf(text, "%u%n", &gap_us, &used) != 1 || gap_us < 20 || gap_us > 1000000)
      return false;
    request->gaps_us[request->gap_count++] = gap_us;
    text += used;
    if (*text == '\0')
      return true;
    if (*text++ != ',')
      return false;
  }
  return false;
}

static const word_key_t keys[] = {
    {"kind", WORD_ONE_OF(request_t, kind, "all", "futex", "timer", "look")},
    {"gaps_us", .kind = KEY_FUNC, .parse = parse_gaps},
    {"class", WORD_ONE_OF(request_t, sched_class, "all", "other", "fifo")},
    {"hold", WORD_ONE_OF(request_t, hold, "all", "no", "yes")},
    {"samples", WORD_NUMBER(request_t, samples, SERIES_SAMPLES_MAX)},
    {"measure_ms", WORD_NUMBER(request_t, measure_ms, 60000)},
    {"cpu", WORD_NUMBER(request_t, cpu, CPU_SETSIZE - 1)},
    {"caller_cpu", WORD_NUMBER(request_t, caller_cpu, CPU_SETSIZE - 1)},
    {"priority", WORD_NUMBER(request_t, priority, 99)},
};

static bool parse_word(const char *key, const char *value, void *target)
{
  return word_parse(keys, sizeof keys / sizeof keys[0], key, value, target);
}

static void print(report_t *report)
{
  printf("{%.*s}\n", (int)report->length, report->text);
  fflush(stdout);
  report->length = 0;
}

/// CPUs that were not asked for: of those that this process may use, the woken thread gets the last.
static void choose_cpus(request_t *request)
{
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  for (uint32_t cpu = CPU_SETSIZE; cpu-- > 0;) {
    if (!CPU_ISSET(cpu, &mask))
      continue;
    if (request->cpu == CPU_NONE && cpu != request->caller_cpu)
      request->cpu = cpu;
    else if (request->caller_cpu == CPU_NONE && cpu != request->cpu)
      request->caller_cpu = cpu;
  }
}

/// @return what holds the idle states off as long as it is open; -1 with errno
static int32_t hold_idle_states(void)
{
  const int32_t zero_us = 0;
  const int32_t file = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
  if (file >= 0 && write(file, &zero_us, sizeof zero_us) != (ssize_t)sizeof zero_us) {
    const int32_t error = errno;
    close(file);
    errno = error;
    return -1;
  }
  return file;
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
  const series_t series = {.kind = kind,
                           .gap_us = gap_us,
                           .samples = wanted < SAMPLES_MIN ? SAMPLES_MIN : wanted,
                           .cpu = request->cpu,
                           .caller_cpu = request->caller_cpu,
                           .priority = realtime ? request->priority : 0};
  report_text(&report, "kind", (const char *const[]){"futex", "timer", "look"}[kind]);
  report_text(&report, "class", realtime ? "fifo" : "other");
  report_count(&report, "gap_us", gap_us);
  report_bool(&report, "hold", hold);
  report_count(&report, "cpu", series.cpu);
  const int32_t held = hold ? hold_idle_states() : -1;
  const double planned_s = (double)series.samples * gap_us / 1e6;
  int32_t error = 0;
  if (!process_set_limit(request->limit, LIMIT_S + LIMIT_FACTOR * planned_s))
    report_text(&report, "skipped", strerror(errno));
  else if (hold && held < 0)
    report_text(&report, "skipped", strerror(errno));
  else if (kind != WAKE_TIMER && request->caller_cpu == CPU_NONE)
    report_text(&report, "skipped", "there is no second CPU to wake it from");
  else if ((error = series_run(&series, &result)) != 0)
    report_text(&report, "skipped", strerror(error));
  else
    report_result(&report, &result, kind == WAKE_FUTEX);
  if (held >= 0)
    close(held);
  print(&report);
}

/// What is compared with each other is measured one after the other: idle states as they are, and off.
static void measure_kind(const request_t *request, wake_kind_t kind, bool realtime)
{
  const uint32_t gaps = kind == WAKE_LOOK ? 1 : request->gap_count;
  for (uint32_t i = 0; i < gaps; i++) {
    if (request->hold != HOLD_YES)
      measure(request, kind, request->gaps_us[i], realtime, false);
    if (request->hold != HOLD_NO && kind != WAKE_LOOK)
      measure(request, kind, request->gaps_us[i], realtime, true);
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

static bool parse_request(int argc, char **argv, request_t *request, char *error, uint32_t error_size)
{
  char line[LINE_CHARS_MAX];
  words_join(argc, argv, line, sizeof line);
  if (!words_parse(line, parse_word, request, error, error_size))
    return false;
  const bool same_cpu = request->cpu != CPU_NONE && request->cpu == request->caller_cpu;
  if (same_cpu || request->samples == 0 || request->priority == 0)
    snprintf(error, error_size, "request: %s",
             same_cpu ? "cpu and caller_cpu are the same" : "samples and priority are at least 1");
  return !same_cpu && request->samples && request->priority;
}

/// Threads that spin at a high priority must end, whatever happens to those that they wait for. The timer is
/// not left to the CPU where they spin: kernels with PREEMPT_RT run it in a thread there.
static bool limit_time(request_t *request)
{
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  CPU_CLR(request->cpu, &mask);
  if (CPU_COUNT(&mask) > 0)
    sched_setaffinity(0, sizeof mask, &mask);
  return process_limit(&request->limit, LIMIT_S);
}

int main(int argc, char **argv)
{
  static report_t report;
  char error[512];
  request_t request = {.gaps_us = {250, 1000, 5000},
                       .gap_count = 3,
                       .samples = 400,
                       .measure_ms = 250,
                       .cpu = CPU_NONE,
                       .caller_cpu = CPU_NONE,
                       .priority = 97}; // as OAI's workers
  if (argc > 1 && argv[1][0] == '-') {
    const bool asked = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    fputs(usage, asked ? stdout : stderr);
    return asked ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  process_die_with_parent();
  if (parse_request(argc, argv, &request, error, sizeof error)) {
    choose_cpus(&request);
    if (limit_time(&request)) {
      measure_all(&request);
      return EXIT_SUCCESS;
    }
    snprintf(error, sizeof error, "no timer: %s", strerror(errno));
  }
  report_error(&report, "%s", error);
  print(&report);
  return EXIT_FAILURE;
}
