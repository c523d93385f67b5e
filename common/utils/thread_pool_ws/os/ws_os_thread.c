// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_thread.c
/// ws_os.h: futex, clocks, threads, fences; and a small file, whole.
#define _GNU_SOURCE
#include "ws_os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int ws_os_futex_wait_until(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                                    .tv_nsec = (long)(deadline_ns % 1000000000u)};
  const long result = syscall(SYS_futex, &word->v, FUTEX_WAIT_BITSET_PRIVATE, expected,
                              deadline_ns ? &deadline : NULL, NULL, FUTEX_BITSET_MATCH_ANY);
  // 0: woken, not equal, or a signal: the caller looks at its word again
  return result < 0 && errno == ETIMEDOUT ? -ETIMEDOUT : 0;
}

int ws_os_futex_wait(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns)
{
  return ws_os_futex_wait_until(word, expected, timeout_ns ? ws_os_now_ns() + timeout_ns : 0);
}

void ws_os_futex_wake(ws_au32_t *word, uint32_t count)
{
  syscall(SYS_futex, &word->v, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

bool ws_os_read(const char *path, char *text, size_t bytes)
{
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t length = 0, more;
  while ((size_t)length < bytes - 1 && (more = read(file, text + length, bytes - 1 - (size_t)length)) > 0)
    length += more;
  close(file);
  text[length] = '\0';
  return length > 0;
}

/// @return 0 if there is no such clock
static uint64_t read_clock_ns(clockid_t clock)
{
  struct timespec t = {0};
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t ws_os_now_ns(void)
{
  return read_clock_ns(CLOCK_MONOTONIC);
}

uint64_t ws_os_real_ns(void)
{
  return read_clock_ns(CLOCK_REALTIME);
}

#define CLOCK_TRIES 8u
void ws_os_clocks(uint64_t *now_ns, uint64_t *real_ns)
{
  uint64_t shortest = UINT64_MAX;
  for (uint32_t i = 0; i < CLOCK_TRIES; i++) {
    const uint64_t before_ns = ws_os_now_ns(), at_ns = ws_os_real_ns(), took_ns = ws_os_now_ns() - before_ns;
    if (took_ns >= shortest)
      continue;
    shortest = took_ns;
    *now_ns = before_ns + took_ns / 2;
    *real_ns = at_ns;
  }
}

/// @return the third field of /proc/self/task/<tid>/stat, its state, in @p text; NULL = there is none
static const char *read_stat(int32_t tid, char *text, size_t bytes)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
  const char *name_end =
      ws_os_read(path, text, bytes) ? strrchr(text, ')') : NULL; // the name may hold anything
  return name_end && name_end[1] == ' ' ? name_end + 2 : NULL;
}

bool ws_os_thread_sleeps(int32_t tid)
{
  char text[512];
  const char *state = read_stat(tid, text, sizeof(text));
  return state && (*state == 'S' || *state == 'D');
}

uint32_t ws_os_thread_last_cpu(int32_t tid)
{
  enum { STATE = 3, PROCESSOR = 39 }; // fields: proc_pid_stat(5)
  char text[1024];
  const char *field = tid ? read_stat(tid, text, sizeof(text)) : NULL;
  for (uint32_t i = STATE; field && i < PROCESSOR; i++)
    field = (field = strchr(field, ' ')) ? field + 1 : NULL;
  return field ? (uint32_t)strtoul(field, NULL, 10) + 1 : 0;
}

uint64_t ws_os_thread_cpu_ns(int32_t tid)
{
  // The kernel's number for the CPU clock of a thread (clock_getcpuclockid(3) has none for single threads).
  enum { PER_THREAD = 4, SCHED = 2 };
  return read_clock_ns((clockid_t)((~(uint32_t)tid << 3) | PER_THREAD | SCHED));
}

uint64_t ws_os_used_ns(uint64_t *sleeps)
{
  struct rusage usage = {0}; // its CPU time may be late by a tick
  getrusage(RUSAGE_THREAD, &usage);
  *sleeps = (uint64_t)usage.ru_nvcsw;
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

bool ws_os_thread_exists(int32_t tid)
{
  return syscall(SYS_tgkill, getpid(), tid, 0) == 0 || errno != ESRCH;
}

uint64_t ws_os_timer_slack(uint64_t slack_ns)
{
  const int before_ns = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns); // if refused, timers are later: measured
  return before_ns > 0 ? (uint64_t)before_ns : slack_ns;
}

void ws_os_lock_init(pthread_mutex_t *lock)
{
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT); // refused: a lock without it
  if (pthread_mutex_init(lock, &attributes) != 0)
    pthread_mutex_init(lock, NULL);
  pthread_mutexattr_destroy(&attributes);
}

/// @return whether the caller is of class DEADLINE, whose threads cannot make others
// musl has sched_getscheduler() and sched_getparam(), but they always refuse.
static bool is_deadline(void)
{
  return syscall(SYS_sched_getscheduler, 0) == SCHED_DEADLINE;
}

const char *ws_os_refusal(int error)
{
  if (error != EAGAIN)
    return strerror(error);
  return is_deadline() ? "threads of class SCHED_DEADLINE cannot create others: set SCHED_FLAG_RESET_ON_FORK"
                         " (sched_setattr), or create the pool in another thread"
                       : "limit of threads (ulimit -u, pids.max), or no memory";
}

/// The longest wait between two tries. The first is 1 ms, each further one twice as long.
#define TRY_NS_MAX 64000000u

int ws_os_thread_create(pthread_t *thread, size_t stack_bytes, uint64_t patience_ns, void *(*func)(void *arg),
                        void *arg)
{
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigset_t blocked, before;
  pthread_attr_t attr;
  int error;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
    sigdelset(&blocked, own[i]);
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, stack_bytes); // refused if it is 0
  pthread_sigmask(SIG_SETMASK, &blocked, &before); // inherited: no signal reaches the thread before its start
  for (uint64_t wait_ns = 1000000, waited_ns = 0;; wait_ns *= wait_ns < TRY_NS_MAX ? 2 : 1) {
    ws_os_fork_hold();
    error = pthread_create(thread, stack_bytes > 0 ? &attr : NULL, func, arg);
    ws_os_fork_let();
    if (error != EAGAIN || waited_ns >= patience_ns || is_deadline())
      break;
    ws_os_futex_wait(&(ws_au32_t){0}, 0, wait_ns);
    waited_ns += wait_ns;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return error;
}

int32_t ws_os_cpu(void)
{
  return sched_getcpu();
}

void ws_os_place(int32_t *cpu, int32_t *node)
{
  *cpu = *node = -1; // if the call is refused
  syscall(SYS_getcpu, cpu, node, NULL);
}

uint32_t ws_os_priority(int32_t tid)
{
  struct sched_param param = {0};
  return syscall(SYS_sched_getparam, tid, &param) == 0 ? (uint32_t)param.sched_priority : 0;
}

/// @return a number that is higher for threads that go first
static uint32_t rank_of(long policy, uint32_t priority)
{
  return policy == SCHED_IDLE ? 0 : policy == SCHED_BATCH ? 1 : 2 + priority;
}

// Not pthread_setschedparam(): a thread that has just lowered its own class by it may still hold its lock.
void ws_os_lend_class(int32_t tid)
{
  const long policy = syscall(SYS_sched_getscheduler, 0), other = syscall(SYS_sched_getscheduler, tid);
  const struct sched_param param = {.sched_priority = (int)ws_os_priority(0)};
  if (tid != 0 && policy >= 0 && other >= 0
      && rank_of(policy, (uint32_t)param.sched_priority) > rank_of(other, ws_os_priority(tid)))
    syscall(SYS_sched_setscheduler, tid, policy, &param);
}

void ws_os_yield(void)
{
  sched_yield();
}

int32_t ws_os_tid(void)
{
  return (int32_t)syscall(SYS_gettid);
}

bool ws_os_fence_begin(void)
{
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void ws_os_fence_heavy(bool is_light)
{
  // [edge GUARD_DEKKER fence] [edge STOP_DEKKER fence] The caller's store, DORMANT or STOPPED, before its
  // last look at the queues. Without the fence that look can miss a task whose push reads the old state.
  ws_fence_seq_cst();
  if (is_light) // a filter that refuses the call from now on is not noticed
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
