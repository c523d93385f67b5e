// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_libc_thread.c
/// POSIX threads: create, join, end, their own data, what they may use.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "sim_fault.h"
#include "sim_libc.h"

static void (*key_destructor[SIM_KEYS])(void *); ///< NULL = the key is free

static void destroy_key(pthread_key_t key)
{
  void *value = sim_self->key[key];
  sim_self->key[key] = NULL;
  if (value && key_destructor[key])
    key_destructor[key](value);
}

void sim_libc_thread_ends(void *result)
{
  for (pthread_key_t key = 0; key < SIM_KEYS; key++)
    destroy_key(key);
  sim_self->result = result;
  sim_self->joiners = sim_self; // any value but NULL: it has ended
  sim_futex_wake(&sim_self->joiners, INT_MAX);
}

static sim_thread_t *thread_of(pthread_t id)
{
  if (id == 0 || id > sim_threads)
    sim_finding("%lu is no thread", (unsigned long)id);
  return sim_thread[id - 1];
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*func)(void *), void *arg)
{
  sim_step(sim_ps(sim_machine.create_ns));
  if (sim_fault_refuses())
    return EAGAIN;
  *id = sim_thread_new(sim_self, func, arg, sim_self->now_ps)->index + 1;
  sim_step(0);
  return 0;
}

int __wrap_pthread_join(pthread_t id, void **result)
{
  sim_thread_t *thread = thread_of(id);
  sim_step(sim_ps(sim_machine.syscall_ns));
  while (!thread->joiners)
    sim_futex_wait((const uint32_t *)&thread->joiners, 0, 0);
  if (result)
    *result = thread->result;
  return 0;
}

int __wrap_pthread_detach(pthread_t id)
{
  thread_of(id); // it is one
  return 0;
}

pthread_t __wrap_pthread_self(void)
{
  return sim_self->index + 1;
}

int __wrap_pthread_setname_np(pthread_t id, const char *name)
{
  sim_step(sim_ps(sim_machine.syscall_ns));
  strncpy(thread_of(id)->name, name, sizeof(sim_self->name) - 1);
  return 0;
}

int __wrap_pthread_setschedparam(pthread_t id, int policy, const struct sched_param *param)
{
  sim_step(sim_ps(sim_machine.syscall_ns));
  return sim_set_class(thread_of(id), policy, param);
}

int sim_set_class(sim_thread_t *thread, int policy, const struct sched_param *param)
{
  thread->class = policy == SCHED_RR || policy == SCHED_FIFO      ? SIM_REALTIME
                  : policy == SCHED_BATCH || policy == SCHED_IDLE ? SIM_BATCH
                                                                  : SIM_FAIR;
  thread->priority = param->sched_priority;
  return 0;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
  if (before)
    sigemptyset(before);
  return 0;
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
  for (*key = 0; key_destructor[*key]; ++*key)
    if (*key + 1 == SIM_KEYS)
      return EAGAIN;
  key_destructor[*key] = destructor;
  return 0;
}

int __wrap_pthread_key_delete(pthread_key_t key)
{
  key_destructor[key] = NULL;
  return 0;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
  sim_self->key[key] = (void *)value;
  return 0;
}

int __wrap_prctl(int option, unsigned long arg)
{
  if (option == PR_GET_TIMERSLACK)
    return (int)sim_self->slack_ns;
  if (option == PR_SET_TIMERSLACK)
    sim_self->slack_ns = arg;
  else if (option == PR_GET_TSC)
    *(int *)arg = PR_TSC_SIGSEGV; // the time stamp counter is the host's: it must not be read
  return 0;
}
