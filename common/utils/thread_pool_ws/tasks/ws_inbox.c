// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_inbox.c
/// ws_inbox.h.
#include "ws_inbox.h"

#include "ws_group_word.h"

/// How many pauses a worker waits for a thread that has taken its bit.
#define FILLING_PAUSES 16u

static uint32_t state_of(uint64_t word)
{
  return (uint32_t)(word % WS_INBOX_STATES);
}

static uint64_t with_state(uint64_t word, uint32_t state)
{
  return word - state_of(word) + state;
}

/// @param word  as the caller has read it: it must not have changed since
static bool move(ws_inbox_t *inbox, uint64_t word, uint32_t to)
{
  // [edge INBOX acq_rel] the task, to and fro
  return ws_cas_acq_rel(&inbox->state, &word, with_state(word, to));
}

/// The caller has the inbox to itself, and is done with it.
static void release(ws_inbox_t *inbox)
{
  const uint64_t word = ws_expected_load(&inbox->state);
  // [edge INBOX release] the task has been read
  ws_store_release(&inbox->state, with_state(word, WS_INBOX_AWAY));
}

static bool take_bit(ws_au64_t *mask, uint32_t index)
{
  const uint64_t bit = UINT64_C(1) << (index % 64);
  // [edge INBOX acq_rel] one thread fills, or the worker itself shuts
  return ws_and_acq_rel(&mask[index / 64], ~bit) & bit;
}

bool ws_inbox_open(ws_inbox_t *inbox, ws_au64_t *mask)
{
  const uint64_t word = ws_load_acquire(&inbox->state); // [edge INBOX acquire] its last owner is done with it
  // A thread outside still has the claim that the worker has given up waiting for.
  if (state_of(word) == WS_INBOX_GIVEN_UP && inbox->mask == mask && move(inbox, word, WS_INBOX_WAITING))
    inbox->open = true;
  if (state_of(word) != WS_INBOX_AWAY)
    return false;
  ws_store_relaxed(&inbox->state, with_state(word, WS_INBOX_WAITING)); // relaxed: published with the bit
  inbox->open = true;
  inbox->mask = mask;
  const uint64_t bit = UINT64_C(1) << (inbox->index % 64);
  ws_or_acq_rel(&mask[inbox->index / 64], bit); // [edge INBOX acq_rel]
  return true;
}

bool ws_inbox_shut(ws_inbox_t *inbox)
{
  bool claimed = false; // by a thread that will fill it
  inbox->open = false;
  for (uint32_t pauses = 0;; pauses++) {
    const uint64_t word = ws_expected_load(&inbox->state);
    if (state_of(word) == WS_INBOX_FULL && move(inbox, word, WS_INBOX_KEPT))
      return true;
    if (state_of(word) != WS_INBOX_WAITING && state_of(word) != WS_INBOX_FULL)
      return false;
    if (!claimed && state_of(word) == WS_INBOX_WAITING && take_bit(inbox->mask, inbox->index)) {
      release(inbox);
      return false;
    }
    claimed = true;
    if (pauses >= FILLING_PAUSES && state_of(word) == WS_INBOX_WAITING
        && move(inbox, word, WS_INBOX_GIVEN_UP))
      return false; // the thread that would fill it has no CPU
    ws_pause();
  }
}

void ws_inbox_empty(ws_inbox_t *inbox, ws_task_t *task)
{
  *task = inbox->task;
  release(inbox);
}

ws_claim_t ws_inbox_claim(const ws_tasks_t *tasks, ws_au64_t *mask, uint32_t most)
{
  for (uint32_t word = 0; word < tasks->mask_words; word++) {
    for (uint64_t waiting; (waiting = ws_hint_load(&mask[word])) != 0;) {
      uint64_t wanted = 0;
      for (uint32_t i = 0; waiting != 0 && i < most; i++, waiting &= waiting - 1)
        wanted |= waiting & -waiting;
      wanted &=
          ws_and_acq_rel(&mask[word], ~wanted); // [edge INBOX acq_rel] one thread fills, or the worker shuts
      if (wanted != 0) // else others were quicker
        return (ws_claim_t){.bits = wanted, .word = word};
    }
  }
  return (ws_claim_t){0};
}

/// Most workers that a thread outside claims at once.
#define CLAIM_MOST 16u

ws_inbox_t *ws_inbox_claim_next(ws_tasks_t *tasks, ws_queue_t *lane)
{
  if (lane->claim.bits == 0) {
    const uint32_t most = lane->claim_next > 0 && tasks->circles > 0 ? lane->claim_next : 1;
    lane->claim = ws_inbox_claim(tasks, tasks->waiting, most);
    if (lane->claim.bits != 0)
      lane->claim_next = 2 * most < CLAIM_MOST ? 2 * most : CLAIM_MOST;
  }
  return lane->claim.bits != 0 ? ws_inbox_next(tasks, &lane->claim) : NULL;
}

bool ws_inbox_fill(ws_inbox_t *inbox, const ws_task_t *task)
{
  inbox->task = *task;
  ws_store_relaxed(&inbox->group, task->group); // relaxed: published with the state
  // Without a look before: it would fetch the line twice, once to read and once to write.
  // [edge INBOX acq_rel] the task
  const uint64_t before = ws_add_acq_rel(&inbox->state, WS_INBOX_STATES + WS_INBOX_FULL - WS_INBOX_WAITING);
  if (WS_LIKELY(state_of(before) == WS_INBOX_WAITING))
    return true;
  release(inbox); // it may be opened again
  return false;
}

void ws_inbox_decline(ws_inbox_t *inbox)
{
  release(inbox); // only the worker may change it meanwhile, from WAITING to GIVEN_UP and back
}

void ws_inbox_decline_all(const ws_tasks_t *tasks, ws_claim_t *claim)
{
  while (claim->bits != 0)
    ws_inbox_decline(ws_inbox_next(tasks, claim));
}

static bool take(ws_inbox_t *inbox, uint64_t word, ws_task_t *task)
{
  if (!move(inbox, word, WS_INBOX_TAKEN))
    return false;
  *task = inbox->task;
  release(inbox);
  return true;
}

bool ws_inbox_take_back(ws_tasks_t *tasks, ws_queue_t *lane, const ws_group_t *group, ws_task_t *task)
{
  if (lane->looked_at >= tasks->workers)
    lane->looked_at = 0;
  ws_inbox_t *inbox = tasks->inbox[lane->looked_at++];
  const uint64_t word = ws_load_acquire(&inbox->state); // [edge INBOX acquire] the group
  return state_of(word) == WS_INBOX_FULL
         // relaxed: if it is another task's, the state has changed, too
         && ws_group_is(ws_load_relaxed(&inbox->group), group, false) && take(inbox, word, task);
}

static bool is_starved(const ws_inbox_t *inbox)
{
  return ws_hint_load(inbox->trust) == WS_TRUST_STARVED;
}

bool ws_inbox_take_starved(ws_inbox_t *inbox, ws_task_t *task)
{
  const uint64_t word = ws_expected_load(&inbox->state);
  return is_starved(inbox) && state_of(word) == WS_INBOX_FULL && take(inbox, word, task);
}

bool ws_inbox_is_left(const ws_inbox_t *inbox)
{
  return ws_inbox_is_full(inbox) && is_starved(inbox);
}

uint32_t ws_inbox_count(const ws_tasks_t *tasks)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < tasks->workers; i++)
    count += ws_inbox_is_full(tasks->inbox[i]);
  return count;
}
