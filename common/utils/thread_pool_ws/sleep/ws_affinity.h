// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_affinity.h
/// On which CPUs workers run, so as not to disturb the threads that push. Preferences only: no wake depends
/// on them.
#ifndef WS_AFFINITY_H
#define WS_AFFINITY_H

#include "ws_sleep_state.h"

/// @brief The worker has started, in its class: its priority counts for ws_affinity_priority().
void ws_affinity_begin(const ws_worker_t *worker);

/// @return highest real-time priority of the pool's workers; 0 = none has one. Only a hint
static inline uint32_t ws_affinity_priority(const struct ws_pool_s *pool)
{
  return ws_hint_load(&ws_sleep_pool(pool)->priority);
}

/// @brief The caller looks for a worker to wake: remember its CPU. Of a thread outside also whether it is
/// thought to go on, and whether a worker could stop it, by the priority that it had at its first such call.
/// Of a thread without a lane nothing is remembered.
/// @param cpu  CPU + 1; 0 = not known
void ws_affinity_note_caller(struct ws_pool_s *pool, ws_here_t here, uint32_t cpu);

/// @brief The caller, a thread outside that owns @p lane, is about to run tasks, or to wait for some:
/// remember its CPU, and for some of its next calls of workers that it is thought to go on.
void ws_affinity_note_helper(struct ws_pool_s *pool, ws_queue_t *lane);

/// @brief The worker is about to park: note its CPU. If it floats, it may leave the CPU of a thread that
/// pushes: a real-time worker at most once a millisecond; a normal one if that thread goes on to run tasks,
/// or the pool is hot. The normal one is kept off that CPU until ws_affinity_return(); if that thread goes
/// on, also where the worker runs elsewhere now.
void ws_affinity_leave(ws_worker_t *worker);

/// @brief A claimed worker is about to be woken. If it floats, was last seen on the caller's CPU, and would
/// stop the caller, it will not run there. A caller without a lane is not spared.
/// @param cpu  CPU + 1 of the caller; 0 = not known, or the caller is the guard: nothing happens
void ws_affinity_call(ws_worker_t *worker, ws_here_t here, uint32_t cpu);

/// @brief The worker is awake again, or got no CPU where it may run while it sleeps: it may run wherever it
/// could before. @param tid  0 = the caller is the worker; else the worker's number, and the caller is the
/// guard
void ws_affinity_return(ws_worker_t *worker, int32_t tid);

/// @brief Let the caller, a thread of the pool that is not a worker, run wherever it or a worker may, but on
/// isolated CPUs only if there are no others. It has inherited the CPUs of the pool's creator, which may be
/// pinned to one CPU and keep that busy.
void ws_affinity_beside_workers(const struct ws_pool_s *pool);

#endif
