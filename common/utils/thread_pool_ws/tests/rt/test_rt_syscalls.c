// SPDX-License-Identifier: BSD-3-Clause
/// @file test_rt_syscalls.c
/// After a warm-up the kernel stops a child process at any system call that the pool is not allowed: futex
/// for the threads that push, join and run; for those that wake a worker the move of that worker off their
/// CPU, and a look at their own priority; for the workers the move off a producer's CPU before they park,
/// and the offer of their CPU while they spin; for the guard a look at the state of threads (/proc), and at
/// the CPUs and the quota that the process has, and heavy fences. The pushing thread has the strictest
/// filter, also if each of its bursts is late and recorded.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../../sleep/ws_sleep_state.h"
#include "../support/ws_test.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

#define ALLOW(number)                                                                                        \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ENDS ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn), ALLOW(SYS_restart_syscall)

#define TRAP BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)
/// A worker is woken and moved; one's own priority.
#define WAKES                                                                                                \
  ALLOW(SYS_futex), ALLOW(SYS_sched_setaffinity), ALLOW(SYS_sched_getaffinity), ALLOW(SYS_sched_getparam)
#ifdef __GLIBC__
#define OPENS ALLOW(SYS_openat)
#elif defined(SYS_open) // musl
#define OPENS ALLOW(SYS_open), ALLOW(SYS_fcntl)
#else
#define OPENS ALLOW(SYS_openat), ALLOW(SYS_fcntl)
#endif
/// A thread's CPU clock; before the guard becomes dormant; the state of threads.
#define GUARDS ALLOW(SYS_clock_gettime), ALLOW(SYS_membarrier), OPENS, ALLOW(SYS_read), ALLOW(SYS_close)

static struct sock_filter push_filter[] = {LOAD(nr), WAKES, ENDS, TRAP};
static struct sock_filter judged_filter[] = {LOAD(nr), WAKES, ALLOW(SYS_getrusage), ALLOW(SYS_clock_gettime),
                                             ENDS,     TRAP}; // what it has used
static struct sock_filter pool_filter[] = {LOAD(nr), WAKES, ALLOW(SYS_sched_yield), GUARDS, ENDS, TRAP};

/// The number of the call that was not allowed, for the parent's message.
static int *forbidden;
#define CHILD_FORBIDDEN 99

static void stop_child(int signal_number, siginfo_t *info, void *context)
{
  *forbidden = info->si_syscall;
  _exit(CHILD_FORBIDDEN);
}

