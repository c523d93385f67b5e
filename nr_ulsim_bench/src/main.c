// SPDX-License-Identifier: BSD-3-Clause
// ws-bench: measures a pool in a process of its own. Words on the command line are the request. The answer
// is a JSON object on a line. `python -m nrbench` plans the requests and reads the answers.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "session.h"
#include "words.h"

static const char usage[] =
    "usage: ws-bench bench=slot|stream|replay|coliseum|wake|idle|pi|info"
    " backend=NAME [key=value]...\n"
    "keys:  workers=N class=other|rr|rrall|fifo mode=default|hot|pinned hog=N limit_s=S env=NAME=VALUE\n"
    "       noise=normal|lowest|session|realtime:ON_US:OFF_US: a process that computes on and off beside it\n"
    "       noise=host:ON_US:OFF_US: one on each CPU above all classes; the times are exponential\n"
    "       slot: bursts=12x6+22x28 (tasks x us) period_us=N warm=N slots=N: the first do not count\n"
    "             arrivals=regular|exponential|onoff|first: gaps; varied=1: of a burst 1/4 of the tasks to "
    "all;\n"
    "             seed=N: of both\n"
    "             histogram=1: how often each makespan came, as pairs: up to so many ns, slots\n"
    "                replay: file=PATH and those\n"
    "       stream: bursts=1xD period_ns=N and warm, slots: one task a period, never joined;\n"
    "               fan=N: each of them pushes N more when it has computed\n"
    "       coliseum: work=empty|fib19|fib17-19|fib19x1-3|nested tasks=N; seed=N: fib19x1-3 repeats\n"
    "       wake, idle: idle_us=N slots=N\n"
    "       pi: intervals=N warm=N: a reduction after so many; mode=pinned: threads have CPUs of\n"
    "           their own, from number pin_first=N on, each pin_step=N further; the producer has the last\n";

/// A pool has this long to be destroyed.
#define CLOSE_S_MAX 2.0

/// The report ends with a newline; the pipe itself stays open until the process ends, when the pool has been
/// destroyed.
_Noreturn static void serve_in_child(const request_t *request, int result_fd)
{
  process_die_with_parent();
  static report_t report;
  session_t session = {.pool = NULL};
  timer_t timer;
  const bool limited = process_limit(&timer, request->limit_s);
  if (limited)
    serve(&session, request, &report);
  else
    report_error(&report, "no timer to end the measurement: %s", strerror(errno));
  report.text[report.length++] = '\n';
  const ssize_t written = write(result_fd, report.text, report.length);
  if (session.pool && process_set_limit(timer, CLOSE_S_MAX))
    session.backend->destroy(session.pool);
  _exit(written == (ssize_t)report.length ? EXIT_SUCCESS : EXIT_FAILURE);
}

/// Read until the child ends.
/// @return true when it wrote a complete report
static bool read_report(int fd, report_t *report)
{
  ssize_t length;
  while ((length = read(fd, report->text + report->length, REPORT_CHARS_MAX - report->length)) > 0)
    report->length += (uint32_t)length;
  const bool complete = report->length > 0 && report->text[report->length - 1] == '\n';
  report->length -= complete;
  return complete;
}

/// LLVM's OpenMP runtime registers its process by a file in shared memory, and removes the file in its
/// destructor. A measuring process runs no destructors: it was killed, or has ended by _exit(), because a
/// runtime that hangs there would hold up the next measurement.
static void remove_registration(pid_t ended)
{
  char name[64];
  snprintf(name, sizeof name, "/__KMP_REGISTERED_LIB_%d_%d", (int)ended, (int)getuid());
  shm_unlink(name);
}

static void collect(pid_t child, int fd, const request_t *request, report_t *report)
{
  const bool complete = read_report(fd, report);
  int status = 0;
  waitpid(child, &status, 0);
  remove_registration(child);
  const int32_t signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (complete)
    return; // however its pool ended
  if (signal_number == SIGKILL)
    report_error(report, "no result within %.1f s; killed", request->limit_s);
  else if (signal_number)
    report_error(report, "crashed: %s", strsignal(signal_number));
  else
    report_error(report, "the measuring process ended with status %d and no result", WEXITSTATUS(status));
}

static void run_child(const request_t *request, report_t *report)
{
  int ends[2];
  if (pipe(ends) != 0) {
    report_error(report, "no pipe: %s", strerror(errno));
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    serve_in_child(request, ends[1]);
  }
  close(ends[1]);
  if (child > 0)
    collect(child, ends[0], request, report);
  else
    report_error(report, "no process: %s", strerror(errno));
  close(ends[0]);
}

/// Let a child process serve @p request, so that a pool that hangs or crashes costs one result only; kill it
/// when it takes longer than request->limit_s.
static void supervise(const request_t *request, report_t *report)
{
  pid_t noise[REQUEST_NOISE_MAX];
  if (process_start_all(request->noise, request->noise_count, noise))
    run_child(request, report); // its pipe is made after the noise, which would hold it open
  else
    report_error(report, "no process beside the measurement: %s", strerror(errno));
  process_end_all(noise, request->noise_count);
}

static bool answer(char *line)
{
  static request_t request;
  static report_t report;
  if (request_parse(line, &request, &report))
    supervise(&request, &report);
  return report_print(&report);
}

int main(int argc, char **argv)
{
  char line[WORDS_CHARS_MAX];
  words_join(argc, argv, usage, line);
  process_die_with_parent();
  return answer(line) ? EXIT_SUCCESS : EXIT_FAILURE;
}
