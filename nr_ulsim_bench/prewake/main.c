// SPDX-License-Identifier: BSD-3-Clause
// ws-prewake: pre-wake by what was learnt against waking by the push and against leads tuned by hand.
// Use: ws-prewake class=other workers=1 bursts=12x6 pattern=DDDDU slot_us=500 jitter_us=5 measure_ms=5000
//      ws-prewake --help      names all keys
// One call is one environment and one scenario, measured in a process of its own: one JSON object a line, one
// a mode, or one line with "error". `python -m nrbench prewake` plans the calls and judges the
// answers.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prewake.h"
#include "process.h"
#include "words.h"

/// Leads at which the search for the best one looks. auto and off have more time: their tails are compared.
#define MODES_DEFAULT                                                                                        \
  "off,auto,fixed:0,fixed:5,fixed:10,fixed:15,fixed:20,off,auto,fixed:30,fixed:40,fixed:60,fixed:80,"        \
  "fixed:120,fixed:160,fixed:200,auto"
#define LEAD_US_MAX 10000
#define STEPS 5 // of ASK_STEP

static const char usage[] =
    "usage: ws-prewake [bench=compare|step] [key=value]...   one JSON object a line, one a mode or step\n"
    "       ws-prewake class=other workers=1 bursts=12x6 pattern=DDDDU slot_us=500 jitter_us=5\n"
    "keys:  modes=off,auto,fixed:20 (leads in us; one named twice has twice the time)   workers=1\n"
    "       cap=10 (percent)   spin_price=9   bursts=12x6+22x28 (tasks x us, chained) or file=PATH\n"
    "       slot_us=500   pattern=DDDDU (U: burst, D: none)   jitter_us=0   drift_ppm=0   seed=1\n"
    "       warm_ms=1000   measure_ms=5000   block_ms=40   limit_s=S   class=other|rr|rrall   hog=N\n"
    "       slack_ns=50000   dma_latency=-1|0   quota_percent=N   inject_us=N   bimodal=PERCENT\n"
    "       pin=0|1 (producer on the first CPU, workers on the others)   next_pattern=U (step)\n"
    "compare: modes take turns in blocks in one pool. step: auto alone, from its first burst; then wakes\n"
    "become slower by inject_us, then quicker again, the grid jumps, the pattern changes: measure_ms each.\n"
    "Times are in us; a slot's cost is lateness + (CPU time - work) / spin_price.\n";

static bool parse_mode(const char *text, spin_mode_t *mode)
{
  uint32_t lead_us = 0;
  int used = 0;
  *mode = (spin_mode_t){.spin = strcmp(text, "auto") == 0 ? WS_SPIN_AUTO : WS_SPIN_OFF};
  if ((size_t)snprintf(mode->name, sizeof mode->name, "%s", text) >= sizeof mode->name)
    return false;
  if (strcmp(text, "off") == 0 || strcmp(text, "auto") == 0)
    return true;
  mode->spin = WS_SPIN_FIXED;
  const bool good = sscanf(text, "fixed:%u%n", &lead_us, &used) == 1 && text[used] == '\0';
  mode->lead_ns = lead_us * UINT64_C(1000);
  return good && lead_us <= LEAD_US_MAX;
}

static bool parse_modes(const char *text, void *target)
{
  question_t *const question = target;
  char names[TURNS_MAX * MODE_CHARS];
  if ((size_t)snprintf(names, sizeof names, "%s", text) >= sizeof names)
    return false;
  question->mode_count = question->turn_count = 0;
  char *rest = NULL;
  for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    uint32_t mode = 0;
    while (mode < question->mode_count && strcmp(question->modes[mode].name, name) != 0)
      mode++;
    if (question->turn_count == TURNS_MAX
        || (mode == question->mode_count && !parse_mode(name, &question->modes[question->mode_count++])))
      return false;
    question->modes[mode].turns++;
    question->turns[question->turn_count++] = mode;
  }
  return question->turn_count > 0;
}

static bool parse_pattern(const char *text, void *pattern)
{
  const size_t length = strlen(text);
  if (length >= PATTERN_CHARS || strspn(text, "UD") != length || !strchr(text, 'U'))
    return false;
  strcpy(pattern, text);
  return true;
}

#define NUMBER(field, least, most) WORD_NUMBER(question_t, field, least, most)

