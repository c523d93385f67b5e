// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_group.c
/// Life of a task, step 6: complete. Before: ws_run.h; after: ws_join.c. ws_group.h has the word's
/// diagram.
///
/// Lifetime  The group may be gone as soon as its count is zero: ws_group_complete touches it with one
///           read-modify-write, and then uses its address only, as a key for the kernel. If other data lies
///           at that address by then, a thread that waits there returns once too often, which every futex
///           waiter must expect.
#include "../tasks/ws_tasks.h"

#include "../pool/ws_process.h"
#include "../trace/ws_probe.h" // IWYU pragma: keep, for builds with LTTng

#define SLEEPS 1u ///< bit 0 of the word
#define UNIT 2u ///< one unit of the count above it
/// The sum would overflow, and look small.
#define REQUIRE_ROOM(call, units, before)                                                                    \
  WS_REQUIRE((uint64_t)(before) + (units) <= WS_GROUP_UNITS_MAX, call,                                       \
             "%u units on top of %u: a group holds %u at most", units, before, WS_GROUP_UNITS_MAX)

static ws_au32_t *word_of(ws_group_t *group)
{
  return (ws_au32_t *)(void *)&group->word;
}

void ws_group_init(ws_group_t *group, uint32_t units)
{
  REQUIRE_ROOM("ws_group_init", units, 0u);
  ws_init_store(word_of(group), units * UNIT);
}

void ws_group_add(ws_group_t *group, uint32_t units)
{
  // relaxed: the push that follows publishes it
  const uint32_t before = ws_add_relaxed(word_of(group), units * UNIT);
  REQUIRE_ROOM("ws_group_add", units, before / UNIT);
}

/// Wake the threads that sleep on the word, and the fibers that wait for its group. The group may be gone:
/// its address is all that is used.
WS_SELDOM static void wake(ws_au32_t *word)
{
  ws_os_futex_wake(word, WS_SLEEPERS_ALL);
  const ws_hooks_t *hooks = ws_process_hooks();
  if (hooks)
    hooks->completed(word);
}

/// Complete units of the group at @p word. If none are left and a thread may sleep, wake all that wait. The
/// group may be gone after that.
/// @param call  the public function, @param rule  how to use it: both for the message if it has fewer units
static void complete(ws_au32_t *word, uint32_t units, const char *call, const char *rule)
{
  // [edge GROUP_DONE acq_rel] every completer, not the last only
  const uint32_t before = ws_sub_acq_rel(word, units * UNIT);
  WS_REQUIRE(before / UNIT >= units, call, "%u to complete, but the group waits for %u. %s", units,
             before / UNIT, rule);
  if (before == (units * UNIT | SLEEPS))
    wake(word);
}

void ws_group_complete(ws_group_t *group, uint32_t units)
{
  ws_au32_t *word = word_of(group);
  WS_PROBE(complete, NULL, (uintptr_t)group, units); // before: the group may be gone after
  complete(word, units, "ws_group_complete", "Each task that carries the group completes one");
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

void ws_group_sleep(ws_group_t *group, uint64_t until_ns)
{
  ws_au32_t *word = word_of(group);
  uint32_t seen = ws_or_acq_rel(word, SLEEPS) | SLEEPS; // [edge GROUP_DONE acq_rel]
  while (seen / UNIT != 0) {
    if (ws_os_futex_wait_until(word, seen, until_ns) == -ETIMEDOUT)
      return;
    seen = ws_load_acquire(word); // [edge GROUP_DONE acquire]
  }
}

// Holds (ws_record.h): a group that no user has made.

/// @return whether a hold by the calling thread counts. The end of a pool waits for its own workers anyway.
/// In the child of a fork a pool of the parent does not end, and a worker that has forked is none any more.
static bool counts_hold(const ws_pool_t *pool)
{
  const ws_worker_t *worker = ws_self()->worker;
  return pool && (!worker || worker->pool != pool) && !ws_is_lost(pool);
}

void ws_pool_hold(ws_pool_t *pool)
{
  if (counts_hold(pool))
    ws_group_add(&pool->end.holds, 1);
}

void ws_pool_release(ws_pool_t *pool)
{
  if (counts_hold(pool))
    // the pool may be gone after
    complete(word_of(&pool->end.holds), 1, "ws_pool_release", "Each ws_pool_hold() allows one");
}
