// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_state.h
/// What a worker does, and for how long, for the statistics. A change of state costs a few stores to the
/// worker's own lines: its time has been read for other reasons.
#ifndef WS_STATE_H
#define WS_STATE_H

#include "ws_types.h"

/// @brief The calling worker is in @p state from @p now_ns on.
static inline void ws_state_enter(ws_worker_t *worker, ws_worker_state_t state, uint64_t now_ns)
{
  const uint32_t before = ws_load_relaxed(&worker->state); // relaxed: only the worker writes it
  const uint64_t since_ns = ws_load_relaxed(&worker->state_since_ns); // relaxed: as state
  ws_count(&worker->state_ns[before], now_ns - since_ns);
  ws_store_relaxed(&worker->state_since_ns, now_ns); // relaxed: a statistic
  ws_store_relaxed(&worker->state, state); // relaxed: a statistic
}

#endif
