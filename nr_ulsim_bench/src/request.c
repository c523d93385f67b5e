// SPDX-License-Identifier: BSD-3-Clause
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "words.h"

#define NOISE_US_MAX 10000000

bool request_parse_bursts(const char *text, void *target)
{
  request_t *const request = target;
  request->burst_count = 0;
  while (request->burst_count < REQUEST_BURSTS_MAX) {
    uint32_t tasks;
    double work_us;
    int used;
    if (sscanf(text, "%ux%lf%n", &tasks, &work_us, &used) != 2 || tasks == 0 || tasks > 100000
        || !(work_us >= 0 && work_us <= 1000000)) // the negation refuses what is no number, too
      return false;
    request->bursts[request->burst_count++] =
        (burst_t){.tasks = tasks, .work_ns = (uint64_t)(work_us * 1000 + 0.5)};
    text += used;
    if (*text == '\0')
      return true;
    if (*text++ != '+')
      return false;
  }
  return false;
}

static bool parse_env(const char *text, void *target)
{
  request_t *const request = target;
  if (request->env_count == REQUEST_ENV_MAX || !strchr(text, '='))
    return false;
  return (size_t)snprintf(request->env[request->env_count++], REQUEST_PATH_CHARS, "%s", text)
         < REQUEST_PATH_CHARS;
}

static bool add_noise(request_t *request, noise_t noise)
{
  if (request->noise_count == REQUEST_NOISE_MAX)
    return false;
  request->noise[request->noise_count++] = noise;
  return true;
}

bool request_parse_hogs(const char *text, void *request)
{
  char *end;
  unsigned long hogs = strtoul(text, &end, 10);
  bool good = end != text && *end == '\0' && hogs <= REQUEST_NOISE_MAX;
  for (; good && hogs > 0; hogs--)
    good = add_noise(request, (noise_t){.kind = NOISE_NORMAL, .on_us = 1000});
  return good;
}

/// Without a pause nothing else would run.
static bool add_noise_on_each_cpu(request_t *request, noise_t noise)
{
  const cpu_set_t allowed = cpus_mask();
  if (noise.off_us == 0)
    return false;
  for (noise.cpu = 0; noise.cpu < CPU_SETSIZE; noise.cpu++) {
    if (CPU_ISSET(noise.cpu, &allowed) && !add_noise(request, noise))
      return false;
  }
  return true;
}

/// "lowest:20000:20000": the kind, then the µs for which it computes and sleeps.
static bool parse_noise(const char *text, void *target)
{
  static const char *const kinds[] = {"normal", "lowest", "session", "realtime", "host"};
  char kind[16];
  uint32_t on_us, off_us;
  int used;
  if (sscanf(text, "%15[a-z]:%u:%u%n", kind, &on_us, &off_us, &used) != 3 || text[used] != '\0' || on_us == 0
      || on_us > NOISE_US_MAX || off_us > NOISE_US_MAX)
    return false;
  for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    const noise_t noise = {.kind = (noise_kind_t)i, .on_us = on_us, .off_us = off_us};
    if (strcmp(kind, kinds[i]) == 0)
      return (i == NOISE_HOST ? add_noise_on_each_cpu : add_noise)(target, noise);
  }
  return false;
}

_Static_assert(sizeof(bench_t) == 4 && sizeof(class_t) == 4 && sizeof(work_t) == 4 && sizeof(rhythm_t) == 4,
               "enumerations are written as 32 bits");

static const word_key_t keys[] = {
    {"bench",
     WORD_ONE_OF(request_t, bench, "slot", "stream", "replay", "coliseum", "wake", "idle", "pi", "info")},
    {"backend", WORD_TEXT(request_t, backend)},
    {"workers", WORD_NUMBER(request_t, workers, 0, 1024)},
    {"class", WORD_ONE_OF(request_t, sched_class, "other", "rr", "rrall", "fifo")},
    {"mode", WORD_ONE_OF(request_t, mode, "default", "hot", "pinned")},
    {"hog", .kind = KEY_FUNC, .parse = request_parse_hogs},
    {"noise", .kind = KEY_FUNC, .parse = parse_noise},
    {"limit_s", .kind = KEY_SECONDS, WORD_FIELD(request_t, limit_s)},
    {"env", .kind = KEY_FUNC, .parse = parse_env},
    {"bursts", .kind = KEY_FUNC, .parse = request_parse_bursts},
    {"period_us", WORD_NUMBER(request_t, period_us, 0, 10000000)},
    {"arrivals", WORD_ONE_OF(request_t, arrivals.rhythm, "regular", "exponential", "onoff", "first")},
    {"varied", WORD_NUMBER(request_t, arrivals.varied, 0, 1)},
    {"seed", WORD_NUMBER(request_t, arrivals.seed, 0, INT64_MAX)},
    {"period_ns", WORD_NUMBER(request_t, period_ns, 0, 1000000000)},
    {"fan", WORD_NUMBER(request_t, fan, 0, 64)},
    {"slots", WORD_NUMBER(request_t, slots, 1, 1000000)},
    {"warm", WORD_NUMBER(request_t, warm_slots, 0, 1000000)},
    {"histogram", WORD_NUMBER(request_t, histogram, 0, 1)},
    {"file", WORD_TEXT(request_t, file)},
    {"work", WORD_ONE_OF(request_t, work, "empty", "fib19", "fib17-19", "fib19x1-3", "nested")},
    {"tasks", WORD_NUMBER(request_t, tasks, 1, 100000000)},
    {"idle_us", WORD_NUMBER(request_t, idle_us, 0, 10000000)},
    {"intervals", WORD_NUMBER(request_t, intervals, 1000000, INT64_C(1) << 40)},
    {"pin_first", WORD_NUMBER(request_t, pin_first, 0, 1023)},
    {"pin_step", WORD_NUMBER(request_t, pin_step, 1, 1023)},
    {NULL},
};

bool request_parse(char *line, request_t *request, report_t *report)
{
  *request = (request_t){.bench = BENCH_INFO,
                         .limit_s = 60.0,
                         .slots = 100,
                         .warm_slots = 10,
                         .period_us = 500,
                         .intervals = 20000000,
                         .pin_step = 1};
  if (!words_parse(line, keys, request, report))
    return false;
  const char *missing = NULL;
  if (request->bench == BENCH_STREAM && (request->burst_count != 1 || request->period_ns == 0))
    missing = "bench=stream needs bursts=1xD and period_ns=N";
  else if (request->bench == BENCH_SLOT && request->burst_count == 0)
    missing = "bench=slot needs bursts=NxD, for example bursts=12x6+22x28";
  else if (request->arrivals.rhythm != ARRIVALS_REGULAR && request->period_us == 0)
    missing = "irregular arrivals need period_us=N";
  else if (request->bench == BENCH_COLISEUM && request->tasks == 0)
    missing = "bench=coliseum needs tasks=N";
  if (missing)
    report_error(report, "request: %s", missing);
  return !missing;
}
