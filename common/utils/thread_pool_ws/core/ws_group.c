// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_group.c
/// Life of a task, steps 6 and 7: complete and join. Before: ws_worker.c. ws_group.h has the word's diagram.
///
/// Lifetime  The group may be gone as soon as its count is zero: ws_group_complete touches it with one
///           read-modify-write, and then uses its address only, as a key for the kernel. A stray wake of
///           whatever lies there by then is one spurious return from a futex wait, which every waiter has to
///           expect.
#include "../include/ws_group.h"

#include <limits.h>

#include "ws_find.h"
#include "ws_lane.h"
#include "ws_park.h"
#include "ws_run.h"

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
  // relaxed: the push that follows publishes it
  const uint32_t before = ws_add_relaxed(word_of(group), units * UNIT);
  WS_ASSERT(before / UNIT + units <= WS_GROUP_UNITS_MAX);
}

void ws_group_complete(ws_group_t *group, uint32_t units)
{
  ws_au32_t *word = word_of(group);
  // [edge GROUP_DONE acq_rel] every completer, not the last only
  const uint32_t before = ws_sub_acq_rel(word, units * UNIT);
  WS_ASSERT(before / UNIT >= units);
  if (before == (units * UNIT | SLEEPS))
    ws_os_futex_wake(word, INT_MAX);
}

bool ws_group_done(const ws_group_t *group)
{
  return ws_load_acquire(word_of((ws_group_t *)group)) / UNIT == 0; // [edge GROUP_DONE acquire]
}

/// @return whether the caller has run all that was left of the group, and only has to complete it
static bool is_last(ws_group_t *group, uint32_t units)
{
  return ws_load_relaxed(word_of(group)) / UNIT == units; // relaxed: the caller's completion orders
}

/// Run tasks of the group from the caller's own queues until there are none. @return whether any ran
static bool help_own(struct ws_pool_s *pool, ws_here_t here, ws_group_t *group, uint64_t *mark)
{
  ws_task_t task;
  uint32_t units = 0, others = 0;
  while (!is_last(group, units) && ws_find_own(pool, here, group, mark, &task)) {
    if (task.group == group) {
      ws_run(pool, here.queue, &task);
      units++;
      continue;
    }
    if (units > 0) // what a task of the group has pushed may wait for it
      ws_group_complete(group, units);
    ws_run(pool, here.queue, &task);
    if (task.group)
      ws_group_complete(task.group, 1);
    others += units + 1;
    units = 0;
  }
  if (units > 0)
    ws_group_complete(group, units);
  ws_count_run(here.queue, units + others);
  return units + others > 0;
}

/// Run one task that a task of the group has pushed.
static bool help_below(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group)
{
  ws_task_t task;
  if (!ws_find_below(pool, here, group, &task))
    return false;
  ws_group_t *before = ws_root_enter(here.queue, task.group);
  ws_run(pool, here.queue, &task);
  ws_root_leave(here.queue, before);
  if (task.group)
    ws_group_complete(task.group, 1);
  ws_count_run(here.queue, 1);
  return true;
}

/// Spin until the group is done or something to help with turns up. @return false when the time is over
static bool spin(struct ws_pool_s *pool, ws_here_t here, ws_group_t *group)
{
  if (pool->cpus < 2)
    return false;
  const uint64_t start_ns = ws_os_now_ns();
  do {
    for (uint32_t turn = 0; turn < 8; turn++) {
      if (ws_group_done(group) || help_below(pool, here, group))
        return true;
      ws_pause();
    }
  } while (ws_os_now_ns() - start_ns < pool->settings.join_spin_ns_max);
  return false;
}

static void sleep_until_done(ws_group_t *group)
{
  ws_au32_t *word = word_of(group);
  uint32_t seen = ws_or_acq_rel(word, SLEEPS) | SLEEPS; // [edge GROUP_DONE acq_rel]
  while (seen / UNIT != 0) {
    ws_os_futex_wait(word, seen, 0);
    seen = ws_load_acquire(word); // [edge GROUP_DONE acquire]
  }
}

/// Help, spin, sleep: see ws_group.h.
static void join(struct ws_pool_s *pool, ws_here_t here, ws_group_t *group)
{
  uint64_t mark = ws_find_mark(here);
  while (!ws_group_done(group)) {
    if (help_own(pool, here, group, &mark) || spin(pool, here, group))
      continue;
    ws_block_begin(pool, here);
    sleep_until_done(group);
    ws_block_end(pool, here);
  }
}

void ws_group_wait(ws_group_t *group, struct ws_pool_s *pool)
{
  if (ws_group_done(group))
    return;
  const ws_here_t here = pool && pool->workers > 0 ? ws_here(pool) : (ws_here_t){0};
  if (!here.queue) {
    sleep_until_done(group);
    return;
  }
  const bool helper = !here.worker && here.queue->depth == 0; // once, however deep it joins
  if (helper)
    ws_helper_begin(pool, here.queue);
  join(pool, here, group);
  if (helper) {
    ws_helper_end(pool);
    ws_note_idle(pool); // a worker does so when it runs dry
  }
  ws_give_back(pool, here);
}
