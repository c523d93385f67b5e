// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_mask.c
/// sim_checks.h.
#include "sim_checks.h"

#include "../../../../sleep/ws_sleep_state.h"
#include "sim_libc.h"
#include "sim_play.h"

static struct {
  const ws_worker_t *worker; ///< what the thread is, if it has run a task. Valid while the thread lives
  uint64_t told; ///< what the operator said last; 0 = nothing, or unclear
} known[SIM_THREADS_MAX]; ///< by thread

/// @return the worker that the running thread is
static const ws_worker_t *own_worker(void)
{
  for (uint32_t i = 0; i < sim_scene->pools; i++) {
    const ws_pool_t *pool = sim_pool[i];
    if (!pool || ws_load_relaxed(&pool->state) == WS_STOPPED)
      continue;
    for (uint32_t j = 0; j < pool->workers; j++)
      if (ws_tid(pool->worker[j]) == (int32_t)sim_self->index + 1)
        return pool->worker[j];
  }
  return NULL;
}

/// Linux has no compare-and-swap for affinities. What the operator says while a worker changes its affinity
/// may be lost. So may a mask that happens to be the narrow one which the worker has given itself.
static bool may_be_lost(const ws_worker_t *worker, uint64_t mask)
{
  const uint64_t all = (UINT64_C(1) << sim_machine.cpus) - 1;
  return ws_load_relaxed(&ws_sleep_worker(worker)->confine.busy)
         || (ws_sleep_worker(worker)->confine.on
             && ((ws_sleep_worker(worker)->confine.narrow.mask[0] ^ mask) & all) == 0);
}

/// A thread that has run no task yet may be anything. One that can be joined may have no pool any more.
void sim_mask_tell(const sim_thread_t *thread, uint64_t mask)
{
  const bool lives = thread->state != SIM_ENDED && !thread->joiners;
  const ws_worker_t *worker = lives ? known[thread->index].worker : NULL;
  known[thread->index].told = worker && !may_be_lost(worker, mask) ? mask : 0;
}

void sim_mask_check(const sim_record_t *record)
{
  const ws_worker_t *worker = own_worker();
  const uint64_t all = (UINT64_C(1) << sim_machine.cpus) - 1, may = sim_self->allowed[0] & all;
  const uint64_t says = known[sim_self->index].told;
  known[sim_self->index].worker = worker;
  if (!worker || worker->cpu >= 0)
    return;
  // A thread that is in the middle of a change will undo it.
  if (!sim_scene->changes_masks && may != all && !ws_load_relaxed(&ws_sleep_worker(worker)->confine.busy))
    sim_finding("confined: a worker runs task %u and may use the CPUs %llx only",
                (uint32_t)(record - sim_record), (unsigned long long)may);
  if (says != 0 && (may & ~says) != 0)
    sim_finding("undone: a worker runs task %u and may use the CPUs %llx; the operator said %llx",
                (uint32_t)(record - sim_record), (unsigned long long)may, (unsigned long long)says);
}

void sim_mask_check_guard(const ws_pool_t *pool)
{
  if (ws_load_relaxed(&ws_sleep_pool(pool)->guard_tid) == 0 || sim_scene->changes_masks)
    return; // it has workers to make first
  const uint64_t may = sim_thread[ws_sleep_pool(pool)->guard_thread - 1]->allowed[0];
  for (uint32_t i = 0; i < pool->workers && ws_tid(pool->worker[i]) != 0; i++) {
    const uint64_t worker_may = sim_thread[ws_tid(pool->worker[i]) - 1]->allowed[0];
    if (worker_may & ~may)
      sim_finding("guard: it may use the CPUs %llx, and worker %u %llx", (unsigned long long)may, i,
                  (unsigned long long)worker_may);
  }
}
