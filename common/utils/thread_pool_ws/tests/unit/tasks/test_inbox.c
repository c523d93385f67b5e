// SPDX-License-Identifier: BSD-3-Clause
/// @file test_inbox.c
/// A task that is handed to a worker is run once, also if threads open, fill, shut and take at the same time.
/// A task that comes too late is pushed once (--wrap=ws_inbox_claim).
#include "../../../pool/ws_process.h"
#include "../../../pool/ws_types.h"
#include "../../../tasks/ws_inbox.h"
#include "../../../tasks/ws_places.h"

#include <sched.h>
#include <string.h>

#include "../../support/ws_test.h"

#define WORKERS 3u
#define PUSHERS 2u
#define TASKS (TEST_SANITIZED ? 4000u : 40000u)

static ws_tasks_t tasks;
static ws_inbox_t inboxes[WORKERS], *inbox_of[WORKERS];
static ws_au32_t trust[WORKERS];

/// Which inbox a push fills; NULL = that of a worker that waits.
static ws_inbox_t *claimed;

ws_inbox_t *__real_ws_inbox_claim(ws_tasks_t *of);
ws_inbox_t *__wrap_ws_inbox_claim(ws_tasks_t *of);

ws_inbox_t *__wrap_ws_inbox_claim(ws_tasks_t *of)
{
  return claimed ? claimed : __real_ws_inbox_claim(of);
}

static void begin(void)
{
  static ws_shared_cell_t cells[2];
  memset(&tasks, 0, sizeof(tasks));
  memset(cells, 0, sizeof(cells));
  ws_shared_init(&tasks.shared, cells, 2);
  memset(inboxes, 0, sizeof(inboxes));
  tasks.inbox = inbox_of;
  tasks.workers = WORKERS;
  tasks.mask_words = 1;
  for (uint32_t i = 0; i < WORKERS; i++) {
    inbox_of[i] = &inboxes[i];
    ws_store_relaxed(&trust[i], WS_TRUST_COUNTED);
    inboxes[i].trust = &trust[i];
    inboxes[i].index = i;
  }
}

static uint32_t state_of(uint32_t worker)
{
  return (uint32_t)(ws_load_relaxed(&inboxes[worker].state) % WS_INBOX_STATES);
}

static bool hand(ws_queue_t *lane, void *arg, ws_group_t *group)
{
  const ws_task_t task = {.func = test_empty_task, .arg = arg, .group = group};
  ws_inbox_t *inbox = ws_inbox_claim(&tasks);
  return inbox && ws_inbox_fill(inbox, lane, &task);
}

static void only_a_worker_that_waits_is_handed_a_task(void)
{
  static ws_queue_t lane;
  int here, there;
  ws_task_t task;
  begin();
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks));
  CU_ASSERT_FALSE(hand(&lane, &here, NULL));
  ws_inbox_open(&tasks, &inboxes[1]);
  CU_ASSERT_TRUE(ws_inbox_is_wanted(&tasks));
  CU_ASSERT_TRUE(hand(&lane, &here, NULL));
  CU_ASSERT_FALSE(hand(&lane, &there, NULL)); // one at a time
  CU_ASSERT_TRUE(ws_inbox_is_full(&inboxes[1]));
  CU_ASSERT_EQUAL(ws_inbox_count(&tasks), 1);
  CU_ASSERT_TRUE(ws_inbox_shut(&tasks, &inboxes[1]));
  ws_inbox_empty(&inboxes[1], &task);
  CU_ASSERT_PTR_EQUAL(task.arg, &here);
  CU_ASSERT_EQUAL(state_of(1), WS_INBOX_AWAY);
}

static void a_worker_that_shuts_is_handed_nothing(void)
{
  static ws_queue_t lane;
  begin();
  ws_inbox_open(&tasks, &inboxes[0]);
  CU_ASSERT_FALSE(ws_inbox_shut(&tasks, &inboxes[0]));
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks));
  CU_ASSERT_FALSE(hand(&lane, &lane, NULL));
}

/// The thread that has taken the worker's bit gets no CPU before it writes the task.
static void a_worker_does_not_wait_for_its_filler(void)
{
  static ws_queue_t lane;
  const ws_task_t task = {.func = test_empty_task};
  begin();
  ws_inbox_open(&tasks, &inboxes[0]);
  CU_ASSERT_PTR_EQUAL(ws_inbox_claim(&tasks), &inboxes[0]);
  CU_ASSERT_FALSE(ws_inbox_shut(&tasks, &inboxes[0]));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_GIVEN_UP);
  ws_inbox_open(&tasks, &inboxes[0]); // not while that thread may still write
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_GIVEN_UP);
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks));
  CU_ASSERT_FALSE(ws_inbox_fill(&inboxes[0], &lane, &task));
  CU_ASSERT_EQUAL(ws_inbox_count(&tasks), 0);
  ws_inbox_open(&tasks, &inboxes[0]);
  CU_ASSERT_TRUE(hand(&lane, &lane, NULL));
}

