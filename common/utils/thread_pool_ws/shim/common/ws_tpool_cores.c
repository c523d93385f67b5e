// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_cores.c
/// ws_tpool_cores.h. Tries each core in a thread made for that. The process's mask does not show to which
/// other cores a thread may be moved, and the caller's own mask must not change.
#define _GNU_SOURCE
#include "ws_tpool_cores.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RANGE_BYTES 24 ///< of a text with two numbers

typedef struct {
  const int32_t *cores; ///< NULL = all that a cpu_set_t has
  uint32_t count;
  int64_t bad; ///< out: index of the first invalid core
  cpu_set_t there; ///< out: the valid cores
} trial_t;

static bool try_core(uint32_t core)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0 || errno != EINVAL;
}

static void *try_all(void *trial_arg)
{
  trial_t *trial = trial_arg;
  for (uint32_t i = 0; i < trial->count; i++) {
    const int32_t core = trial->cores ? trial->cores[i] : (int32_t)i;
    if (core < 0)
      continue;
    if (try_core((uint32_t)core))
      CPU_SET((size_t)core, &trial->there);
    else if (trial->bad < 0)
      trial->bad = i;
  }
  return NULL;
}

static trial_t run_trial(const int32_t *cores, uint32_t count)
{
  trial_t trial = {.cores = cores, .count = count, .bad = -1};
  pthread_t thread;
  CPU_ZERO(&trial.there);
  if (pthread_create(&thread, NULL, try_all, &trial) == 0)
    pthread_join(thread, NULL);
  return trial;
}

int64_t ws_tpool_cores_bad(const int32_t *cores, uint32_t count)
{
  return run_trial(cores, count).bad;
}

void ws_tpool_cores_text(char *text, size_t bytes)
{
  const trial_t trial = run_trial(NULL, CPU_SETSIZE);
  const char *comma = "";
  text[0] = '\0';
  for (uint32_t first = 0, end; first < CPU_SETSIZE; first = end + 1) {
    for (end = first; end < CPU_SETSIZE && CPU_ISSET(end, &trial.there); end++)
      ;
    const size_t length = strlen(text);
    if (end == first || bytes - length < RANGE_BYTES)
      continue;
    if (end - first == 1)
      snprintf(text + length, bytes - length, "%s%u", comma, first);
    else
      snprintf(text + length, bytes - length, "%s%u-%u", comma, first, end - 1);
    comma = ",";
  }
}

bool ws_tpool_may_pin(void)
{
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
  return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & (1u << CAP_SYS_NICE));
}
