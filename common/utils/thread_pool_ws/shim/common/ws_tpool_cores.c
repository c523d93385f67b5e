// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_cores.c
/// ws_tpool_cores.h. Tries each core with a thread made for that. The process's mask does not show to which
/// other cores a thread may be moved, and the caller's own mask must not change.
#define _GNU_SOURCE
#include "ws_tpool_cores.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYSTEM_CPUS "/sys/devices/system/cpu/"
#define RANGE_BYTES 24 ///< of a text with two numbers

typedef struct {
  int64_t bad; ///< index of the first invalid core; -1 = none
  cpu_set_t there; ///< the valid cores
} trial_t;

/// The thread that is moved from core to core: it sleeps meanwhile, because a core may be held by a real-time
/// thread.
static void *sleep_until_tried(void *tried)
{
  while (sem_wait(tried) != 0) // a signal
    ;
  return NULL;
}

static bool try_core(pthread_t thread, uint32_t core)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(thread, sizeof(set), &set) != EINVAL;
}

/// @param cores  NULL = all that a cpu_set_t has
static void try_all(pthread_t thread, const int32_t *cores, uint32_t count, trial_t *trial)
{
  cpu_set_t before; // it has to get a CPU in the end
  if (pthread_getaffinity_np(thread, sizeof(before), &before) != 0)
    return;
  for (uint32_t i = 0; i < count; i++) {
    const int32_t core = cores ? cores[i] : (int32_t)i;
    if (core < 0)
      continue;
    if (try_core(thread, (uint32_t)core))
      CPU_SET((size_t)core, &trial->there);
    else if (trial->bad < 0)
      trial->bad = i;
  }
  pthread_setaffinity_np(thread, sizeof(before), &before);
}

static trial_t run_trial(const int32_t *cores, uint32_t count)
{
  trial_t trial = {.bad = -1};
  pthread_t thread;
  sem_t tried;
  CPU_ZERO(&trial.there);
  sem_init(&tried, 0, 0);
  if (pthread_create(&thread, NULL, sleep_until_tried, &tried) == 0) {
    try_all(thread, cores, count, &trial);
    sem_post(&tried);
    pthread_join(thread, NULL);
  }
  sem_destroy(&tried);
  return trial;
}

int64_t ws_tpool_cores_bad(const int32_t *cores, uint32_t count)
{
  return run_trial(cores, count).bad;
}

static void write_ranges(const cpu_set_t *set, char *text, size_t bytes)
{
  const char *comma = "";
  text[0] = '\0';
  for (uint32_t first = 0, end; first < CPU_SETSIZE; first = end + 1) {
    for (end = first; end < CPU_SETSIZE && CPU_ISSET(end, set); end++)
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

void ws_tpool_cores_text(char *text, size_t bytes)
{
  const trial_t trial = run_trial(NULL, CPU_SETSIZE);
  write_ranges(&trial.there, text, bytes);
}

/// Read a list of the kernel, "0-3,8"; empty if the file is absent.
static void read_list(const char *path, cpu_set_t *set)
{
  char text[4096] = "", *next = text;
  CPU_ZERO(set);
  FILE *file = fopen(path, "re");
  if (!file)
    return;
  if (!fgets(text, sizeof(text), file))
    text[0] = '\0';
  fclose(file);
  while (*next >= '0' && *next <= '9') {
    const unsigned long first = strtoul(next, &next, 10);
    const unsigned long last = *next == '-' ? strtoul(next + 1, &next, 10) : first;
    for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
      CPU_SET(cpu, set);
    next += *next == ',';
  }
}

static bool is_within(const cpu_set_t *part, const cpu_set_t *whole)
{
  cpu_set_t both;
  CPU_AND(&both, part, whole);
  return CPU_EQUAL(&both, part);
}

/// The CPUs of the core of the first one in a set.
static void find_core(const cpu_set_t *set, cpu_set_t *core)
{
  char path[128];
  uint32_t first = 0;
  while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, set))
    first++;
  snprintf(path, sizeof(path), SYSTEM_CPUS "cpu%u/topology/thread_siblings_list", first);
  read_list(path, core);
  CPU_SET(first, core); // the file may be absent
}

ws_tpool_place_t ws_tpool_cores_place(const int32_t *cores, uint32_t count, char *text, size_t bytes)
{
  cpu_set_t mask, used, core, online, isolated;
  uint32_t floating = 0;
  CPU_ZERO(&used);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0)
    CPU_ZERO(&mask); // more CPUs than a cpu_set_t has
  for (uint32_t i = 0; i < count; i++)
    if (cores && cores[i] >= 0)
      CPU_SET((size_t)cores[i], &used);
    else
      floating++;
  if (floating > 0)
    CPU_OR(&used, &used, &mask);
  write_ranges(&used, text, bytes);
  find_core(&used, &core);
  read_list(SYSTEM_CPUS "online", &online);
  if (CPU_COUNT(&mask) == 0)
    return WS_TPOOL_APART;
  if (count > 1 && is_within(&used, &core) && !is_within(&online, &core))
    return WS_TPOOL_ONE_CORE;
  read_list(SYSTEM_CPUS "isolated", &isolated);
  return floating > 1 && is_within(&mask, &isolated) ? WS_TPOOL_ISOLATED : WS_TPOOL_APART;
}

bool ws_tpool_may_pin(void)
{
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
  return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & (1u << CAP_SYS_NICE));
}
