// SPDX-License-Identifier: BSD-3-Clause
/// @file test_inbox_race.c
/// A task that is handed to a worker is run once, also if threads open, claim, give, decline, shut and take
/// at the same time.
#include "../../../tasks/ws_places.h"
#include "inbox_scene.h"

#include <sched.h>

#define TASKS (TEST_SANITIZED ? 2000u : 10000u)
/// Of so many tasks of a pusher one is handed over in any case.
#define HANDED_EVERY 8u
static ws_au64_t ran[PUSHERS][TASKS];
static ws_au32_t over;
static ws_group_t groups[PUSHERS];

static void run(const ws_task_t *task)
{
  ws_add_relaxed((ws_au64_t *)task->arg, 1);
}

/// As a worker does: look at an inbox that was left, else wait.
static bool is_handed(ws_inbox_t *inbox, uint32_t turn)
{
  if (ws_inbox_has_gone(inbox) && ws_inbox_look(inbox))
    return true;
  ws_inbox_open(inbox, turn % 5 == 0 ? elsewhere : tasks.waiting);
  for (uint32_t i = 0; i < turn % 64 && !ws_inbox_is_full(inbox); i++)
    ws_pause();
  if (turn % 97 == 0)
    sched_yield(); // a claimer may be left
  return inbox->open && ws_inbox_shut(&tasks, inbox);
}

static void *work(void *arg)
{
  ws_inbox_t *inbox = arg;
  ws_task_t task;
  for (uint32_t turn = 0; !ws_load_acquire(&over); turn++) {
    if (!is_handed(inbox, turn))
      continue;
    ws_inbox_empty(inbox, &task);
    run(&task);
  }
  return NULL;
}

static void *guard(void *unused)
{
  ws_task_t task;
  while (!ws_load_acquire(&over)) {
    ws_inbox_watch(&tasks);
    if (ws_places_take_stuck(&tasks, &task))
      run(&task);
    sched_yield();
  }
  return unused;
}

static void *push(void *arg)
{
  const uint32_t index = (uint32_t)(uintptr_t)arg;
  ws_queue_t *mine = &lanes[index];
  ws_task_t task;
  for (uint32_t i = 0; i < TASKS; i++) {
    bool handed;
    while (!(handed = hand(mine, &ran[index][i], &groups[index])) && i % HANDED_EVERY == 0)
      sched_yield(); // a worker opens its inbox soon
    if (!handed)
      ws_add_relaxed(&ran[index][i], 1);
    if (i % 3 == 0 && ws_inbox_take_back(&tasks, mine, &groups[index], &task))
      run(&task);
    if (i % 16 == 0)
      ws_inbox_give_back(&tasks, mine); // it may have claimed all of them
  }
  ws_inbox_give_back(&tasks, mine);
  return NULL;
}

static bool all_have_run(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < PUSHERS; i++)
    for (uint32_t k = 0; k < TASKS; k++)
      if (ws_load_relaxed(&ran[i][k]) == 0)
        return false;
  return true;
}

static void all_at_once(bool light)
{
  test_threads_t threads = {0}, pushers = {0};
  memset(ran, 0, sizeof(ran));
  ws_store_relaxed(&over, 0);
  begin_with(WORKERS, 1, light);
  for (uint32_t i = 0; i < WORKERS; i++)
    test_spawn(&threads, work, &inboxes[i]);
  test_spawn(&threads, guard, NULL);
  for (uint32_t i = 0; i < PUSHERS; i++)
    test_spawn(&pushers, push, (void *)(uintptr_t)i);
  test_join(&pushers);
  CU_ASSERT_TRUE(test_until(all_have_run, NULL));
  ws_store_release(&over, 1);
  test_join(&threads);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < PUSHERS; i++)
    for (uint32_t k = 0; k < TASKS; k++)
      wrong += ws_load_relaxed(&ran[i][k]) != 1;
  CU_ASSERT_EQUAL(wrong, 0);
  for (uint32_t i = 0; i < WORKERS; i++)
    CU_ASSERT_EQUAL(state_of(i), WS_INBOX_AWAY);
}

static void each_task_runs_once(void)
{
  all_at_once(false);
}

/// No thread of this test needs a heavy fence: a worker that has left looks again.
static void each_task_runs_once_with_light_fences(void)
{
  all_at_once(true);
}

TEST_MAIN("inbox_race", TEST_CASE(each_task_runs_once), TEST_CASE(each_task_runs_once_with_light_fences))
