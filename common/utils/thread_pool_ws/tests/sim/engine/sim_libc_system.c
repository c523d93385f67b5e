// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_libc_system.c
/// Clocks, CPUs, memory, and the files of /proc and /sys that the pool reads.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "sim_fault.h"
#include "sim_libc.h"
#include "sim_memory.h"
#include "sim_schedule.h"

size_t sim_mapped_bytes;
uint64_t sim_throttled;

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
  if (!sim_self)
    return __real_clock_gettime(clock, time);
  sim_ps_t ps;
  if (clock == CLOCK_MONOTONIC) {
    sim_step(sim_ps(sim_machine.clock_ns));
    ps = sim_self->now_ps;
  } else if (clock < 0) { // the CPU clock of a thread
    sim_step(sim_ps(sim_machine.syscall_ns));
    const uint32_t tid = (uint32_t)~clock >> 3;
    if (tid == 0 || tid > sim_threads || sim_thread[tid - 1]->state == SIM_ENDED) {
      errno = EINVAL;
      return -1;
    }
    ps = sim_thread[tid - 1]->busy_ps;
  } else {
    ps = sim_self->busy_ps;
  }
  *time = (struct timespec){.tv_sec = (time_t)(ps / SIM_PS_PER_S),
                            .tv_nsec = (long)(ps % SIM_PS_PER_S / SIM_PS_PER_NS)};
  return 0;
}

int __wrap_sched_getcpu(void)
{
  sim_step(sim_ps(sim_machine.local_ns) * 4);
  return (int)sim_self->cpu;
}

int __wrap_sched_yield(void)
{
  sim_step(sim_ps(sim_machine.syscall_ns));
  sim_schedule_yield(sim_self->cpu, sim_self->now_ps);
  sim_step(0);
  return 0;
}

int __real_getrusage(int who, struct rusage *usage);
int __wrap_getrusage(int who, struct rusage *usage)
{
  if (!sim_self)
    return __real_getrusage(who, usage);
  sim_step(sim_ps(sim_machine.syscall_ns));
  *usage = (struct rusage){.ru_nvcsw = (long)sim_self->sleeps};
  return 0;
}

static sim_thread_t *thread_of(pid_t tid)
{
  if (tid == 0)
    return sim_self;
  return tid > 0 && tid <= (pid_t)sim_threads && sim_thread[tid - 1]->state != SIM_ENDED ? sim_thread[tid - 1]
                                                                                         : NULL;
}

int __wrap_sched_getaffinity(pid_t tid, size_t bytes, cpu_set_t *set)
{
  const sim_thread_t *thread = thread_of(tid);
  sim_step(sim_ps(sim_machine.syscall_ns));
  if (!thread || bytes < sizeof(thread->allowed)) {
    errno = thread ? EINVAL : ESRCH;
    return -1;
  }
  memset(set, 0, bytes);
  for (uint32_t cpu = 0; cpu < sim_machine.cpus; cpu++)
    if (sim_may_use(thread, cpu))
      ((uint64_t *)set)[cpu / 64] |= UINT64_C(1) << (cpu % 64);
  return 0;
}

int __wrap_sched_setaffinity(pid_t tid, size_t bytes, const cpu_set_t *set)
{
  sim_thread_t *thread = thread_of(tid);
  uint64_t allowed[SIM_CPU_WORDS] = {0};
  bool any = false;
  sim_step(sim_ps(sim_machine.syscall_ns));
  memcpy(allowed, set, bytes < sizeof(allowed) ? bytes : sizeof(allowed));
  for (uint32_t cpu = 0; cpu < sim_machine.cpus; cpu++)
    any |= (allowed[cpu / 64] >> (cpu % 64)) & 1;
  if (!thread || !any) {
    errno = thread ? EINVAL : ESRCH;
    return -1;
  }
  memcpy(thread->allowed, allowed, sizeof(allowed));
  sim_thread_settle(thread, sim_self->now_ps);
  sim_step(0);
  return 0;
}

