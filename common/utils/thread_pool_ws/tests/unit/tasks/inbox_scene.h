// SPDX-License-Identifier: BSD-3-Clause
/// @file inbox_scene.h
/// What the tests of inboxes share: the tasks of a pool, inboxes without workers, and two lanes.
#ifndef INBOX_SCENE_H
#define INBOX_SCENE_H

#include <string.h>

#include "../../../tasks/ws_inbox.h"
#include "../../support/ws_test.h"

#define WORKERS 3u
#define MANY 70u ///< workers of a pool with two words of bits
#define PUSHERS 2u

static ws_tasks_t tasks;
static ws_inbox_t inboxes[MANY], *inbox_of[MANY];
static ws_queue_t lanes[PUSHERS], *queue_of[MANY + PUSHERS];
static ws_au64_t elsewhere[2]; ///< another mask than tasks.waiting

static inline void begin_with(uint32_t workers, uint32_t circles, bool light)
{
  memset(&tasks, 0, sizeof(tasks));
  memset(inboxes, 0, sizeof(inboxes));
  memset(lanes, 0, sizeof(lanes));
  memset(elsewhere, 0, sizeof(elsewhere));
  tasks.inbox = inbox_of;
  tasks.queue = queue_of;
  tasks.workers = workers;
  tasks.mask_words = (workers + 63) / 64;
  tasks.circles = circles;
  ws_store_relaxed(&tasks.light, light);
  for (uint32_t i = 0; i < PUSHERS; i++)
    ws_tasks_put(&tasks, &lanes[i], workers + i);
  for (uint32_t i = 0; i < workers; i++) {
    inbox_of[i] = &inboxes[i];
    inboxes[i].index = i;
  }
}

static inline uint32_t state_of(uint32_t worker)
{
  return (uint32_t)(ws_load_relaxed(&inboxes[worker].state) % WS_INBOX_STATES);
}

/// @return whether the next worker of the claim has the task
static inline bool give(ws_queue_t *by, void *arg, ws_group_t *group)
{
  const ws_task_t task = {.func = test_empty_task, .arg = arg, .group = group};
  return ws_inbox_give(&tasks, by, &by->claim, &task);
}

/// Hand a task over as a push does. @return whether a worker has it
static inline bool hand(ws_queue_t *by, void *arg, ws_group_t *group)
{
  while (ws_inbox_claim_more(&tasks, by)) {
    if (give(by, arg, group))
      return true;
    ws_inbox_give_back(&tasks, by);
  }
  return false;
}

#endif
