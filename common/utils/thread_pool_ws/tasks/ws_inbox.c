// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_inbox.c
/// ws_inbox.h.
#include "ws_inbox.h"

/// How many pauses a worker waits for a thread that has taken its bit.
#define FILLING_PAUSES 16u
/// Workers that a thread outside reserves at once, at most.
#define RESERVED_MAX 16u

static uint32_t state_of(uint64_t word)
{
  return (uint32_t)(word % WS_INBOX_STATES);
}

/// @return @p word after a change of its state
static uint64_t with_state(uint64_t word, uint32_t state)
{
  WS_CHANGES(ws_inbox_changes, state_of(word), state);
  return word - state_of(word) + state;
}

/// Change the state. @param word  as the caller has read it. @return false = it has changed since
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

/// @return what is above the state in an inbox that @p own's owner has filled last
static uint64_t filled_by(const ws_queue_t *own)
{
  return ((uint64_t)own->index << 48) + own->outbox.stamp;
}

/// The caller, the owner of @p own, has reserved the inbox: fill it, or decline (@p state). Without a look at
/// the state: that would wait for the worker's line.
static void settle(ws_inbox_t *inbox, ws_queue_t *own, uint32_t state)
{
  WS_CHANGES(ws_inbox_changes, state_of(ws_assert_load(&inbox->state)), state);
  own->outbox.stamp += WS_INBOX_STATES; // no two states of an inbox that are FULL are alike
  ws_store_release(&inbox->state, filled_by(own) + state); // [edge INBOX release] the task
}

void ws_inbox_open(ws_inbox_t *inbox, ws_au64_t *mask)
{
  const uint64_t word = ws_load_acquire(&inbox->state); // [edge INBOX acquire] its last owner is done with it
  const bool is_away = state_of(word) == WS_INBOX_AWAY;
  if (ws_own_load(&inbox->gone) && (is_away || inbox->mask == mask)) {
    // It waits again for the thread that still has it reserved.
    ws_store_relaxed(&inbox->gone, 0); // relaxed: at worst that thread keeps its task
    inbox->open = true;
  }
  if (!is_away)
    return;
  ws_store_relaxed(&inbox->state, with_state(word, WS_INBOX_WAITING)); // relaxed: published with the bit
  inbox->open = true;
  inbox->mask = mask;
  const uint64_t bit = UINT64_C(1) << (inbox->index % 64);
  ws_or_acq_rel(&mask[inbox->index / 64], bit); // [edge INBOX acq_rel]
}

bool ws_inbox_shut(ws_tasks_t *tasks, ws_inbox_t *inbox)
{
  const uint64_t bit = UINT64_C(1) << (inbox->index % 64);
  bool tried = false; // to take it back
  inbox->open = false;
  for (uint32_t pauses = 0; pauses < FILLING_PAUSES; pauses++) {
    const uint64_t word = ws_expected_load(&inbox->state);
    if (state_of(word) == WS_INBOX_FULL && move(inbox, word, WS_INBOX_KEPT))
      return true;
    if (state_of(word) != WS_INBOX_WAITING && state_of(word) != WS_INBOX_FULL)
      return false;
    // [edge INBOX acq_rel] one thread reserves, or the worker itself shuts
    if (!tried && state_of(word) == WS_INBOX_WAITING
        && (ws_and_acq_rel(&inbox->mask[inbox->index / 64], ~bit) & bit)) {
      release(inbox);
      return false;
    }
    tried = true;
    ws_pause();
  }
  // A thread has reserved the inbox, and may have no CPU: the worker waits no longer.
  ws_store_relaxed(&inbox->gone, 1); // relaxed: published with the count
  ws_add_acq_rel(&tasks->left, 1); // [edge LEFT_DEKKER acq_rel]
  ws_fence_seq_cst_after_rmw(); // [edge LEFT_DEKKER fence] left before the last look
  return ws_inbox_look(inbox);
}

bool ws_inbox_look(ws_inbox_t *inbox)
{
  const uint64_t word = ws_expected_load(&inbox->state);
  const bool full = state_of(word) == WS_INBOX_FULL && move(inbox, word, WS_INBOX_KEPT);
  if (full || state_of(word) == WS_INBOX_AWAY)
    ws_store_relaxed(&inbox->gone, 0); // relaxed: it is not reserved any more
  return full;
}

void ws_inbox_empty(ws_inbox_t *inbox, ws_task_t *task)
{
  *task = inbox->task;
  release(inbox);
}

ws_reserved_t ws_inbox_reserve(const ws_tasks_t *tasks, ws_au64_t *mask, uint32_t most)
{
  // [edge LEFT_DEKKER acquire] first: what changes it later may be a worker that is reserved
  const uint64_t left = ws_load_acquire(&tasks->left);
  for (uint32_t word = 0; word < tasks->mask_words; word++)
    for (uint64_t waiting; (waiting = ws_hint_load(&mask[word])) != 0;) {
      uint64_t wanted = 0;
      for (uint32_t i = 0; waiting != 0 && i < most; i++, waiting &= waiting - 1)
        wanted |= waiting & -waiting;
      wanted &= ws_and_acq_rel(&mask[word], ~wanted); // [edge INBOX acq_rel] one thread reserves
      if (wanted != 0) // else others were quicker
        return (ws_reserved_t){.bits = wanted, .word = word, .left = left};
    }
  return (ws_reserved_t){0};
}

