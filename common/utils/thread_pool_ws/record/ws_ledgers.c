// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_ledgers.c
/// ws_ledgers.h.
#include "ws_ledgers.h"

#include "../pool/ws_callback.h"

#define POOLS 32u ///< one is at its id modulo this
#define COUNT(ledger, field) (&(ledger)->count[offsetof(ws_ledger_t, field) / sizeof(uint64_t)])

static ws_ledger_room_t ledgers[POOLS];

ws_ledger_room_t *ws_ledger_of(uint64_t pool)
{
  return &ledgers[pool % POOLS];
}

void ws_pool_ledger_sized(const struct ws_pool_s *pool, ws_ledger_t *ledger, size_t bytes)
{
  uint64_t own[sizeof(ws_ledger_t) / sizeof(uint64_t)];
  for (size_t i = 0; pool && i < sizeof(own) / sizeof(own[0]); i++)
    own[i] = ws_stat_load(&ws_ledger_of(pool->id)->count[i]);
  if (pool && ledger)
    ws_sized_put(ledger, bytes, own, sizeof(own));
}

void ws_ledger_late(ws_ledger_room_t *ledger, const uint64_t part_ns[WS_CAUSES], ws_cause_t most,
                    uint64_t over_ns)
{
  for (uint32_t i = 0; i < WS_CAUSES; i++) {
    ws_stat_add(COUNT(ledger, by[i].total_ns), part_ns[i]);
    if (part_ns[i] > ws_stat_load(COUNT(ledger, by[i].worst_ns)))
      ws_stat_store(COUNT(ledger, by[i].worst_ns), part_ns[i]);
  }
  ws_histogram_add(&ledger->ends, over_ns);
  ws_stat_add(COUNT(ledger, late), 1);
  ws_stat_add(COUNT(ledger, by[most].bursts), 1);
}
