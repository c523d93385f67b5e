// SPDX-License-Identifier: BSD-3-Clause
#include "supervise.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "session.h"

/// A pool has this long to be destroyed.
#define CLOSE_NS_MAX UINT64_C(2000000000)
#define CLOSE_LOOK_NS 200000u

static void die_with_parent(void)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static pid_t start_hog(void)
{
  const pid_t hog = fork();
  if (hog != 0)
    return hog;
  die_with_parent();
  for (volatile uint64_t turns = 0;; turns++)
    ;
}

static void end_process(pid_t process)
{
  kill(process, SIGKILL);
  waitpid(process, NULL, 0);
}

_Noreturn static void serve_in_child(const request_t *request, int result_fd)
{
  die_with_parent();
  static report_t report;
  session_t session;
  session_measure(&session, request, &report);
  const ssize_t written = write(result_fd, report.text, report.length);
  close(result_fd);
  session_close(&session);
  _exit(written == (ssize_t)report.length ? EXIT_SUCCESS : EXIT_FAILURE);
}

/// @return false when the deadline passes before the child closes its end
static bool read_report(int fd, uint64_t deadline_ns, report_t *report)
{
  for (;;) {
    const uint64_t now_ns = clock_now_ns();
    const int32_t left_ms = now_ns < deadline_ns ? (int32_t)((deadline_ns - now_ns) / 1000000u) + 1 : 0;
    struct pollfd input = {.fd = fd, .events = POLLIN};
    const int32_t ready = poll(&input, 1, left_ms);
    if (ready == 0)
      return false;
    if (ready < 0)
      continue;
    const ssize_t length = read(fd, report->text + report->length, REPORT_CHARS_MAX - report->length);
    if (length <= 0)
      return true;
    report->length += (uint32_t)length;
  }
}

/// @return false when the child is still there after CLOSE_NS_MAX
static bool await_end(pid_t child, int *status)
{
  const uint64_t deadline_ns = clock_now_ns() + CLOSE_NS_MAX;
  while (waitpid(child, status, WNOHANG) == 0) {
    if (clock_now_ns() >= deadline_ns)
      return false;
    clock_sleep_until(clock_now_ns() + CLOSE_LOOK_NS);
  }
  return true;
}

static void collect(pid_t child, int fd, const request_t *request, report_t *report)
{
  int status = 0;
  if (!read_report(fd, clock_now_ns() + (uint64_t)(request->limit_s * 1e9), report)) {
    end_process(child);
    report_error(report, "no result within %.1f s; killed", request->limit_s);
  } else if (!await_end(child, &status)) {
    end_process(child);
    report_text(report, "close_error", "the pool's destruction did not return; killed");
  } else if (WIFSIGNALED(status)) {
    const char *const name = strsignal(WTERMSIG(status));
    if (report->length)
      report_text(report, "close_error", name);
    else
      report_error(report, "crashed: %s", name);
  } else if (report->length == 0) {
    report_error(report, "the measuring process ended with status %d and no result", WEXITSTATUS(status));
  }
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

void supervise(const request_t *request, report_t *report)
{
  report->length = 0;
  pid_t hogs[REQUEST_HOGS_MAX];
  for (uint32_t i = 0; i < request->hogs; i++) // before the pipe, which they would hold open
    hogs[i] = start_hog();
  run_child(request, report);
  for (uint32_t i = 0; i < request->hogs; i++)
    if (hogs[i] > 0)
      end_process(hogs[i]);
}

void supervise_outrank(void)
{
  const struct sched_param param = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
  sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}
