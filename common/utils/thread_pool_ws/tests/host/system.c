// SPDX-License-Identifier: BSD-3-Clause
/// @file system.c
/// system.h and host_threads.h.
#define _GNU_SOURCE
#include "common/utils/system.h"

#include "assertions.h"
#include "host_threads.h"

#define CAP_SYS_NICE_BIT 23

static struct {
  pthread_mutex_t lock;
  uint32_t count;
  host_thread_t thread[HOST_THREADS_MAX];
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool has_cap_sys_nice(void)
{
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  unsigned long long effective = 0;
  while (status && fgets(line, sizeof(line), status))
    if (sscanf(line, "CapEff: %llx", &effective) == 1)
      break;
  if (status)
    fclose(status);
  return (effective >> CAP_SYS_NICE_BIT) & 1;
}

static void record(pthread_t thread, const char *name, int affinity, int priority)
{
  pthread_mutex_lock(&made.lock);
  if (made.count < HOST_THREADS_MAX) {
    host_thread_t *entry = &made.thread[made.count++];
    entry->thread = thread;
    snprintf(entry->name, sizeof(entry->name), "%s", name);
    entry->affinity = affinity;
    entry->priority = priority;
  }
  pthread_mutex_unlock(&made.lock);
}

static void ask_for_real_time(pthread_attr_t *attr, int priority)
{
  const struct sched_param param = {.sched_priority = priority};
  AssertFatal(pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED) == 0, "inherit");
  AssertFatal(pthread_attr_setschedpolicy(attr, SCHED_OAI) == 0, "policy");
  AssertFatal(pthread_attr_setschedparam(attr, &param) == 0, "priority %d", priority);
}

void threadCreate(pthread_t *t, void *(*func)(void *), void *param, char *name, int affinity, int priority)
{
  const bool real_time = has_cap_sys_nice();
  pthread_attr_t attr;
  AssertFatal(pthread_attr_init(&attr) == 0, "attributes");
  if (real_time)
    ask_for_real_time(&attr, priority);
  pthread_t thread;
  int rc = pthread_create(&thread, &attr, func, param);
  if (rc == EPERM) // a container that keeps the capability but not the right
    rc = pthread_create(&thread, NULL, func, param);
  AssertFatal(rc == 0, "no thread %s: %s", name, strerror(rc));
  pthread_attr_destroy(&attr);
  pthread_setname_np(thread, name); // too long: no name
  if (real_time && affinity != -1) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)affinity, &cpus);
    rc = pthread_setaffinity_np(thread, sizeof(cpus), &cpus);
    AssertFatal(rc == 0, "%s: processor %d: %s", name, affinity, strerror(rc));
  }
  record(thread, name, affinity, priority);
  *t = thread;
}

uint32_t host_threads_count(void)
{
  pthread_mutex_lock(&made.lock);
  const uint32_t count = made.count;
  pthread_mutex_unlock(&made.lock);
  return count;
}

host_thread_t host_thread(uint32_t i)
{
  pthread_mutex_lock(&made.lock);
  AssertFatal(i < made.count, "thread %u of %u", i, made.count);
  const host_thread_t entry = made.thread[i];
  pthread_mutex_unlock(&made.lock);
  return entry;
}
