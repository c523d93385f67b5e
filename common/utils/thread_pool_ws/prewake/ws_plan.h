// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_plan.h
/// Which burst should a worker's timer wake it for, and when?
#ifndef WS_PLAN_H
#define WS_PLAN_H

#include "ws_prewake_state.h"
#include "ws_rhythm.h"

/// @return the next timer wake of the worker, which goes to sleep at @p now_ns; rise_ns = 0: none
ws_plan_t ws_plan_choose(ws_worker_t *worker, const ws_outlook_t *outlook, uint64_t now_ns);

/// @return how many workers the planned burst needs. With more of them, some would usually find no task
uint32_t ws_plan_needed(const struct ws_pool_s *pool, const ws_outlook_t *outlook, const ws_plan_t *plan);

/// @return CPU time that it costs to have been asleep when work came
double ws_miss_ns(const ws_worker_t *worker);

static inline ws_spin_t ws_spin_mode(const struct ws_pool_s *pool)
{
  return (ws_spin_t)ws_hint_load(&pool->spin);
}

#endif
