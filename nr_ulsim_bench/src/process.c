// SPDX-License-Identifier: BSD-3-Clause
#include "process.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void process_die_with_parent(void)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

pid_t process_start_hog(void)
{
  const pid_t hog = fork();
  if (hog != 0)
    return hog;
  process_die_with_parent();
  const struct sched_param normal = {.sched_priority = 0}; // one in a real-time class takes a CPU away
  sched_setscheduler(0, SCHED_OTHER, &normal);
  for (volatile uint64_t turns = 0;; turns++)
    ;
}

void process_end(pid_t process)
{
  kill(process, SIGKILL);
  waitpid(process, NULL, 0);
}

bool process_set_limit(timer_t timer, double limit_s)
{
  const time_t seconds = (time_t)limit_s;
  const struct itimerspec limit = {
      .it_value = {.tv_sec = seconds, .tv_nsec = (long)((limit_s - (double)seconds) * 1e9) + 1},
  };
  return timer_settime(timer, 0, &limit, NULL) == 0;
}

bool process_limit(timer_t *timer, double limit_s)
{
  struct sigevent kill_event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  return timer_create(CLOCK_MONOTONIC, &kill_event, timer) == 0 && process_set_limit(*timer, limit_s);
}
