// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_complete.c
/// ws_complete.h.
#include "ws_complete.h"

#include "../sleep/ws_wake.h"
#include "../tasks/ws_group_word.h"
#include "ws_run.h"

#define COUNT_BITS 16u
#define COUNT_MAX 0xffffu

/// @return what a pile of the group's completions holds while it is empty; 0 = the address is too long
static uint64_t key_of(const ws_group_t *group)
{
  const uint64_t address = (uintptr_t)group;
  return address >> (64 - COUNT_BITS) == 0 ? address << COUNT_BITS : 0;
}

static void complete(ws_worker_t *worker, ws_group_t *group, uint32_t tasks)
{
  ws_group_complete(group, tasks);
  ws_count_run(&worker->queue, tasks);
}

/// @return whether the circle's collector completes the tasks
static bool is_collected(ws_au64_t *pile, uint64_t key, uint32_t tasks)
{
  uint64_t word = ws_expected_load(pile);
  while (word >> COUNT_BITS == key >> COUNT_BITS && (word & COUNT_MAX) + tasks <= COUNT_MAX)
    if (ws_cas_acq_rel(pile, &word, word + tasks)) // [edge GROUP_DONE acq_rel] what they wrote
      return true;
  return false;
}

static void collect(ws_worker_t *worker, ws_group_t *group, uint32_t tasks)
{
  ws_au64_t *pile = &worker->pool->tasks.circle[ws_near_circle(worker)].pile;
  const uint64_t key = key_of(group);
  uint64_t none = 0;
  if (key == 0) {
    complete(worker, group, tasks);
    return;
  }
  if (is_collected(pile, key, tasks))
    return;
  const bool collects = ws_expected_load(pile) == 0 && ws_cas_acq_rel(pile, &none, key);
  complete(worker, group, tasks);
  if (!collects)
    return;
  const uint32_t more = (uint32_t)(ws_xchg_acq_rel(pile, 0) & COUNT_MAX); // [edge GROUP_DONE acq_rel]
  if (more > 0)
    complete(worker, group, more);
}

void ws_complete_due(ws_worker_t *worker)
{
  const uint32_t tasks = worker->due.tasks;
  if (tasks == 0)
    return;
  worker->due.tasks = 0;
  if (!ws_group_counts(worker->due.group))
    ws_count_run(&worker->queue, tasks);
  else if (WS_LIKELY(worker->pool->tasks.circles == 0))
    complete(worker, worker->due.group, tasks);
  else
    collect(worker, worker->due.group, tasks);
}