static const word_key_t keys[] = {
    {"bench", WORD_ONE_OF(question_t, ask, "compare", "step")},
    {"workers", NUMBER(work.workers, 1, 1024)},
    {"class", WORD_ONE_OF(question_t, work.sched_class, "other", "rr", "rrall")},
    {"hog", WORD_FUNC(question_t, work, request_parse_hogs)},
    {"limit_s", .kind = KEY_SECONDS, WORD_FIELD(question_t, work.limit_s)},
    {"bursts", WORD_FUNC(question_t, work, request_parse_bursts)},
    {"file", WORD_TEXT(question_t, work.file)},
    {"modes", .kind = KEY_FUNC, .parse = parse_modes},
    {"cap", NUMBER(cap_percent, 0, 100)},
    {"spin_price", NUMBER(spin_price, 1, 100)},
    {"slot_us", NUMBER(slot_us, 1, 1000000)},
    {"pattern", WORD_FUNC(question_t, pattern, parse_pattern)},
    {"next_pattern", WORD_FUNC(question_t, next_pattern, parse_pattern)},
    {"jitter_us", NUMBER(jitter_us, 0, 1000000)},
    {"drift_ppm", NUMBER(drift_ppm, -1000, 1000)},
    {"seed", NUMBER(seed, 0, UINT32_MAX)},
    {"warm_ms", NUMBER(warm_ms, 0, 600000)},
    {"measure_ms", NUMBER(measure_ms, 0, 3600000)},
    {"block_ms", NUMBER(block_ms, 1, 60000)},
    {"slack_ns", NUMBER(slack_ns, 1, 1000000000)},
    {"dma_latency", NUMBER(dma_latency_us, -1, 1000000)},
    {"quota_percent", NUMBER(quota_percent, 0, 100000)},
    {"pin", NUMBER(pin, 0, 1)},
    {"inject_us", NUMBER(inject_us, 0, 10000)},
    {"bimodal", NUMBER(bimodal_percent, 0, 100)},
    {NULL},
};

_Noreturn static void serve_in_child(const question_t *question, const environment_t *environment)
{
  static void (*const measure[])(bench_run_t *) = {
      [ASK_COMPARE] = measure_compare, [ASK_STEP] = measure_step};
  static report_t report;
  bench_run_t bench = {.question = question, .environment = environment, .report = &report};
  timer_t timer;
  process_die_with_parent();
  inject_set(question->inject_us * 1000, question->bimodal_percent, question->seed);
  if (!process_limit(&timer, question->work.limit_s))
    report_error(&report, "no timer to end the measurement: %s", strerror(errno));
  else if (environment_enter(environment, question, &report) && bench_open(&bench))
    measure[question->ask](&bench);
  if (report.length) // what is left is a reason why there is no answer
    report_print(&report);
  if (bench.pool)
    ws_pool_destroy(bench.pool);
  _exit(EXIT_SUCCESS);
}

static void ignore(int signal_number)
{
  (void)signal_number;
}

/// Wait for the child; a signal that asks this program to end ends the child first.
static int32_t wait_for(pid_t child)
{
  int status = 0;
  if (waitpid(child, &status, 0) < 0) {
    process_end(child);
    return SIGTERM;
  }
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static bool answer(const question_t *question)
{
  static report_t report;
  environment_t environment;
  int32_t ended_by = 0;
  const struct sigaction action = {.sa_handler = ignore};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  if (environment_open(&environment, question, &report)) {
    const pid_t child = fork();
    if (child == 0)
      serve_in_child(question, &environment);
    ended_by = child > 0 ? wait_for(child) : SIGTERM;
    if (ended_by == SIGKILL)
      report_error(&report, "not done within %.1f s; killed", question->work.limit_s);
    else if (ended_by)
      report_error(&report, "the measuring process ended: %s", strsignal(ended_by));
  }
  environment_close(&environment);
  if (report.length)
    report_print(&report);
  return ended_by == 0;
}

int main(int argc, char **argv)
{
  static report_t report;
  static question_t question = {
      .work = {.workers = 1},
      .cap_percent = 10,
      .spin_price = 9, // as the pool has it by default
      .slot_us = 500,
      .pattern = "U",
      .next_pattern = "U",
      .seed = 1,
      .warm_ms = 1000,
      .measure_ms = 5000,
      .block_ms = 40,
      .slack_ns = 50000,
      .dma_latency_us = -1,
  };
  request_t *const work = &question.work;
  parse_modes(MODES_DEFAULT, &question);
  words_take(argc, argv, usage, keys, &question);
  if (work->burst_count > 0 && work->file[0]) {
    report_error(&report, "request: bursts and file exclude each other");
    report_print(&report);
    return EXIT_FAILURE;
  }
  if (work->burst_count == 0 && !work->file[0])
    request_parse_bursts("12x6", work);
  const uint64_t measured_ms = question.measure_ms * (question.ask == ASK_STEP ? STEPS : 1);
  if (work->limit_s == 0) // generous: a host may stop the whole machine for seconds
    work->limit_s = 60 + 1e-2 * (double)(question.warm_ms + measured_ms);
  return answer(&question) ? EXIT_SUCCESS : EXIT_FAILURE;
}