bool ws_inbox_reserve_more(ws_tasks_t *tasks, ws_queue_t *lane)
{
  ws_outbox_t *outbox = &lane->outbox;
  if (outbox->reserved.bits != 0)
    return true;
  const uint32_t twice = 2 * outbox->last < RESERVED_MAX ? 2 * outbox->last : RESERVED_MAX;
  const uint32_t most = tasks->domains > 0 && outbox->last > 0 ? twice : 1;
  outbox->reserved = ws_inbox_reserve(tasks, tasks->waiting, most);
  if (outbox->reserved.bits != 0)
    outbox->last = most;
  return outbox->reserved.bits != 0;
}

/// @return the inbox of the next worker that is reserved; there is one
static ws_inbox_t *next_inbox(const ws_tasks_t *tasks, ws_reserved_t *reserved)
{
  const uint32_t index = 64 * reserved->word + (uint32_t)__builtin_ctzll(reserved->bits);
  reserved->bits &= reserved->bits - 1;
  return tasks->inbox[index];
}

/// @return whether a worker that is reserved may have left, and the one of @p inbox has
static inline bool has_left(const ws_tasks_t *tasks, const ws_reserved_t *reserved, const ws_inbox_t *inbox)
{
  // [edge LEFT_DEKKER acquire] gone
  return WS_UNLIKELY(ws_load_acquire(&tasks->left) != reserved->left)
         && ws_load_relaxed(&inbox->gone); // relaxed: set before the count
}

/// Take the task of an inbox. @param word  its state, as read. @return false = that is not FULL, or has
/// changed
static bool take_full(ws_inbox_t *inbox, uint64_t word, ws_task_t *task)
{
  if (state_of(word) != WS_INBOX_FULL || !move(inbox, word, WS_INBOX_TAKEN))
    return false;
  ws_inbox_empty(inbox, task);
  return true;
}

bool ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_reserved_t *reserved, const ws_task_t *task)
{
  ws_inbox_t *inbox = next_inbox(tasks, reserved);
  if (has_left(tasks, reserved, inbox)) {
    settle(inbox, own, WS_INBOX_AWAY);
    return false;
  }
  inbox->task = *task;
  ws_store_relaxed(&inbox->group, task->group); // relaxed: published with the state
  settle(inbox, own, WS_INBOX_FULL);
  // [edge LEFT_DEKKER fence] [edge GUARD_DEKKER fence] [edge STOP_DEKKER fence] the task before left, guard
  // and state
  ws_fence_light(ws_hint_load(&tasks->light));
  ws_task_t kept;
  return !has_left(tasks, reserved, inbox) || !take_full(inbox, filled_by(own) + WS_INBOX_FULL, &kept);
}

void ws_inbox_decline(const ws_tasks_t *tasks, ws_queue_t *own, ws_reserved_t *reserved)
{
  while (reserved->bits != 0)
    settle(next_inbox(tasks, reserved), own, WS_INBOX_AWAY);
}

bool ws_inbox_take_back(ws_tasks_t *tasks, ws_queue_t *lane, const ws_group_t *group, ws_task_t *task)
{
  if (lane->outbox.looked_at >= tasks->inboxes)
    lane->outbox.looked_at = 0;
  ws_inbox_t *inbox = tasks->inbox[lane->outbox.looked_at++];
  const uint64_t word = ws_load_acquire(&inbox->state); // [edge INBOX acquire] the group
  return state_of(word) == WS_INBOX_FULL
         // relaxed: if it is another task's, the state has changed, too
         && ws_group_is(ws_load_relaxed(&inbox->group), group, false) && take_full(inbox, word, task);
}

bool ws_inbox_take_any(const ws_tasks_t *tasks, ws_task_t *task)
{
  for (uint32_t i = 0; i < tasks->inboxes; i++)
    if (take_full(tasks->inbox[i], ws_expected_load(&tasks->inbox[i]->state), task))
      return true;
  return false;
}

uint32_t ws_inbox_watch(ws_tasks_t *tasks)
{
  uint32_t count = 0, stuck = 0;
  for (uint32_t i = 0; i < tasks->inboxes; i++) {
    ws_inbox_t *inbox = tasks->inbox[i];
    const uint64_t word = ws_expected_load(&inbox->state);
    const bool full = state_of(word) == WS_INBOX_FULL;
    if (full && inbox->seen == word) {
      ws_store_relaxed(&inbox->stuck, word); // relaxed: the compare-and-swap of the state decides
      stuck++;
    }
    inbox->seen = full ? word : 0;
    count += full;
  }
  ws_store_relaxed(&tasks->stuck, stuck); // relaxed: the caller's fence [PARK_DEKKER]
  return count;
}

static bool is_stuck(const ws_inbox_t *inbox)
{
  return ws_inbox_is(inbox, WS_INBOX_FULL) && ws_expected_load(&inbox->state) == ws_hint_load(&inbox->stuck);
}

uint32_t ws_inbox_stuck(const ws_tasks_t *tasks)
{
  uint32_t count = 0;
  // relaxed: the guard has written it before it had a worker woken, or after the caller's fence [PARK_DEKKER]
  for (uint32_t i = 0; ws_load_relaxed(&tasks->stuck) > 0 && i < tasks->inboxes; i++)
    count += is_stuck(tasks->inbox[i]);
  return count;
}

bool ws_inbox_take_stuck(ws_tasks_t *tasks, ws_task_t *task)
{
  for (uint32_t i = 0; ws_load_relaxed(&tasks->stuck) > 0 && i < tasks->inboxes; i++) // relaxed: as above
    if (is_stuck(tasks->inbox[i]) && take_full(tasks->inbox[i], ws_hint_load(&tasks->inbox[i]->stuck), task))
      return true;
  return false;
}

uint32_t ws_inbox_count(const ws_tasks_t *tasks)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < tasks->inboxes; i++)
    count += ws_inbox_is(tasks->inbox[i], WS_INBOX_FULL);
  return count;
}
