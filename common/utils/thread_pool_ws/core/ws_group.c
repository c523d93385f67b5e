// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_group.c
/// Life of a task, step 6: complete. Before: ws_worker.c; after: ws_join.c. ws_group.h has the word's
/// diagram.
///
/// Lifetime  The group may be gone as soon as its count is zero: ws_group_complete touches it with one
///           read-modify-write, and then uses its address only, as a key for the kernel. If other data lies
///           at that address by then, a thread that waits there returns once too often, which every futex
///           waiter must expect.
#include "../pool/ws_group_word.h"

#include <limits.h>

#include "../base/ws_base.h"
#include "../pool/ws_process.h"
#include "../trace/ws_probe.h"

#define SLEEPS 1u ///< bit 0 of the word
#define UNIT 2u ///< one unit of the count above it

static ws_au32_t *word_of(ws_group_t *group)
{
  return (ws_au32_t *)(void *)&group->word;
}

void ws_group_init(ws_group_t *group, uint32_t units)
{
  WS_ASSERT(units <= WS_GROUP_UNITS_MAX);
  ws_store_relaxed(word_of(group), units * UNIT); // relaxed: the caller has the group to itself
}

void ws_group_add(ws_group_t *group, uint32_t units)
{
  WS_ASSERT(units <= WS_GROUP_UNITS_MAX); // a larger number would overflow the sum, and look small
  // relaxed: the push that follows publishes it
  const uint32_t before = ws_add_relaxed(word_of(group), units * UNIT);
  WS_ASSERT(before / UNIT + units <= WS_GROUP_UNITS_MAX);
}

/// The group may be gone: its address is all that is used.
WS_SELDOM static void wake(ws_au32_t *word)
{
  ws_os_futex_wake(word, INT_MAX);
  const ws_hooks_t *hooks = ws_process_hooks();
  if (hooks)
    hooks->completed(word);
}

void ws_group_complete(ws_group_t *group, uint32_t units)
{
  ws_au32_t *word = word_of(group);
  WS_PROBE(complete, (uintptr_t)group, units); // before: the group may be gone after
  // [edge GROUP_DONE acq_rel] every completer, not the last only
  const uint32_t before = ws_sub_acq_rel(word, units * UNIT);
  WS_ASSERT(before / UNIT >= units);
  if (before == (units * UNIT | SLEEPS))
    wake(word);
}

bool ws_group_announce(ws_group_t *group)
{
  return ws_or_acq_rel(word_of(group), SLEEPS) / UNIT != 0; // [edge GROUP_DONE acq_rel]
}

bool ws_group_done(const ws_group_t *group)
{
  return ws_load_acquire(word_of((ws_group_t *)group)) / UNIT == 0; // [edge GROUP_DONE acquire]
}

uint32_t ws_group_units(ws_group_t *group)
{
  return ws_load_relaxed(word_of(group)) / UNIT; // relaxed: a completion, or ws_group_done, orders
}

void ws_group_sleep(ws_group_t *group)
{
  ws_au32_t *word = word_of(group);
  uint32_t seen = ws_or_acq_rel(word, SLEEPS) | SLEEPS; // [edge GROUP_DONE acq_rel]
  while (seen / UNIT != 0) {
    ws_os_futex_wait(word, seen, 0);
    seen = ws_load_acquire(word); // [edge GROUP_DONE acquire]
  }
}
