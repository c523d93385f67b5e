// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_helper.h
/// CPU slots: on which pools' account the calling thread uses a CPU. A worker has a slot in its own pool. A
/// helper, a thread that waits in a pool of which it is no worker, or runs a task there inline or late, has
/// one in each such pool. A slot is active or suspended. All slots of a thread are suspended while the thread
/// sleeps, or blocks, in any pool; each pool may then wake another worker.
#ifndef WS_HELPER_H
#define WS_HELPER_H

#include "ws_sleep_state.h" // IWYU pragma: export

/// @brief Take a CPU slot in @p pool. A worker of it, a thread without a lane, and a thread that has a slot
/// there already take none. A thread outside gives back the workers that it has reserved (ws_inbox.h).
/// @return whether the caller took a slot, and must call ws_helper_end()
bool ws_helper_begin(struct ws_pool_s *pool, ws_here_t here);

/// @brief A worker does not run, and does not sleep for want of work: it blocks, or is behind at its start.
/// Counts only: ws_fill_slot() wakes another worker.
void ws_worker_blocks(struct ws_pool_s *pool);

/// @brief It goes on.
void ws_worker_goes_on(struct ws_pool_s *pool);

/// @brief Leave the slot that was taken last, in @p pool. Another worker may be woken in its place.
void ws_helper_end(struct ws_pool_s *pool, ws_here_t here);

#endif
