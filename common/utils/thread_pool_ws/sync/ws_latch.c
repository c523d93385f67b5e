// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_latch.c
/// A latch, and a gate: two words that let all waits pass at once.
#include <errno.h>

#include "../fiber/ws_lot_park.h"
#include "ws_sync_word.h"

void ws_latch_init(ws_latch_t *latch, uint32_t count)
{
  ws_store_relaxed(ws_sync_word(&latch->word), count); // relaxed: the caller has the latch to itself
}

void ws_latch_count_down(ws_latch_t *latch, uint32_t count)
{
  const uint32_t before = ws_sub_acq_rel(ws_sync_word(&latch->word), count); // [edge SYNC acq_rel]
  WS_ASSERT(before >= count);
  if (before == count && count > 0) // a wait may return now, and the latch be gone
    ws_lot_unpark(ws_lot_brief(latch), UINT32_MAX, NULL, NULL);
}

bool ws_latch_try(const ws_latch_t *latch)
{
  return ws_load_acquire(ws_sync_word(&latch->word)) == 0; // [edge SYNC acquire]
}

static bool is_counting(void *latch)
{
  return !ws_latch_try(latch);
}

int ws_latch_wait_until(ws_latch_t *latch, uint64_t deadline_ns)
{
  while (!ws_latch_try(latch)) {
    const int result = ws_lot_park(ws_lot_brief(latch), is_counting, latch, deadline_ns, true);
    if (result == -ETIMEDOUT || result == -ECANCELED)
      return result;
  }
  return 0;
}

int ws_latch_wait(ws_latch_t *latch)
{
  return ws_latch_wait_until(latch, WS_SYNC_NO_DEADLINE);
}

void ws_gate_open(ws_gate_t *gate)
{
  if (ws_xchg_acq_rel(ws_sync_word(&gate->word), 1) == 0) // [edge SYNC acq_rel]
    ws_lot_unpark(gate, UINT32_MAX, NULL, NULL);
}

void ws_gate_close(ws_gate_t *gate)
{
  ws_store_release(ws_sync_word(&gate->word), 0); // [edge SYNC release]
}

bool ws_gate_is_open(const ws_gate_t *gate)
{
  return ws_load_acquire(ws_sync_word(&gate->word)) != 0; // [edge SYNC acquire]
}

static bool is_closed(void *gate)
{
  return !ws_gate_is_open(gate);
}

int ws_gate_wait_until(ws_gate_t *gate, uint64_t deadline_ns)
{
  if (ws_gate_is_open(gate))
    return 0;
  const int result = ws_lot_park(gate, is_closed, gate, deadline_ns, true); // a wake: it has been open
  return result == -EAGAIN ? 0 : result;
}

int ws_gate_wait(ws_gate_t *gate)
{
  return ws_gate_wait_until(gate, WS_SYNC_NO_DEADLINE);
}