/// A trace says of a task that it is pushed once.
static void a_task_that_comes_too_late_is_queued(void)
{
  const uint64_t nobody = UINT64_C(1) << 63; // a bit of no worker: a push looks for an inbox
  ws_au64_t run = {0};
  begin();
  ws_pool_t *its_pool = test_pool(1);
  ws_store_relaxed(&inboxes[0].state, WS_INBOX_GIVEN_UP);
  claimed = &inboxes[0];
  ws_or_acq_rel(&its_pool->tasks.waiting[0], nobody);
  const uint64_t pushed = ws_self()->pushed;
  test_push(its_pool, test_count_task, &run, NULL);
  CU_ASSERT_EQUAL(ws_self()->pushed, pushed + 1);
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_AWAY);
  CU_ASSERT_EQUAL(ws_pool_wait(its_pool), 0);
  CU_ASSERT_EQUAL(test_value(&run), 1);
  claimed = NULL;
  ws_and_acq_rel(&its_pool->tasks.waiting[0], ~nobody);
  test_destroy(its_pool);
}

static void a_joiner_takes_back_what_it_waits_for(void)
{
  static ws_queue_t lane;
  static ws_group_t mine, other;
  int arg;
  ws_task_t task;
  begin();
  ws_inbox_open(&tasks, &inboxes[0]);
  CU_ASSERT_TRUE(hand(&lane, &arg, &mine));
  uint32_t taken = 0;
  for (uint32_t look = 0; look < 2 * WORKERS; look++)
    taken += ws_inbox_take_back(&tasks, &lane, &other, &task);
  CU_ASSERT_EQUAL(taken, 0);
  for (uint32_t look = 0; look < 2 * WORKERS; look++)
    taken += ws_inbox_take_back(&tasks, &lane, &mine, &task);
  CU_ASSERT_EQUAL(taken, 1);
  CU_ASSERT_PTR_EQUAL(task.arg, &arg);
  CU_ASSERT_FALSE(ws_inbox_shut(&tasks, &inboxes[0]));
}

static void only_a_starved_worker_loses_its_task(void)
{
  static ws_queue_t lane;
  ws_task_t task;
  begin();
  ws_inbox_open(&tasks, &inboxes[0]);
  CU_ASSERT_TRUE(hand(&lane, &lane, NULL));
  CU_ASSERT_FALSE(ws_places_take_starved(&tasks, &task));
  CU_ASSERT_EQUAL(ws_queued(&tasks), 0);
  ws_store_relaxed(&trust[0], WS_TRUST_STARVED);
  ws_store_relaxed(&tasks.starved, 1);
  CU_ASSERT_EQUAL(ws_queued(&tasks), 1);
  CU_ASSERT_TRUE(ws_work_visible(&tasks));
  CU_ASSERT_TRUE(ws_places_take_starved(&tasks, &task));
  CU_ASSERT_FALSE(ws_places_take_starved(&tasks, &task));
  CU_ASSERT_FALSE(ws_work_visible(&tasks));
}

// All at once.
static ws_au64_t ran[PUSHERS][TASKS];
static ws_au32_t over;
static ws_group_t groups[PUSHERS];

static void *work(void *arg)
{
  ws_inbox_t *inbox = arg;
  ws_task_t task;
  for (uint32_t turn = 0; !ws_load_acquire(&over); turn++) {
    ws_inbox_open(&tasks, inbox);
    for (uint32_t i = 0; i < turn % 64 && !ws_inbox_is_full(inbox); i++)
      ws_pause();
    if (turn % 97 == 0)
      sched_yield(); // a filler may be given up
    if (!ws_inbox_shut(&tasks, inbox))
      continue;
    ws_inbox_empty(inbox, &task);
    ws_add_relaxed((ws_au64_t *)task.arg, 1);
  }
  return NULL;
}

static void *push(void *arg)
{
  static ws_queue_t lanes[PUSHERS];
  const uint32_t index = (uint32_t)(uintptr_t)arg;
  ws_queue_t *lane = &lanes[index];
  ws_task_t task;
  for (uint32_t i = 0; i < TASKS; i++) {
    if (!hand(lane, &ran[index][i], &groups[index]))
      ws_add_relaxed(&ran[index][i], 1);
    if (i % 3 == 0 && ws_inbox_take_back(&tasks, lane, &groups[index], &task))
      ws_add_relaxed((ws_au64_t *)task.arg, 1);
  }
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

static void each_task_runs_once(void)
{
  test_threads_t threads = {0}, pushers = {0};
  begin();
  for (uint32_t i = 0; i < WORKERS; i++)
    test_spawn(&threads, work, &inboxes[i]);
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
}

TEST_MAIN("inbox", TEST_CASE(only_a_worker_that_waits_is_handed_a_task),
          TEST_CASE(a_worker_that_shuts_is_handed_nothing), TEST_CASE(a_worker_does_not_wait_for_its_filler),
          TEST_CASE(a_task_that_comes_too_late_is_queued), TEST_CASE(a_joiner_takes_back_what_it_waits_for),
          TEST_CASE(only_a_starved_worker_loses_its_task), TEST_CASE(each_task_runs_once))
