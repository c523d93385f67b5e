// SPDX-License-Identifier: BSD-3-Clause
// ws-prewake: pre-wake by what was learnt against waking by the push and against leads tuned by hand.
// Use: ws-prewake class=other workers=1 bursts=12x6 pattern=DDDDU slot_us=500 jitter_us=5 measure_ms=5000
//      ws-prewake --help      names all keys
// One call is one environment and one scenario, measured in a process of its own: one JSON object a line, one
// a mode, or one line with "error" or "skipped". `python -m nrbench prewake` plans the calls and judges the
// answers.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "environment.h"
#include "inject.h"
#include "process.h"
#include "words.h"

#define LINE_CHARS_MAX 4096

static void measure(bench_run_t *bench)
{
  switch (bench->question->ask) {
    case ASK_COMPARE:
      measure_compare(bench);
      break;
    case ASK_STEP:
      measure_step(bench);
      break;
    case ASK_IDLE:
      measure_rest(bench);
      break;
    case ASK_CANARY:
      measure_canary(bench);
  }
}

_Noreturn static void serve_in_child(const question_t *question, const environment_t *environment)
{
  static report_t report;
  bench_run_t bench = {.question = question, .environment = environment, .report = &report};
  timer_t timer;
  process_die_with_parent();
  inject_set(question->inject_us * 1000, question->bimodal_percent, question->seed);
  if (!process_limit(&timer, question->work.limit_s))
    report_error(&report, "no timer to end the measurement: %s", strerror(errno));
  else if (environment_enter(environment, question, &report) && bench_open(&bench))
    measure(&bench);
  if (report.length) // what is left is a reason why there is no answer
    bench_answer(&report);
  bench_close(&bench);
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
    bench_answer(&report);
  return ended_by == 0;
}

int main(int argc, char **argv)
{
  static question_t question;
  static report_t report;
  char line[LINE_CHARS_MAX], error[512];
  if (argc > 1 && argv[1][0] == '-') {
    const bool asked = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    fputs(question_usage, asked ? stdout : stderr);
    return asked ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  words_join(argc, argv, line, sizeof line);
  if (question_parse(line, &question, error, sizeof error))
    return answer(&question) ? EXIT_SUCCESS : EXIT_FAILURE;
  report_error(&report, "%s", error);
  bench_answer(&report);
  return EXIT_FAILURE;
}
