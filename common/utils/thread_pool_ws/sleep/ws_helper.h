// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_helper.h
/// Places: on which pools' account the calling thread uses a CPU. A worker has a place in its own pool. A
/// thread that runs tasks of another pool while it waits there, a helper, has one in each such pool.
///
/// A place is awake or rests. All places of a thread rest while the thread sleeps, or blocks, in any pool;
/// each pool may then wake another worker.
#ifndef WS_HELPER_H
#define WS_HELPER_H

#include "../pool/ws_types.h"

/// @brief Take a place in @p pool. A worker of it, a thread without a lane, and a thread that has a place
/// there already take none.
/// @return whether the caller took a place, and must call ws_helper_end()
bool ws_helper_begin(struct ws_pool_s *pool, ws_here_t here);

/// @brief Leave the place that was taken last.
void ws_helper_end(struct ws_pool_s *pool, ws_here_t here);

/// @return whether a thread that waits in @p pool may spin: one CPU is left for the tasks that it waits for
static inline bool ws_helper_may_spin(const struct ws_pool_s *pool)
{
  return ws_hint_load(&pool->spin_cpus) > 1;
}

#endif
