// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_latch.c
/// A latch, and a gate: two words that let all waits pass at once.
///
/// A gate's word: bit 0 = OPEN, bits 1..31 = how often it was opened: a wait that has begun and is not in the
/// lot yet sees that the gate was open meanwhile.
#include <errno.h>

#include "../fiber/ws_lot.h"
#include "ws_sync_word.h"

#define OPEN 1u
#define OPENING 2u

void ws_latch_init(ws_latch_t *latch, uint32_t count)
{
  ws_init_store(ws_sync_word(&latch->word), count);
}

void ws_latch_count_down(ws_latch_t *latch, uint32_t count)
{
  const uint32_t before = ws_sub_acq_rel(ws_sync_word(&latch->word), count); // [edge SYNC acq_rel]
  WS_REQUIRE(before >= count, "ws_latch_count_down", "%u to count down, but the latch waits for %u", count,
             before);
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

typedef struct {
  ws_gate_t *gate;
  uint32_t seen; ///< the word, when the wait began
} gate_wait_t;

void ws_gate_open(ws_gate_t *gate)
{
  ws_au32_t *word = ws_sync_word(&gate->word);
  uint32_t seen = ws_expected_load(word);
  while (!ws_cas_acq_rel(word, &seen, seen & OPEN ? seen : (seen | OPEN) + OPENING)) // [edge SYNC acq_rel]
    ;
  if (!(seen & OPEN)) // a wait may return now, and the gate be gone
    ws_lot_unpark(ws_lot_brief(gate), UINT32_MAX, NULL, NULL);
}

void ws_gate_close(ws_gate_t *gate)
{
  ws_and_acq_rel(ws_sync_word(&gate->word), ~OPEN); // [edge SYNC acq_rel]
}

bool ws_gate_is_open(const ws_gate_t *gate)
{
  return ws_load_acquire(ws_sync_word(&gate->word)) & OPEN; // [edge SYNC acquire]
}

/// @return whether the gate has not been open since the wait began
static bool is_closed(void *wait_arg)
{
  const gate_wait_t *wait = wait_arg;
  return ws_load_acquire(ws_sync_word(&wait->gate->word)) == wait->seen; // [edge SYNC acquire]
}

int ws_gate_wait_until(ws_gate_t *gate, uint64_t deadline_ns)
{
  gate_wait_t wait = {gate, ws_load_acquire(ws_sync_word(&gate->word))}; // [edge SYNC acquire]
  if (wait.seen & OPEN)
    return 0;
  while (is_closed(&wait)) { // a wake may belong to an opening that was over before this wait began
    const int result = ws_lot_park(ws_lot_brief(gate), is_closed, &wait, deadline_ns, true);
    if (result == -ETIMEDOUT || result == -ECANCELED)
      return result;
  }
  return 0;
}

int ws_gate_wait(ws_gate_t *gate)
{
  return ws_gate_wait_until(gate, WS_SYNC_NO_DEADLINE);
}
