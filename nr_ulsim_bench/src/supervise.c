// SPDX-License-Identifier: BSD-3-Clause
#include "supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "serve.h"

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
  struct iovec parts[] = {{.iov_base = report.text, .iov_len = report.length},
                          {.iov_base = "\n", .iov_len = 1}};
  const ssize_t written = writev(result_fd, parts, 2);
  if (limited && process_set_limit(timer, CLOSE_S_MAX))
    session_close(&session);
  _exit(written == (ssize_t)report.length + 1 ? EXIT_SUCCESS : EXIT_FAILURE);
}

/// Read until the child ends.
/// @return true when it wrote a complete report
static bool read_report(int fd, report_t *report)
{
  for (;;) {
    const ssize_t length = read(fd, report->text + report->length, REPORT_CHARS_MAX - report->length);
    if (length < 0 && errno == EINTR)
      continue;
    if (length <= 0)
      break;
    report->length += (uint32_t)length;
  }
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
  if (complete && signal_number == SIGKILL)
    report_text(report, "close_error", "the pool's destruction did not return; killed");
  else if (complete && signal_number)
    report_text(report, "close_error", strsignal(signal_number));
  else if (!complete && signal_number == SIGKILL)
    report_error(report, "no result within %.1f s; killed", request->limit_s);
  else if (!complete && signal_number)
    report_error(report, "crashed: %s", strsignal(signal_number));
  else if (!complete)
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

/// @return how many run; where one cannot be had, an error is reported
static uint32_t start_noise(const request_t *request, uint32_t wanted, pid_t *noise, report_t *report)
{
  static const noise_t hog = {.kind = NOISE_NORMAL, .on_us = 1000};
  for (uint32_t i = 0; i < wanted; i++) {
    noise[i] = process_start_noise(i < request->hogs ? &hog : &request->noise[i - request->hogs]);
    if (noise[i] < 0) {
      report_error(report, "no process beside the measurement: %s", strerror(errno));
      return i;
    }
  }
  return wanted;
}

void supervise(const request_t *request, report_t *report)
{
  report->length = 0;
  const uint32_t wanted = request->hogs + request->noise_count;
  pid_t noise[REQUEST_HOGS_MAX + REQUEST_NOISE_MAX];
  const uint32_t started = start_noise(request, wanted, noise, report);
  if (started == wanted)
    run_child(request, report); // its pipe is made after the noise, which would hold it open
  for (uint32_t i = 0; i < started; i++)
    process_end(noise[i]);
}
