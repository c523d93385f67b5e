// SPDX-License-Identifier: BSD-3-Clause
// ws-bench: measures one pool at a time. Words on the command line are one request; without words each line
// of standard input is one. Each answer is one JSON object on a line. `python -m nrbench` plans the requests
// and reads the answers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "supervise.h"
#include "words.h"

#define LINE_CHARS_MAX 4096

static const char usage[] =
    "usage: ws-bench bench=slot|stream|replay|coliseum|wake|idle|calibrate|info backend=NAME [key=value]...\n"
    "       ws-bench                  (requests from standard input, one a line, words separated by tabs)\n"
    "keys:  workers=N class=other|rr|rrall mode=default|hot hog=N limit_s=S env=NAME=VALUE\n"
    "       noise=normal|lowest|session|realtime:ON_US:OFF_US: a process that computes on and off beside it\n"
    "       noise=host:ON_US:OFF_US: one on each CPU above all classes; the times are exponential\n"
    "       slot: bursts=12x6+22x28 (tasks x us) period_us=N start=N warm=N slots=N: the first slots are\n"
    "             reported apart, the next not at all\n"
    "             histogram=1: how often each makespan came, as pairs: up to so many ns, slots\n"
    "                replay: file=PATH and those\n"
    "       stream: bursts=1xD period_ns=N and start, warm, slots: one task a period, never joined;\n"
    "               fan=N: each of them pushes N more when it has computed\n"
    "       coliseum: work=empty|fib19|fib17-19|fib19x1-3|nested tasks=N\n"
    "       wake, idle: idle_us=N slots=N\n";

static bool answer(char *line)
{
  static request_t request;
  static report_t report;
  char error[512];
  const bool good = request_parse(line, &request, error, sizeof error);
  if (good)
    supervise(&request, &report);
  else
    report_error(&report, "%s", error);
  printf("{%.*s}\n", (int)report.length, report.text);
  fflush(stdout);
  return good;
}

int main(int argc, char **argv)
{
  char line[LINE_CHARS_MAX] = "";
  const int status = words_usage(argc, argv, false, usage);
  if (status >= 0)
    return status;
  process_die_with_parent();
  if (argc > 1) {
    words_join(argc, argv, line, sizeof line);
    return answer(line) ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  while (fgets(line, sizeof line, stdin))
    answer(line);
  return EXIT_SUCCESS;
}
