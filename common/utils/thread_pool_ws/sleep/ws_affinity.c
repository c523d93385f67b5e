// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_affinity.c
/// ws_affinity.h.
#include "ws_affinity.h"

#include <unistd.h>

#include "../pool/ws_near.h"
#include "../trace/ws_traced.h"
#include "ws_budget.h"

/// After so many calls of workers without a wait in this library, a thread outside is thought to sleep
/// elsewhere until its tasks have run: then its CPU is free for them.
#define STAYS_CALLS 64u

static void note_producer(struct ws_pool_s *pool, uint32_t producer)
{
  if (ws_hint_load(&pool->near.producer) != producer)
    ws_hint_store(&pool->near.producer, producer);
}

/// The kernel finds another CPU for a real-time thread that may not stop the one that runs (Linux,
/// select_task_rq_rt). So beside such a producer a worker need not move, which would take a CPU for 20 us.
/// @return WS_PRODUCER_HOLDS = the priority of the calling thread is such that no worker could stop it; else
///         0. Looks at that priority once, and in a pool without real-time or pinned workers not at all
static uint32_t holds(const struct ws_pool_s *pool, ws_helping_t *helping)
{
  const uint32_t highest = ws_affinity_priority(pool);
  if (highest == 0 && pool->pinned == 0)
    return 0;
  if (helping->priority == 0)
    helping->priority = 1 + ws_os_priority(0);
  return helping->priority > 1 && helping->priority > highest ? WS_PRODUCER_HOLDS : 0;
}

void ws_affinity_note_caller(struct ws_pool_s *pool, ws_here_t here, uint32_t cpu)
{
  if (here.worker)
    ws_hint_store(&here.worker->seen_cpu, cpu);
  if (here.worker || !here.queue)
    return;
  ws_helping_t *helping = &here.queue->helping;
  helping->producer = (helping->calls_left > 0 ? WS_PRODUCER_STAYS : 0) + holds(pool, helping);
  helping->calls_left -= helping->calls_left > 0;
  note_producer(pool, cpu + helping->producer);
}

void ws_affinity_note_helper(struct ws_pool_s *pool, ws_queue_t *lane)
{
  lane->helping.calls_left = STAYS_CALLS;
  lane->helping.producer |= WS_PRODUCER_STAYS;
  note_producer(pool, (uint32_t)(ws_os_cpu() + 1) + lane->helping.producer);
}

/// Least time between two moves of a real-time worker. Several threads that push from several CPUs would
/// otherwise have the workers change places all the time.
#define PAUSE_NS UINT64_C(1000000)

/// @return whether the worker tries to move now; the next try comes PAUSE_NS later
static bool begins_move(ws_worker_t *worker)
{
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  const uint64_t now_ns = ws_os_now_ns();
  if (now_ns - sleep->tried_ns < PAUSE_NS)
    return false;
  sleep->tried_ns = now_ns;
  return true;
}

/// @param cpu  CPU + 1, not 0. @param tid  the worker's thread, 0 = the caller. @return whether it may not
/// run there from now on
static bool keep_off(ws_worker_t *worker, int32_t tid, uint32_t cpu)
{
  const uint32_t guard = ws_hint_load(&ws_sleep_pool(worker->pool)->guard_tid);
  return ws_os_confine(&ws_sleep_worker(worker)->confine, tid, (int32_t)guard, cpu - 1);
}

