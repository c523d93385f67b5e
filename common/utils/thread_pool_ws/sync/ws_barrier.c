// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_barrier.c
/// A barrier that can be used again.
///
/// word: bits 0..31 = callers that have arrived, bits 32..63 = rounds that are over. The last arrival sets
///       the first to 0 and adds 1 to the second, in one step. An arrival is withdrawn only while its round
///       lasts.
#include <errno.h>

#include "../fiber/ws_lot.h"
#include "ws_sync_word.h"

#define PARTIES_MAX (UINT32_MAX / 2)
#define ROUND (UINT64_C(1) << 32)

typedef struct {
  ws_barrier_t *barrier;
  uint64_t round;
} wait_t;

void ws_barrier_init(ws_barrier_t *barrier, uint32_t parties)
{
  WS_REQUIRE(parties > 0 && parties <= PARTIES_MAX, "ws_barrier_init", "%u parties: 1 .. %u are possible",
             parties, PARTIES_MAX);
  *barrier = (ws_barrier_t){.parties = parties};
}

static bool is_in_round(void *wait_arg)
{
  const wait_t *wait = wait_arg;
  // [edge SYNC acquire] what the others wrote before they arrived
  return ws_load_acquire(ws_sync_word64(&wait->barrier->word)) / ROUND == wait->round;
}

/// @return false = the round is over
static bool withdraw(const wait_t *wait)
{
  ws_au64_t *word = ws_sync_word64(&wait->barrier->word);
  uint64_t seen = ws_load_acquire(word); // [edge SYNC acquire] if the round is over
  while (seen / ROUND == wait->round)
    if (ws_cas_acq_rel(word, &seen, seen - 1)) // [edge SYNC acq_rel]
      return true;
  return is_in_round((void *)(uintptr_t)wait); // false: read again, with the order that the CAS did not have
}

int ws_barrier_wait_until(ws_barrier_t *barrier, uint64_t deadline_ns)
{
  WS_REQUIRE(barrier->parties > 0 && barrier->parties <= PARTIES_MAX, "ws_barrier_wait",
             "the barrier has %u parties: initialise it with 1 .. %u", barrier->parties, PARTIES_MAX);
  ws_au64_t *word = ws_sync_word64(&barrier->word);
  uint64_t seen = ws_expected_load(word), next;
  do
    next = (uint32_t)seen + 1 == barrier->parties ? (seen / ROUND + 1) * ROUND : seen + 1;
  while (!ws_cas_acq_rel(word, &seen, next)); // [edge SYNC acq_rel]
  wait_t wait = {barrier, seen / ROUND};
  if (next / ROUND != wait.round) {
    ws_lot_unpark(ws_lot_brief(barrier), UINT32_MAX, NULL, NULL);
    return 1;
  }
  while (is_in_round(&wait)) {
    const int result = ws_lot_park(ws_lot_brief(barrier), is_in_round, &wait, deadline_ns, true);
    if ((result == -ETIMEDOUT || result == -ECANCELED) && withdraw(&wait))
      return result;
  }
  return 0;
}

int ws_barrier_wait(ws_barrier_t *barrier)
{
  return ws_barrier_wait_until(barrier, WS_SYNC_NO_DEADLINE);
}
