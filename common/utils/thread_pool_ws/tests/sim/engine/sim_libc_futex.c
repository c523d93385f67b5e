// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_libc_futex.c
/// Futexes, and syscall(2) as far as the pool uses it.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

#include "sim_fault.h"
#include "sim_libc.h"
#include "sim_random.h"
#include "sim_schedule.h"

#define QUEUES 1024u
#define FRESH_PS (50 * SIM_PS_PER_US)

uint64_t sim_wakes;
bool sim_may_pin;

static sim_thread_t *waiters[QUEUES]; ///< by address, oldest first

static sim_thread_t **queue_of(const void *word)
{
  return &waiters[((uintptr_t)word * UINT64_C(0x9E3779B97F4A7C15)) >> 54];
}

void sim_libc_stop_waiting(sim_thread_t *thread)
{
  if (!thread->waits_on)
    return;
  for (sim_thread_t **at = queue_of(thread->waits_on); *at; at = &(*at)->next_waiter) {
    if (*at == thread) {
      *at = thread->next_waiter;
      break;
    }
  }
  thread->waits_on = NULL;
}

bool sim_futex_wait(const uint32_t *word, uint32_t expected, sim_ps_t until_ps)
{
  sim_step(sim_ps(sim_machine.syscall_ns));
  sim_self->timed_out = false;
  if (*(const volatile uint32_t *)word != expected || sim_fault_happens(sim_fault.spurious_share))
    return false;
  if (until_ps > 0 && sim_self->class != SIM_REALTIME)
    until_ps += (sim_ps_t)sim_random_below(sim_self->slack_ns * 1000 + 1);
  if (until_ps > 0 && sim_fault_happens(sim_fault.late_share))
    until_ps += (sim_ps_t)sim_random_below(5 * SIM_PS_PER_MS);
  sim_thread_t **last = queue_of(word);
  while (*last)
    last = &(*last)->next_waiter;
  *last = sim_self;
  sim_self->next_waiter = NULL;
  sim_self->waits_on = word;
  return sim_sleep(until_ps);
}

/// @return whether the caller's CPU has been idle a moment ago: then all of the machine may have been
static bool is_fresh(void)
{
  return sim_machine.fresh.count > 0 && sim_self->now_ps - sim_cpu[sim_self->cpu].busy_since_ps < FRESH_PS;
}

static void wake(sim_thread_t *thread)
{
  const sim_ps_t from_ps = sim_self->now_ps;
  const uint32_t cpu = sim_schedule_place(thread, from_ps);
  const sim_ps_t idle_ps = sim_idle_ps(cpu, from_ps);
  const bool interrupts = sim_cpu_is_idle(cpu) && idle_ps >= (sim_ps_t)(sim_machine.wake_minor_us * 1e6);
  const bool fresh = is_fresh();
  const sim_wake_t *call = fresh ? &sim_machine.fresh_call : &sim_machine.call;
  const sim_wake_t *latency = fresh ? &sim_machine.fresh : &sim_machine.wake;
  const double rank = sim_random_unit();
  sim_wakes++;
  sim_charge(interrupts ? sim_wake_draw(call, idle_ps, rank) : sim_ps(sim_machine.wake_busy_ns));
  if (sim_wake(thread, cpu, from_ps, sim_wake_draw(latency, idle_ps, rank)))
    sim_charge(sim_wake_draw(&sim_machine.kick_call, 0, rank));
}

void sim_futex_wake(const void *word, uint32_t count)
{
  sim_step(sim_ps(sim_machine.syscall_ns));
  for (sim_thread_t **at = queue_of(word); *at && count > 0;) {
    sim_thread_t *thread = *at;
    if (thread->waits_on != word) {
      at = &thread->next_waiter;
      continue;
    }
    *at = thread->next_waiter;
    count--;
    wake(thread);
  }
  sim_step(0);
}

static sim_ps_t timeout_ps(const struct timespec *time)
{
  return time ? (sim_ps_t)time->tv_sec * SIM_PS_PER_S + (sim_ps_t)time->tv_nsec * SIM_PS_PER_NS : 0;
}

static long wait_call(const uint32_t *word, int operation, uint32_t expected, const struct timespec *time)
{
  sim_ps_t until_ps = timeout_ps(time);
  if (time && operation == FUTEX_WAIT_PRIVATE)
    until_ps += sim_self->now_ps;
  if (time && until_ps == 0)
    until_ps = 1;
  const uint32_t before = *(const volatile uint32_t *)word;
  if (sim_futex_wait(word, expected, until_ps))
    return 0;
  errno = sim_self->timed_out ? ETIMEDOUT : before == expected ? EINTR : EAGAIN;
  return -1;
}

long __wrap_syscall(long number, ...)
{
  va_list list;
  va_start(list, number);
  const long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long);
  va_end(list);
  if (number == SYS_futex && (b == FUTEX_WAIT_PRIVATE || b == FUTEX_WAIT_BITSET_PRIVATE))
    return wait_call((const uint32_t *)a, (int)b, (uint32_t)c, (const struct timespec *)d);
  if (number == SYS_futex && b == FUTEX_WAKE_PRIVATE) {
    sim_futex_wake((const void *)a, (uint32_t)c);
    return 0;
  }
  if (number == SYS_sched_getscheduler) // of the classes that the simulated kernel has
    return a > 0 && sim_thread[a - 1]->class == SIM_BATCH ? SCHED_BATCH : SCHED_OTHER;
  sim_step(sim_ps(sim_machine.syscall_ns));
  if (number == SYS_sched_getparam) {
    const sim_thread_t *thread = a > 0 ? sim_thread[a - 1] : sim_self;
    *(struct sched_param *)b =
        (struct sched_param){.sched_priority = thread->class == SIM_REALTIME ? thread->priority : 0};
    return 0;
  }
  if (number == SYS_sched_setscheduler)
    return sim_set_class(sim_thread[a - 1], (int)b, (const struct sched_param *)c);
  if (number == SYS_capget && sim_may_pin) {
    ((struct __user_cap_data_struct *)b)->effective = 1u << CAP_SYS_NICE;
    return 0;
  }
  if (number == SYS_membarrier || number == SYS_mbind)
    return 0; // memory is sequentially consistent, and equally far
  if (number == SYS_getcpu) {
    *(unsigned *)a = sim_self->cpu;
    *(unsigned *)b = sim_self->cpu / sim_machine.node_cpus;
    return 0;
  }
  if (number == SYS_gettid)
    return (long)sim_self->index + 1;
  if (number == SYS_tgkill && b > 0 && b <= (long)sim_threads && sim_thread[b - 1]->state != SIM_ENDED)
    return 0;
  errno = number == SYS_tgkill ? ESRCH : number == SYS_capget ? EPERM : ENOSYS;
  if (errno == ENOSYS)
    sim_finding("system call %ld, which the simulated kernel does not have", number);
  return -1;
}
