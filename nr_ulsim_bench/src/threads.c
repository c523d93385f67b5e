// SPDX-License-Identifier: BSD-3-Clause
#include "threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static thread_slot_t slots[THREADS_MAX];
static _Atomic uint32_t slot_count;

_Thread_local thread_slot_t *thread_slot_self;

static bool is_realtime(void)
{
  const int32_t policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  return policy == SCHED_RR || policy == SCHED_FIFO;
}

thread_slot_t *thread_slot_claim(void)
{
  const uint32_t index = atomic_fetch_add(&slot_count, 1);
  if (index >= THREADS_MAX) {
    fprintf(stderr, "bench: more than %d threads have run tasks\n", THREADS_MAX);
    abort();
  }
  slots[index].worker = true;
  slots[index].realtime = is_realtime();
  thread_slot_self = &slots[index];
  return thread_slot_self;
}

void threads_set_producer(void)
{
  thread_slot()->worker = false;
}

uint64_t threads_run_tasks(void)
{
  uint64_t sum = 0;
  const uint32_t count = atomic_load(&slot_count);
  for (uint32_t i = 0; i < count; i++)
    sum += slots[i].run_tasks;
  return sum;
}

uint32_t threads_workers_seen(uint32_t *realtime)
{
  uint32_t workers = 0;
  *realtime = 0;
  const uint32_t count = atomic_load(&slot_count);
  for (uint32_t i = 0; i < count; i++) {
    workers += slots[i].worker;
    *realtime += slots[i].worker && slots[i].realtime;
  }
  return workers;
}
