// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_alarm.c
/// ws_alarm.h: a pairing heap (Fredman et al. 1986) of records, and the thread. The heap's links lie in the
/// records, so that no wait can fail for want of memory.
#define _GNU_SOURCE // pthread_setname_np
#include "ws_alarm.h"

#include <unistd.h>

#include "../os/ws_os.h"
#include "ws_fiber_process.h"
#include "ws_lot.h"
#include "ws_resume.h"
#include "ws_stack.h"

/// The later of the two becomes the first child of the other.
static ws_waiter_t *meld(ws_waiter_t *a, ws_waiter_t *b)
{
  if (!a || !b)
    return a ? a : b;
  ws_waiter_t *first = a->deadline_ns <= b->deadline_ns ? a : b, *later = first == a ? b : a;
  later->sibling = first->child;
  if (later->sibling)
    later->sibling->parent = later;
  later->parent = first;
  first->child = later;
  return first;
}

/// Meld siblings in pairs, then the pairs from the last to the first.
static ws_waiter_t *meld_all(ws_waiter_t *sibling)
{
  ws_waiter_t *pairs = NULL;
  while (sibling) {
    ws_waiter_t *a = sibling, *b = a->sibling;
    sibling = b ? b->sibling : NULL;
    a->sibling = a->parent = NULL;
    if (b)
      b->sibling = b->parent = NULL;
    ws_waiter_t *pair = meld(a, b);
    pair->sibling = pairs;
    pairs = pair;
  }
  ws_waiter_t *root = NULL;
  while (pairs) {
    ws_waiter_t *next = pairs->sibling;
    pairs->sibling = NULL;
    root = meld(root, pairs);
    pairs = next;
  }
  return root;
}

/// The caller holds the lock.
static void take_out(ws_waiter_t *waiter)
{
  ws_waiter_t *below = meld_all(waiter->child);
  if (ws_fiber_process.alarms == waiter) {
    ws_fiber_process.alarms = below;
  } else {
    if (waiter->parent->child == waiter)
      waiter->parent->child = waiter->sibling;
    else
      waiter->parent->sibling = waiter->sibling;
    if (waiter->sibling)
      waiter->sibling->parent = waiter->parent;
    ws_fiber_process.alarms = meld(ws_fiber_process.alarms, below);
  }
  waiter->child = waiter->sibling = waiter->parent = NULL;
  waiter->in_alarms = false;
}

/// End all waits whose time is over. The caller holds the lock. @return records to resume
static ws_waiter_t *end_due(uint64_t now_ns)
{
  ws_waiter_t *removed = NULL, **last = &removed;
  ws_waiter_t *waiter;
  while ((waiter = ws_fiber_process.alarms) != NULL && waiter->deadline_ns <= now_ns) {
    take_out(waiter);
    if (!ws_lot_end(waiter, WS_ENDED_TIME))
      continue;
    *last = waiter;
    last = &waiter->next;
  }
  *last = NULL;
  return removed;
}

/// The caller holds the lock. @return when the thread has to do something; 0 = never
static uint64_t next_ns(void)
{
  const uint64_t trim_ns = ws_fiber_process.trim_due_ns;
  const uint64_t wait_ns = ws_fiber_process.alarms ? ws_fiber_process.alarms->deadline_ns : 0;
  return wait_ns == 0 || (trim_ns != 0 && trim_ns < wait_ns) ? trim_ns : wait_ns;
}

/// The caller holds the lock. @return whether stacks may be idle for long
static bool take_trim(uint64_t now_ns)
{
  const bool is_due = ws_fiber_process.trim_due_ns != 0 && ws_fiber_process.trim_due_ns <= now_ns;
  if (is_due)
    ws_fiber_process.trim_due_ns = 0;
  return is_due;
}

/// Give memory of idle stacks back, and note when to look again.
static void trim(uint64_t now_ns)
{
  const uint64_t again_ns = ws_stack_trim(now_ns);
  pthread_mutex_lock(&ws_fiber_process.alarm_lock);
  if (ws_fiber_process.trim_due_ns == 0)
    ws_fiber_process.trim_due_ns = again_ns;
  pthread_mutex_unlock(&ws_fiber_process.alarm_lock);
}

/// The thread was made by some worker, which may be pinned: run where the process's first thread may.
static void unpin(void)
{
  ws_cpuset_t set;
  if (ws_os_thread_cpus(getpid(), &set) < 0)
    return;
  ws_os_allow(&set);
  ws_os_cpuset_free(&set);
}

static void *run(void *unused)
{
  (void)unused;
  unpin();
  ws_fiber_process_t *process = &ws_fiber_process;
  for (;;) {
    const uint64_t now_ns = ws_os_now_ns();
    pthread_mutex_lock(&process->alarm_lock);
    ws_waiter_t *removed = end_due(now_ns);
    const bool trims = take_trim(now_ns);
    const uint64_t until_ns = next_ns();
    const uint32_t seen = ws_load_relaxed(&process->alarm_changed); // relaxed: it changes under the lock
    pthread_mutex_unlock(&process->alarm_lock);
    ws_resume(removed);
    if (trims)
      trim(now_ns);
    else if (!removed)
      ws_os_futex_wait_until(&process->alarm_changed, seen, until_ns);
  }
  return NULL;
}

/// The caller holds the lock.
static bool start(void)
{
  pthread_t thread;
  if (!ws_fiber_process.alarm_runs && ws_os_thread_create(&thread, run, NULL) == 0) {
    pthread_setname_np(thread, "ws_alarm");
    pthread_detach(thread);
    ws_fiber_process.alarm_runs = true;
  }
  return ws_fiber_process.alarm_runs;
}

/// The caller holds the lock. The thread must look again: what it waits for comes sooner.
static void announce(void)
{
  ws_add_relaxed(&ws_fiber_process.alarm_changed, 1); // relaxed: under the lock
}

bool ws_alarm_add(ws_waiter_t *waiter)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  pthread_mutex_lock(&process->alarm_lock);
  const bool runs = start();
  bool is_first = false;
  if (runs) {
    waiter->in_alarms = true;
    process->alarms = meld(process->alarms, waiter);
    is_first = process->alarms == waiter;
    if (is_first)
      announce();
  }
  pthread_mutex_unlock(&process->alarm_lock);
  if (is_first)
    ws_os_futex_wake(&process->alarm_changed, 1);
  return runs;
}

void ws_alarm_remove(ws_waiter_t *waiter)
{
  pthread_mutex_lock(&ws_fiber_process.alarm_lock);
  if (waiter->in_alarms)
    take_out(waiter);
  pthread_mutex_unlock(&ws_fiber_process.alarm_lock);
}

void ws_alarm_trim(void)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  pthread_mutex_lock(&process->alarm_lock);
  const bool sooner = process->trim_due_ns == 0 && start();
  if (sooner) {
    process->trim_due_ns = ws_os_now_ns() + WS_STACK_IDLE_NS;
    announce();
  }
  pthread_mutex_unlock(&process->alarm_lock);
  if (sooner)
    ws_os_futex_wake(&process->alarm_changed, 1);
}
