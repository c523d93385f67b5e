// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_libc_sync.c
/// Mutexes, condition variables, semaphores and once, on simulated futexes, as the C library makes them
/// (Drepper, Futexes Are Tricky, 2011). Each lies in the memory of the C library's own type, whose init
/// functions make the first words what they must be: 0, and a semaphore's count.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>

#include "sim_libc.h"
#include "sim_seam_points.h"

typedef struct {
  uint32_t state; ///< of a mutex (0 = free, 1 = taken, 2 = taken, and a thread may wait); a sequence; a count
  uint32_t waiters;
} words_t;

int __wrap_pthread_mutex_destroy(pthread_mutex_t *lock)
{
  if (((words_t *)lock)->state != 0)
    sim_finding("a locked mutex is destroyed");
  return 0;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *lock)
{
  words_t *mutex = (words_t *)lock;
  sim_modify(mutex);
  if (mutex->state != 0)
    return EBUSY;
  mutex->state = 1;
  return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
  words_t *mutex = (words_t *)lock;
  if (!sim_self)
    return 0;
  if (__wrap_pthread_mutex_trylock(lock) == 0)
    return 0;
  for (;;) {
    sim_modify(mutex);
    const uint32_t before = mutex->state;
    mutex->state = 2;
    if (before == 0)
      return 0;
    sim_futex_wait(&mutex->state, 2, 0);
  }
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
  words_t *mutex = (words_t *)lock;
  if (!sim_self)
    return 0;
  sim_modify(mutex);
  const uint32_t before = mutex->state;
  mutex->state = 0;
  if (before == 0)
    sim_finding("a mutex that is free is unlocked");
  if (before == 2)
    sim_futex_wake(&mutex->state, 1);
  return 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *variable, pthread_mutex_t *lock)
{
  words_t *cond = (words_t *)variable;
  sim_modify(cond);
  cond->waiters++;
  const uint32_t seen = cond->state;
  __wrap_pthread_mutex_unlock(lock);
  sim_futex_wait(&cond->state, seen, 0);
  sim_modify(cond);
  cond->waiters--;
  return __wrap_pthread_mutex_lock(lock);
}

static int signal_some(pthread_cond_t *variable, uint32_t count)
{
  words_t *cond = (words_t *)variable;
  sim_modify(cond);
  if (cond->waiters == 0)
    return 0;
  cond->state++;
  sim_futex_wake(&cond->state, count);
  return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *variable)
{
  return signal_some(variable, 1);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *variable)
{
  return signal_some(variable, INT_MAX);
}

int __wrap_pthread_once(pthread_once_t *once, void (*func)(void))
{
  enum { NOT, RUNS, DONE };
  uint32_t *state = (uint32_t *)once;
  sim_modify(state);
  if (*state == NOT) {
    *state = RUNS;
    func();
    *state = DONE;
    sim_futex_wake(state, INT_MAX);
  }
  while (*state == RUNS)
    sim_futex_wait(state, RUNS, 0);
  return 0;
}

int __wrap_sem_post(sem_t *sem)
{
  words_t *semaphore = (words_t *)sem;
  sim_modify(semaphore);
  semaphore->state++;
  if (semaphore->waiters > 0)
    sim_futex_wake(&semaphore->state, 1);
  return 0;
}

static int try_wait(sem_t *sem)
{
  words_t *semaphore = (words_t *)sem;
  sim_modify(semaphore);
  if (semaphore->state == 0) {
    errno = EAGAIN;
    return -1;
  }
  semaphore->state--;
  return 0;
}

int __wrap_sem_wait(sem_t *sem)
{
  words_t *semaphore = (words_t *)sem;
  while (try_wait(sem) != 0) {
    semaphore->waiters++;
    sim_futex_wait(&semaphore->state, 0, 0);
    semaphore->waiters--;
  }
  return 0;
}
