// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_traced.h
/// The events of tasks and workers that several files record. No decision is made here. With WS_UNTRACED
/// only the counts of pushes and steals are left. docs/tracing.md lists the events.
#ifndef WS_TRACED_H
#define WS_TRACED_H

#include "../pool/ws_process.h" // IWYU pragma: export
#include "ws_probe.h" // IWYU pragma: export

/// Victim of a steal that is no thread's own queue.
enum { WS_VICTIM_SHARED = -1, WS_VICTIM_INBOX = -3 };

static inline uint32_t ws_traced_pool(const struct ws_pool_s *pool)
{
  return pool ? (uint32_t)pool->id : 0;
}

static inline int32_t ws_traced_worker(const ws_worker_t *worker)
{
  return worker ? (int32_t)worker->index : -1;
}

/// The calling thread's worker index; -1 also for a worker of another pool.
static inline int32_t ws_traced_self(const struct ws_pool_s *pool)
{
  const ws_worker_t *worker = ws_self()->worker;
  return ws_traced_worker(worker && worker->pool == pool ? worker : NULL);
}

/// A group, or a tag, by its address alone.
static inline uintptr_t ws_traced_group(const ws_group_t *group)
{
  return (uintptr_t)group & ~(uintptr_t)3;
}

/// Record an event for each task that is pushed. A call, so that a push without events keeps its registers.
void ws_traced_note_push(const struct ws_pool_s *pool, ws_here_t here, const ws_task_t *tasks,
                         uint64_t count);

/// Count the tasks that the calling thread pushes, and record them.
static inline void ws_traced_push(const struct ws_pool_s *pool, ws_here_t here, const ws_task_t *tasks,
                                  uint64_t count)
{
  ws_self()->pushed += count; // also without events: ws_probe_phase_ended() gets the number
  if (WS_PROBE_SEEN())
    ws_traced_note_push(pool, here, tasks, count);
}

static inline void ws_traced_run_begin(const struct ws_pool_s *pool, const ws_task_t *task)
{
  WS_PROBE(run_begin, pool, ws_traced_pool(pool), ws_traced_self(pool), (uintptr_t)task->func,
           (uintptr_t)task->arg, ws_traced_group(task->group));
}

/// The function and argument of the running task are those of an interface on the pool; these are the user's.
static inline void ws_traced_run_as(void (*func)(void *arg), const void *arg)
{
  WS_PROBE(run_as, NULL, (uintptr_t)func, (uintptr_t)arg);
}

static inline void ws_traced_run_end(const struct ws_pool_s *pool, const ws_task_t *task)
{
  WS_PROBE(run_end, pool, ws_traced_pool(pool), ws_traced_self(pool), (uintptr_t)task->arg,
           ws_traced_group(task->group));
}

static inline void ws_traced_wake(const ws_worker_t *woken, const ws_worker_t *by)
{
  WS_PROBE(wake, woken->pool, ws_traced_pool(woken->pool), ws_traced_worker(woken), ws_traced_worker(by));
}

/// Record a steal by the calling thread, and count it. @param victim  index of the queue, or WS_VICTIM_*
static inline void ws_traced_steal(const struct ws_pool_s *pool, ws_here_t here, int32_t victim)
{
  if (here.queue)
    ws_count(&here.queue->count.stolen, 1);
  WS_PROBE(steal, pool, ws_traced_pool(pool), ws_traced_worker(here.worker), victim);
}

/// Record that a wait begins, or ends. A call, so that a wait without events keeps its registers.
void ws_traced_note_join(const struct ws_pool_s *pool, uintptr_t group, bool ends);

/// A wait begins, or ends.
static inline void ws_traced_join(const struct ws_pool_s *pool, const ws_group_t *group, bool ends)
{
  if (WS_PROBE_SEEN())
    ws_traced_note_join(pool, ws_traced_group(group), ends);
}

/// In a wait the thread begins to sleep, or has slept. Or a worker begins to, as it parks or the kernel moves
/// it: then no end is recorded.
static inline void ws_traced_sleep(const struct ws_pool_s *pool, bool ends)
{
  if (ends)
    WS_PROBE(sleep_end, pool, ws_traced_pool(pool), ws_traced_self(pool));
  else
    WS_PROBE(sleep_begin, pool, ws_traced_pool(pool), ws_traced_self(pool));
}

/// A hint: a burst comes at @p at_ns, 0 = now.
static inline void ws_traced_hint(const struct ws_pool_s *pool, uint32_t workers, uint64_t at_ns)
{
  WS_PROBE(prewake, pool, ws_traced_pool(pool), -1, workers, (uint64_t)0, at_ns);
}

#endif
