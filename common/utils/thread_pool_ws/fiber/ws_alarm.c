// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_alarm.c
/// ws_alarm.h: the thread. It is woken only for a time that is sooner than the one until which it sleeps. A
/// wait that ends before its deadline leaves that time as it is, so that most time limits cause no wake.
#include "ws_alarm.h"

#include "../os/ws_os.h"
#include "ws_fiber_process.h"
#include "ws_lot.h"
#include "ws_resume.h"
#include "ws_stack.h"

/// Waits that are ended under one hold of the lock: fibers that begin or end a wait need it, too.
#define AT_ONCE 64u

/// End waits whose time is over. The caller holds the lock. @return records to resume
static ws_waiter_t *end_due(uint64_t now_ns)
{
  ws_alarm_heap_t *heap = &ws_fiber_process.alarms;
  ws_waiter_t *removed = NULL, **last = &removed;
  for (uint32_t i = 0; i < AT_ONCE && ws_alarm_heap_first_ns(heap) <= now_ns; i++) {
    ws_waiter_t *waiter = heap->entry[0].waiter;
    ws_alarm_heap_remove(heap, waiter);
    if (!ws_lot_end(waiter, WS_ENDED_TIME))
      continue;
    *last = waiter;
    last = &waiter->next;
  }
  *last = NULL;
  return removed;
}

/// The caller holds the lock. @return when the thread has to do something; UINT64_MAX = never
static uint64_t next_ns(void)
{
  const uint64_t trim_ns = ws_fiber_process.trims ? 0 : ws_fiber_process.trim_due_ns;
  const uint64_t wait_ns = ws_alarm_heap_first_ns(&ws_fiber_process.alarms);
  return trim_ns != 0 && trim_ns < wait_ns ? trim_ns : wait_ns;
}

/// The caller holds the lock. @return whether stacks may be idle for long
static bool take_trim(uint64_t now_ns)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  const bool is_due = !process->trims && process->trim_due_ns != 0 && process->trim_due_ns <= now_ns;
  if (!is_due)
    return false;
  process->trim_due_ns = 0;
  process->trims = true;
  return true;
}

/// The caller holds the lock. @return whether the thread must be woken: it sleeps for longer
static bool shorten_sleep(uint64_t at_ns)
{
  if (at_ns >= ws_fiber_process.alarm_sleeps_until_ns)
    return false;
  ws_fiber_process.alarm_sleeps_until_ns = at_ns;
  ws_add_relaxed(&ws_fiber_process.alarm_changed, 1); // relaxed: under the lock
  return true;
}

/// @param must  as shorten_sleep() has returned. The caller does not hold the lock any more
static void wake(bool must)
{
  if (must)
    ws_os_futex_wake(&ws_fiber_process.alarm_changed, 1);
}

/// Stacks have been trimmed. @param again_ns  when to look again; 0 = not at all
static void end_trim(uint64_t again_ns)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  pthread_mutex_lock(&process->alarm_lock);
  process->trims = false;
  if (process->trim_due_ns == 0)
    process->trim_due_ns = again_ns;
  const bool wakes = process->trim_due_ns != 0 && shorten_sleep(process->trim_due_ns);
  pthread_mutex_unlock(&process->alarm_lock);
  wake(wakes);
}

/// A thread that gives memory of idle stacks back, and ends. It may take long, for thousands of stacks, and
/// must keep neither time limits nor workers waiting: it has the normal class, unlike its creator.
static void *trim(void *unused)
{
  ws_service_t self = {.thread = pthread_self()};
  ws_service_enter("ws_trim");
  ws_service_serve(&self, 0);
  end_trim(ws_stack_trim(ws_os_now_ns()));
  return unused;
}

static void begin_trim(void)
{
  pthread_t thread;
  if (ws_os_thread_create(&thread, 0, WS_PATIENCE_NS, trim, NULL) != 0)
    end_trim(ws_os_now_ns() + WS_STACK_IDLE_NS); // perhaps there is a thread then
}

static void *run(void *unused)
{
  (void)unused;
  ws_service_enter("ws_alarm");
  ws_os_timer_slack(1);
  ws_fiber_process_t *process = &ws_fiber_process;
  for (;;) {
    const uint64_t now_ns = ws_os_now_ns();
    pthread_mutex_lock(&process->alarm_lock);
    ws_waiter_t *removed = end_due(now_ns);
    const bool trims = take_trim(now_ns);
    const uint64_t until_ns = removed || trims ? 0 : next_ns(); // 0: it looks again before it sleeps
    process->alarm_sleeps_until_ns = until_ns;
    const uint32_t seen = ws_load_relaxed(&process->alarm_changed); // relaxed: it changes under the lock
    pthread_mutex_unlock(&process->alarm_lock);
    ws_resume(removed);
    if (trims)
      begin_trim();
    else if (until_ns != 0)
      ws_os_futex_wait_until(&process->alarm_changed, seen, until_ns == UINT64_MAX ? 0 : until_ns);
  }
  return NULL;
}

/// The caller holds the lock.
static bool start(void)
{
  return ws_service_start(&ws_fiber_process.alarm, run, NULL) == 0;
}

bool ws_alarm_add(ws_waiter_t *waiter)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  pthread_mutex_lock(&process->alarm_lock);
  const bool added = start() && ws_alarm_heap_add(&process->alarms, waiter);
  const bool wakes = added && shorten_sleep(waiter->deadline_ns);
  const int error = added ? ws_service_serve(&process->alarm, ws_service_priority(waiter->fiber)) : 0;
  pthread_mutex_unlock(&process->alarm_lock);
  wake(wakes);
  ws_service_warn("ws_alarm", waiter->fiber, error);
  return added;
}

void ws_alarm_remove(ws_waiter_t *waiter)
{
  pthread_mutex_lock(&ws_fiber_process.alarm_lock);
  if (waiter->alarm_place != 0)
    ws_alarm_heap_remove(&ws_fiber_process.alarms, waiter);
  pthread_mutex_unlock(&ws_fiber_process.alarm_lock);
}

void ws_alarm_trim(void)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  pthread_mutex_lock(&process->alarm_lock);
  bool wakes = false;
  int error = 0;
  if (process->trim_due_ns == 0 && start()) {
    process->trim_due_ns = ws_os_now_ns() + WS_STACK_IDLE_NS;
    wakes = shorten_sleep(process->trim_due_ns);
    error = ws_service_serve(&process->alarm, 0);
  }
  pthread_mutex_unlock(&process->alarm_lock);
  wake(wakes);
  ws_service_warn("ws_alarm", NULL, error);
}