/// The kernel would wake a floating worker that sleeps on the CPU of a pushing thread on that CPU, and so
/// stop the pushing thread. A real-time worker is woken where it last ran, so it only has to move off. A
/// normal worker may be woken on the CPU of the thread that wakes it, wherever it slept, so it is kept off
/// that CPU while it sleeps, if that thread goes on to run tasks. An awake worker may run anywhere, or it
/// could wait beside an idle CPU.
void ws_affinity_leave(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  const int32_t cpu = ws_os_cpu();
  ws_hint_store(&worker->seen_cpu, (uint32_t)(cpu + 1));
  const uint32_t producer = ws_hint_load(&pool->near.producer);
  if (worker->cpu >= 0 || pool->allowed_cpus < 2 || cpu < 0 || producer == 0)
    return;
  const bool moves = ws_producer_on_cpu(pool, cpu);
  // A hot worker parks beside a producer (ws_idle.c): where it stayed, it would park at each try, for as long
  // as no other thread pushes.
  const bool may_stay = !(producer & WS_PRODUCER_STAYS) && !(moves && ws_spin_mode(pool) == WS_SPIN_HOT);
  if (worker->realtime ? !(moves && begins_move(worker)) : may_stay)
    return;
  if (moves)
    ws_traced_sleep(pool, false); // while the kernel moves it
  if (!keep_off(worker, 0, producer & WS_PRODUCER_CPU))
    return;
  if (worker->realtime)
    ws_affinity_return(worker, 0);
  ws_count(&worker->queue.count.placements, moves);
  ws_hint_store(&worker->seen_cpu, (uint32_t)(ws_os_cpu() + 1));
}

/// The producer has come to the CPU of the sleeping worker, or the worker has not left it. The system call
/// costs the caller less than the worker would, which would run there in its place.
void ws_affinity_call(ws_worker_t *worker, ws_here_t here, uint32_t cpu)
{
  const uint32_t caller = here.queue ? here.queue->helping.producer : 0; // the guard has no work of its own
  const bool stops = worker->realtime ? here.queue && !here.worker && !(caller & WS_PRODUCER_HOLDS)
                                      : here.worker || (caller & WS_PRODUCER_STAYS);
  if (stops && worker->cpu < 0 && worker->pool->allowed_cpus > 1 && cpu != 0
      && ws_hint_load(&worker->seen_cpu) == cpu)
    keep_off(worker, ws_tid(worker), cpu);
}

void ws_affinity_return(ws_worker_t *worker, int32_t tid)
{
  ws_os_unconfine(&ws_sleep_worker(worker)->confine, tid);
}

/// Add the CPUs of thread @p tid.
static void add_cpus(ws_cpuset_t *all, int32_t tid)
{
  ws_cpuset_t cpus;
  if (ws_os_thread_cpus(tid, &cpus) < 0)
    return;
  for (size_t word = 0; word < sizeof(all->mask) / sizeof(all->mask[0]); word++)
    all->mask[word] |= cpus.mask[word];
}

/// On an isolated CPU (isolcpus=) the kernel leaves a normal thread where it is, though a real-time thread
/// holds that CPU and others are idle.
/// @return the CPUs of @p all that are not isolated; if there are none, such CPUs of the process's first
///         thread; if it has none either, @p all
static ws_cpuset_t outside_isolated(const ws_cpuset_t *all)
{
  ws_cpuset_t isolated, left = *all;
  ws_os_read_list("/sys/devices/system/cpu/isolated", &isolated);
  for (uint32_t try = 0; try < 2; try++) {
    for (size_t word = 0; word < sizeof(left.mask) / sizeof(left.mask[0]); word++)
      left.mask[word] &= ~isolated.mask[word];
    if (ws_os_cpuset_count(&left) > 0)
      return left;
    add_cpus(&left, getpid());
  }
  return *all;
}

void ws_affinity_beside_workers(const struct ws_pool_s *pool)
{
  ws_cpuset_t own, all;
  ws_os_process_cpus(&own);
  all = own;
  for (uint32_t i = 0; i < pool->workers; i++)
    add_cpus(&all, ws_tid(pool->worker[i]));
  all = outside_isolated(&all);
  if (memcmp(&all, &own, sizeof(all)) != 0) // else it goes on to follow its cpuset
    ws_os_allow(0, &all);
}

void ws_affinity_begin(const ws_worker_t *worker)
{
  if (worker->start.priority > ws_affinity_priority(worker->pool))
    ws_hint_store(&ws_sleep_pool(worker->pool)->priority, worker->start.priority);
}
