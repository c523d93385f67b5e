// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_ledgers.h
/// The ledgers of pools (ws_ledger.h), and their deadlines.
#ifndef WS_LEDGERS_H
#define WS_LEDGERS_H

#include "../base/ws_histogram.h" // IWYU pragma: export
#include "../include/ws_ledger.h" // IWYU pragma: export

/// Of a pool.
typedef struct {
  ws_au64_t deadline_ns; ///< S as in its settings
  ws_au64_t count[sizeof(ws_ledger_t) / sizeof(uint64_t)]; ///< S as in ws_ledger_t
  ws_histogram_t ends; ///< of late bursts, over their limits. If two end at once, one may get lost
} ws_ledger_room_t;

/// @return that of the pool with this id
ws_ledger_room_t *ws_ledger_of(uint64_t pool);

/// @brief Count a late burst: ns by cause, and the main cause.
void ws_ledger_late(ws_ledger_room_t *ledger, const uint64_t part_ns[WS_CAUSES], ws_cause_t most,
                    uint64_t over_ns);

static inline void ws_ledger_burst(ws_ledger_room_t *ledger)
{
  ws_stat_add(&ledger->count[offsetof(ws_ledger_t, bursts) / sizeof(uint64_t)], 1);
}

#endif
