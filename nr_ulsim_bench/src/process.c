// SPDX-License-Identifier: BSD-3-Clause
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cpus.h"

#define NOISE_RT_PRIORITY 10 // the workers have 50
#define NOISE_HOST_PRIORITY 99
#define NOISE_NICE 19

void process_die_with_parent(void)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/// @return @p us, or for a host a random time with this mean
static uint64_t draw_ns(const noise_t *noise, uint64_t us)
{
  const double factor = noise->kind == NOISE_HOST ? -log(1 - drand48()) : 1;
  return (uint64_t)(factor * (double)us * 1000);
}

_Noreturn static void make_noise(const noise_t *noise, pid_t parent)
{
  process_die_with_parent();
  if (getppid() != parent) // it died before that
    _exit(EXIT_FAILURE);
  if (noise->kind == NOISE_SESSION)
    setsid();
  srand48((long)noise->cpu + 1);
  for (;;) {
    const uint64_t end_ns = clock_now_ns() + draw_ns(noise, noise->on_us);
    while (clock_now_ns() < end_ns)
      ;
    if (noise->off_us)
      clock_sleep_until(clock_now_ns() + draw_ns(noise, noise->off_us));
  }
}

/// The class is set in any case: a child of a real-time process would take a CPU away.
static bool set_class(pid_t noise, noise_kind_t kind)
{
  static const int32_t priorities[] = {
      [NOISE_REALTIME] = NOISE_RT_PRIORITY, [NOISE_HOST] = NOISE_HOST_PRIORITY};
  const struct sched_param param = {.sched_priority = priorities[kind]};
  const bool realtime = priorities[kind] > 0;
  const bool set = sched_setscheduler(noise, realtime ? SCHED_FIFO : SCHED_OTHER, &param) == 0;
  if (kind == NOISE_LOWEST || kind == NOISE_SESSION)
    return setpriority(PRIO_PROCESS, (id_t)noise, NOISE_NICE) == 0;
  return set || !realtime;
}

static pid_t start_noise(const noise_t *noise)
{
  const pid_t parent = getpid(), child = fork();
  if (child == 0)
    make_noise(noise, parent);
  if (child < 0
      || ((noise->kind != NOISE_HOST || cpus_pin(child, noise->cpu)) && set_class(child, noise->kind)))
    return child;
  const int32_t error = errno;
  process_end(child);
  errno = error;
  return -1;
}

void process_end(pid_t process)
{
  kill(process, SIGKILL);
  waitpid(process, NULL, 0);
}

bool process_start_all(const noise_t *noise, uint32_t count, pid_t *child)
{
  bool good = true;
  for (uint32_t i = 0; i < count; i++) {
    child[i] = good ? start_noise(&noise[i]) : -1;
    good = good && child[i] >= 0;
  }
  return good;
}

void process_end_all(const pid_t *child, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    if (child[i] >= 0)
      process_end(child[i]);
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

int process_hold_latency(int32_t latency_us)
{
  const int file = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, &latency_us, sizeof latency_us) == (ssize_t)sizeof latency_us)
    return file;
  const int32_t error = errno;
  close(file);
  errno = error;
  return -1;
}
