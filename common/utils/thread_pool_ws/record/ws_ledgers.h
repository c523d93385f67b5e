// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_ledgers.h
/// The ledgers of pools (ws_ledger.h), and their deadlines. A pool whose settings ask for nothing has none
/// until a user asks for a deadline.
///
/// Lifetime  A thread in a phase, or one that examines a burst, may still hold the ledger of a pool that is
///           gone. So a ledger's memory (2 KiB) is used again for another pool, and is freed when the library
///           is unloaded. Before a thread counts, it checks that the ledger still is that pool's. If the pool
///           goes right after, the next pool has one burst too many.
#ifndef WS_LEDGERS_H
#define WS_LEDGERS_H

#include "../base/ws_histogram.h" // IWYU pragma: export
#include "../include/ws_ledger.h" // IWYU pragma: export
#include "../pool/ws_types.h" // IWYU pragma: export

/// Of a pool.
typedef struct ws_ledger_room_s {
  ws_au64_t pool; ///< S id; 0 = it is free
  ws_au64_t deadline_ns; ///< S as settings.deadline_ns; ws_flight_judge() changes it
  ws_au32_t by_settings; ///< S 1 = the pool's settings ask; 0 = it counts while deadline_ns is not 0
  /// S as in ws_ledger_t; bursts and late ones of all pools that had it, so that none is lost
  ws_au64_t count[sizeof(ws_ledger_t) / sizeof(uint64_t)];
  ws_au64_t before[2]; ///< S bursts and late ones of the pools that had it before
  ws_au64_t over_ns; ///< S of the pool's late bursts, over their limits, in sum
  ws_histogram_t ends; ///< of late bursts, over their limits. If two end at once, one may get lost
  struct ws_ledger_room_s *next; ///< I the one made before, in use or free; NULL = this is the first
} ws_ledger_room_t;

/// @brief Give the pool, which has none, a ledger: a free one, else a new one. @return false: no memory
/// @threads  with the lock of pools
bool ws_ledger_begin(struct ws_pool_s *pool, uint64_t deadline_ns, bool by_settings);

/// @brief How many bursts have ended so far, and how many late: of all pools, also those that are gone, and
/// in the child of a fork those of the parent.
void ws_ledgers_sum(uint64_t *bursts, uint64_t *late);

/// @brief There are no pools any more: free all ledgers. @threads  with the lock of pools
void ws_ledgers_free(void);

/// @return the pool's, as long as there is the pool; NULL = it has none, or @p pool is NULL
static inline ws_ledger_room_t *ws_ledger_of(const struct ws_pool_s *pool)
{
  return pool ? ws_load_acquire(&pool->ledger) : NULL; // [edge LEDGER acquire] what is in it
}

/// @return whether it is still that of the pool with this id, and counts; false also if @p ledger is NULL
static inline bool ws_ledger_counts(const ws_ledger_room_t *ledger, uint64_t pool)
{
  return ledger && ws_stat_load(&ledger->pool) == pool
         && (ws_hint_load(&ledger->by_settings) || ws_hint_load(&ledger->deadline_ns) != 0);
}

/// @brief Count a burst. @param over_ns  by how much it was over its limit; 0 = it was on time
/// @threads  any that has joined; ws_ledger_counts() before
void ws_ledger_burst(ws_ledger_room_t *ledger, uint64_t over_ns);

/// @brief Count what a late one was late for, once it is examined: ns over its limit by cause, and the main
/// cause.
/// @threads  the scribe's
void ws_ledger_cause(ws_ledger_room_t *ledger, const uint64_t part_ns[WS_CAUSES], ws_cause_t most);

#endif
