// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_ledgers.c
/// ws_ledgers.h.
#include "ws_ledgers.h"

#include "ws_rings.h"

#define COUNTED 2u ///< bursts and late ones, the first two
#define COUNT(ledger, field) (&(ledger)->count[offsetof(ws_ledger_t, field) / sizeof(uint64_t)])

static ws_aptr_t newest; ///< S of all, by next

bool ws_ledger_begin(struct ws_pool_s *pool, uint64_t deadline_ns, bool by_settings)
{
  ws_ledger_room_t *const first = ws_load_acquire(&newest), *ledger = first; // [edge LEDGER acquire] its next
  while (ledger && ws_stat_load(&ledger->pool) != 0)
    ledger = ledger->next;
  if (!ledger) {
    if (!(ledger = calloc(1, sizeof(*ledger))))
      return false;
    ledger->next = first;
    ws_store_release(&newest, ledger); // [edge LEDGER release] its next
  }
  // The scribe, or a thread that has joined, may still hold it for the pool that had it before: so its counts
  // are written as atomic words.
  for (size_t i = 0; i < sizeof(ws_ledger_t) / sizeof(uint64_t); i++)
    if (i < COUNTED)
      ws_stat_store(&ledger->before[i], ws_stat_load(&ledger->count[i]));
    else
      ws_stat_store(&ledger->count[i], 0);
  for (uint32_t i = 0; i < WS_HISTOGRAM_BUCKETS; i++)
    ws_stat_store(&ledger->ends.count[i], 0);
  ws_stat_store(&ledger->over_ns, 0);
  ws_hint_store(&ledger->by_settings, by_settings);
  ws_hint_store(&ledger->deadline_ns, deadline_ns);
  ws_stat_store(&ledger->pool, pool->id);
  ws_store_release(&pool->ledger, ledger); // [edge LEDGER release] what is in it
  return true;
}

void ws_ledgers_sum(uint64_t *bursts, uint64_t *late)
{
  const ws_ledger_room_t *ledger = ws_load_acquire(&newest); // [edge LEDGER acquire] what is in it
  for (*bursts = *late = 0; ledger; ledger = ledger->next) {
    *late += ws_stat_load(COUNT(ledger, late)); // first: one that ends meanwhile makes bursts the larger
    *bursts += ws_stat_load(COUNT(ledger, bursts));
  }
}

void ws_ledgers_free(void)
{
  ws_ledger_room_t *first = ws_load_acquire(&newest); // [edge LEDGER acquire] its next
  ws_store_release(&newest, NULL); // [edge LEDGER release] nothing
  while (first) {
    ws_ledger_room_t *next = first->next;
    free(first);
    first = next;
  }
}

/// ws_ledger.h. A late burst without a cause counts as WS_CAUSE_UNSEEN: all late ones less those of the other
/// causes. Threads count meanwhile, so a difference below 0 becomes 0.
void ws_pool_ledger_sized(const struct ws_pool_s *pool, ws_ledger_t *ledger, size_t bytes)
{
  ws_ledger_t own = {0};
  const ws_ledger_room_t *of = ws_ledger_of(pool);
  uint64_t *const word = (uint64_t *)&own;
  for (size_t i = sizeof(own) / sizeof(*word); of && i-- > 0;) // causes before the number of late ones
    word[i] = ws_stat_load(&of->count[i]) - (i < COUNTED ? ws_stat_load(&of->before[i]) : 0);
  own.left_out = of ? ws_stat_load(&ws_rings.without) : 0;
  ws_cause_stats_t *rest = &own.by[WS_CAUSE_UNSEEN]; // what has no other cause
  *rest = (ws_cause_stats_t){own.late, of ? ws_stat_load(&of->over_ns) : 0, rest->worst_ns};
  for (uint32_t i = 0; i < WS_CAUSE_UNSEEN; i++) {
    rest->bursts -= own.by[i].bursts < rest->bursts ? own.by[i].bursts : rest->bursts;
    rest->total_ns -= own.by[i].total_ns < rest->total_ns ? own.by[i].total_ns : rest->total_ns;
  }
  if (rest->bursts == 0) // parts are rounded
    rest->total_ns = 0;
  if (pool && ledger)
    ws_sized_put(ledger, bytes, &own, sizeof(own));
}

void ws_ledger_burst(ws_ledger_room_t *ledger, uint64_t over_ns)
{
  ws_stat_add(COUNT(ledger, bursts), 1);
  if (over_ns == 0)
    return;
  ws_stat_add(COUNT(ledger, late), 1);
  ws_stat_add(&ledger->over_ns, over_ns);
  ws_histogram_add(&ledger->ends, over_ns);
}

void ws_ledger_cause(ws_ledger_room_t *ledger, const uint64_t part_ns[WS_CAUSES], ws_cause_t most)
{
  for (uint32_t i = 0; i < WS_CAUSES; i++) {
    ws_stat_add(COUNT(ledger, by[i].total_ns), part_ns[i]);
    if (part_ns[i] > ws_stat_load(COUNT(ledger, by[i].worst_ns))) // only the scribe writes it
      ws_stat_store(COUNT(ledger, by[i].worst_ns), part_ns[i]);
  }
  ws_stat_add(COUNT(ledger, by[most].bursts), 1);
}