static bool install(struct sock_filter *filter, size_t length, unsigned flags)
{
  struct sigaction action = {.sa_sigaction = stop_child, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  const struct sock_fprog program = {.len = (unsigned short)length, .filter = filter};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

static ws_pool_t *pool;

static void push_three(void *unused)
{
  test_burst(pool, 3, test_empty_task, NULL);
}

static void burst(uint32_t round)
{
  ws_group_t group;
  ws_group_init(&group, 16);
  ws_task_t tasks[16];
  for (uint32_t i = 0; i < 16; i++)
    tasks[i] = (ws_task_t){.func = round % 3 ? test_empty_task : push_three, .group = &group};
  if (round % 2) {
    ws_pool_push_batch(pool, tasks, 16);
  } else {
    for (uint32_t i = 0; i < 16; i++)
      ws_pool_push(pool, tasks[i]);
  }
  ws_group_wait(&group, pool);
}

/// All workers and the guard have been at work: none of the pool's threads is still setting itself up.
static void warm_up(uint32_t workers, const char *record)
{
  TEST_GATE(gate);
  ws_settings_t settings = test_settings(workers);
  settings.deadline_ns = record ? 1 : 0;
  snprintf(settings.record, sizeof(settings.record), "%s", record ? record : "");
  pool = test_create(&settings);
  for (uint32_t round = 0; round < 1000; round++) {
    test_hold(pool, &gate, workers);
    test_gate_let(&gate, workers);
    ws_pool_wait(pool);
    if (!ws_sleep_pool(pool)->guarded || test_stats(pool).guard_looks > 0)
      break; // the guard had to see to it that all stood in the gate
  }
  for (uint32_t round = 0; round < 200; round++)
    burst(round);
  ws_pool_wait(pool);
}

typedef struct {
  uint32_t workers;
  bool misbehaves; ///< makes a call that is not allowed: the filter must stop it
  const char *record; ///< a folder; NULL = its bursts are not judged
} child_t;

/// Where clock_gettime is a real system call (no vDSO) it would be seen as one.
static bool has_vdso_clock(void)
{
  FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
  char name[64] = "";
  const bool read = file && fgets(name, sizeof(name), file);
  if (file)
    fclose(file);
  return read && (name[0] == 't' || name[0] == 'k' || name[0] == 'a'); // tsc, kvm-clock, arch_sys_counter
}

static int behave(void *child_arg)
{
  const child_t *child = child_arg;
  warm_up(child->workers, NULL);
  if (!has_vdso_clock() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return TEST_CHILD_SKIP;
  if (!install(pool_filter, TEST_COUNT(pool_filter), SECCOMP_FILTER_FLAG_TSYNC))
    return TEST_CHILD_SKIP;
  for (uint32_t round = 0; round < 3000; round++)
    burst(round);
  if (child->misbehaves)
    syscall(SYS_getppid);
  _exit(0);
}

/// As behave, but only the pushing thread is watched, and may do nothing but wake workers, and if its bursts
/// are judged note what it has used.
static int push_strictly(void *child_arg)
{
  const child_t *child = child_arg;
  struct sock_filter *filter = child->record ? judged_filter : push_filter;
  warm_up(child->workers, child->record);
  if (!has_vdso_clock() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
      || !install(filter, child->record ? TEST_COUNT(judged_filter) : TEST_COUNT(push_filter), 0))
    return TEST_CHILD_SKIP;
  for (uint32_t round = 0; round < 3000; round++)
    burst(round);
  ws_pool_wait(pool);
  _exit(0);
}

static void check(int (*body)(void *), child_t child)
{
  if (!forbidden)
    forbidden = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int code = TEST_SANITIZED || ARCH == 0 ? TEST_CHILD_SKIP : test_in_child(body, &child);
  TEST_SKIP_IF(code == TEST_CHILD_SKIP, "no seccomp, no vDSO clock, or a sanitizer");
  if (code == CHILD_FORBIDDEN && !child.misbehaves)
    printf("\n  %u workers: system call %d is not allowed ", child.workers, *forbidden);
  else if (code != 0 && !child.misbehaves)
    printf("\n  %u workers: the child ended with %d ", child.workers, code);
  CU_ASSERT_EQUAL(code, child.misbehaves ? CHILD_FORBIDDEN : 0);
}

TEST_CASE(the_filter_itself_works)
{
  check(behave, (child_t){.workers = 1, .misbehaves = true});
}

/// Pushing and joining only wakes; running and parking is futex and scheduling only.
TEST_CASE(no_other_system_call)
{
  for (uint32_t workers = 1; workers <= 8; workers *= 2) {
    check(push_strictly, (child_t){.workers = workers});
    check(behave, (child_t){.workers = workers});
  }
}

/// Of threads that push and join: others examine their bursts, and write the record.
TEST_CASE(no_other_system_call_with_ledger_and_record)
{
  char folder[] = "/tmp/ws-rt-XXXXXX", command[40];
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  for (uint32_t workers = 1; workers <= 4; workers *= 2)
    check(push_strictly, (child_t){.workers = workers, .record = folder});
  snprintf(command, sizeof(command), "rm -r %s", folder);
  CU_ASSERT_EQUAL(system(command), 0);
}

TEST_MAIN("rt_syscalls")