// A simulated thread's id is its kernel's number.
int __wrap_pthread_getaffinity_np(pthread_t id, size_t bytes, cpu_set_t *set)
{
  return __wrap_sched_getaffinity((pid_t)id, bytes, set) == 0 ? 0 : errno;
}

int __wrap_pthread_setaffinity_np(pthread_t id, size_t bytes, const cpu_set_t *set)
{
  return __wrap_sched_setaffinity((pid_t)id, bytes, set) == 0 ? 0 : errno;
}

void *__real_mmap(void *address, size_t bytes, int access, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int access, int flags, int file, off_t offset)
{
  if (!sim_self)
    return __real_mmap(address, bytes, access, flags, file, offset);
  sim_step(sim_ps(sim_machine.syscall_ns) * 5);
  if (sim_fault_happens(sim_fault.map_share)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  address = address ? address : sim_next_address(bytes);
  void *memory = __real_mmap(address, bytes, access, flags, file, offset);
  if (memory == MAP_FAILED)
    return memory;
  sim_mapped_bytes += bytes;
  sim_memory_forget(memory, bytes);
  return memory;
}

int __real_madvise(void *memory, size_t bytes, int advice);

bool sim_keeps_unmapped;

int __real_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes)
{
  sim_step(sim_ps(sim_machine.syscall_ns) * 5);
  sim_mapped_bytes -= bytes;
  if (!sim_keeps_unmapped)
    return __real_munmap(memory, bytes);
  __real_madvise(memory, bytes, MADV_DONTNEED);
  return mprotect(memory, bytes, PROT_NONE);
}

int __wrap_madvise(void *memory, size_t bytes, int advice)
{
  sim_step(sim_ps(sim_machine.syscall_ns) * 5);
  return __real_madvise(memory, bytes, advice);
}

#define FILE_NUMBER 1000 ///< one simulated file at a time
static char file_text[256];
static size_t file_read;

static bool write_file(const char *path)
{
  int tid;
  if (sscanf(path, "/proc/self/task/%d/stat", &tid) == 1) {
    const sim_thread_t *thread = thread_of(tid);
    if (!thread)
      return false;
    snprintf(file_text, sizeof(file_text), "%d (x) %c 1\n", tid, thread->state == SIM_ASLEEP ? 'S' : 'R');
  } else if (strcmp(path, "/proc/self/cgroup") == 0) {
    snprintf(file_text, sizeof(file_text), "0::/\n");
  } else if (strcmp(path, "/sys/fs/cgroup/cpu.max") == 0 && sim_machine.quota_cpus > 0) {
    snprintf(file_text, sizeof(file_text), "%.0f 100000\n", sim_machine.quota_cpus * 100000);
  } else if (strcmp(path, "/sys/fs/cgroup/cpu.stat") == 0) {
    snprintf(file_text, sizeof(file_text), "nr_throttled %llu\n", (unsigned long long)sim_throttled);
  } else if (sscanf(path, "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", &tid) == 1
             && (uint32_t)tid < sim_machine.cpus) {
    const uint32_t cpus = sim_machine.llc_cpus;
    snprintf(file_text, sizeof(file_text), "%u\n", (uint32_t)tid / cpus * cpus);
  } else {
    return false;
  }
  return true;
}

int __wrap_open(const char *path, int flags, ...)
{
  sim_step(sim_ps(sim_machine.syscall_ns) * 5);
  file_read = 0;
  if (write_file(path))
    return FILE_NUMBER;
  errno = ENOENT;
  return -1;
}

ssize_t __wrap_read(int file, void *buffer, size_t bytes)
{
  const size_t left = strlen(file_text + file_read);
  const size_t count = bytes < left ? bytes : left;
  memcpy(buffer, file_text + file_read, count);
  file_read += count;
  return (ssize_t)count;
}

int __wrap_close(int file)
{
  return file == FILE_NUMBER ? 0 : EBADF;
}

void (*sim_on_finding)(const char *text);

void sim_finding(const char *format, ...)
{
  char text[256];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  if (sim_on_finding)
    sim_on_finding(text);
  else
    printf("FINDING %s\n", text);
  fflush(stdout);
  _exit(1);
}
