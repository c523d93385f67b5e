// SPDX-License-Identifier: BSD-3-Clause
/// @file test_inbox.c
/// A task that is handed to a worker is run once, also if threads open, claim, fill, decline, shut and take
/// at the same time. A task that comes too late is pushed once (--wrap=ws_inbox_claim_next).
#include "../../../pool/ws_process.h"
#include "../../../pool/ws_types.h"
#include "../../../tasks/ws_inbox.h"
#include "../../../tasks/ws_places.h"

#include <sched.h>
#include <string.h>

#include "../../support/ws_test.h"

#define WORKERS 3u
#define MANY 70u ///< workers of a pool with two words of bits
#define PUSHERS 2u
#define TASKS (TEST_SANITIZED ? 4000u : 40000u)

static ws_tasks_t tasks;
static ws_inbox_t inboxes[MANY], *inbox_of[MANY];
static ws_au32_t trust[MANY];

/// The only inbox that a push can claim; NULL = those of workers that wait.
static ws_inbox_t *claimed;
static uint32_t claims;

ws_inbox_t *__real_ws_inbox_claim_next(ws_tasks_t *of, ws_queue_t *lane);
ws_inbox_t *__wrap_ws_inbox_claim_next(ws_tasks_t *of, ws_queue_t *lane);

ws_inbox_t *__wrap_ws_inbox_claim_next(ws_tasks_t *of, ws_queue_t *lane)
{
  if (!claimed)
    return __real_ws_inbox_claim_next(of, lane);
  return claims++ == 0 ? claimed : NULL;
}

static void begin_with(uint32_t workers, uint32_t circles)
{
  static ws_shared_cell_t cells[2];
  memset(&tasks, 0, sizeof(tasks));
  memset(cells, 0, sizeof(cells));
  ws_shared_init(&tasks.shared, cells, 2);
  memset(inboxes, 0, sizeof(inboxes));
  tasks.inbox = inbox_of;
  tasks.workers = workers;
  tasks.mask_words = (workers + 63) / 64;
  tasks.circles = circles;
  for (uint32_t i = 0; i < workers; i++) {
    inbox_of[i] = &inboxes[i];
    ws_store_relaxed(&trust[i], WS_TRUST_COUNTED);
    inboxes[i].trust = &trust[i];
    inboxes[i].index = i;
  }
}

static void begin(void)
{
  begin_with(WORKERS, 0);
}

static bool open_inbox(uint32_t worker)
{
  return ws_inbox_open(&inboxes[worker], tasks.waiting);
}

static void open_inboxes(uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    CU_ASSERT_TRUE(open_inbox(i));
}

static uint32_t state_of(uint32_t worker)
{
  return (uint32_t)(ws_load_relaxed(&inboxes[worker].state) % WS_INBOX_STATES);
}

static bool hand(ws_queue_t *lane, void *arg, ws_group_t *group)
{
  const ws_task_t task = {.func = test_empty_task, .arg = arg, .group = group};
  ws_inbox_t *inbox = ws_inbox_claim_next(&tasks, lane);
  while (inbox && !ws_inbox_fill(inbox, &task))
    inbox = ws_inbox_claim_next(&tasks, lane);
  return inbox;
}

static void only_a_worker_that_waits_is_handed_a_task(void)
{
  static ws_queue_t lane;
  int here, there;
  ws_task_t task;
  begin();
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, &lane));
  CU_ASSERT_FALSE(hand(&lane, &here, NULL));
  CU_ASSERT_TRUE(open_inbox(1));
  CU_ASSERT_TRUE(ws_inbox_is_wanted(&tasks, &lane));
  CU_ASSERT_TRUE(hand(&lane, &here, NULL));
  CU_ASSERT_FALSE(hand(&lane, &there, NULL)); // one at a time
  CU_ASSERT_TRUE(ws_inbox_is_full(&inboxes[1]));
  CU_ASSERT_EQUAL(ws_inbox_count(&tasks), 1);
  CU_ASSERT_TRUE(ws_inbox_shut(&inboxes[1]));
  ws_inbox_empty(&inboxes[1], &task);
  CU_ASSERT_PTR_EQUAL(task.arg, &here);
  CU_ASSERT_EQUAL(state_of(1), WS_INBOX_AWAY);
}

static void a_worker_that_shuts_is_handed_nothing(void)
{
  static ws_queue_t lane;
  begin();
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_FALSE(ws_inbox_shut(&inboxes[0]));
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, &lane));
  CU_ASSERT_FALSE(hand(&lane, &lane, NULL));
}

/// The thread that has taken the worker's bit gets no CPU before it writes the task.
static void a_worker_does_not_wait_for_its_filler(void)
{
  static ws_queue_t lane;
  const ws_task_t task = {.func = test_empty_task};
  begin();
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_PTR_EQUAL(ws_inbox_claim_next(&tasks, &lane), &inboxes[0]);
  CU_ASSERT_FALSE(ws_inbox_shut(&inboxes[0]));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_GIVEN_UP);
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, &lane));
  CU_ASSERT_FALSE(ws_inbox_fill(&inboxes[0], &task));
  CU_ASSERT_EQUAL(ws_inbox_count(&tasks), 0);
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(hand(&lane, &lane, NULL));
}

/// It takes workers of one word, as many as it is asked for.
static void a_claim_is_of_several_workers(void)
{
  static const uint32_t at[] = {0, 1, 5, 64, 69};
  static const struct {
    uint32_t most, word;
    uint64_t bits;
  } wanted[] = {{2, 0, 0x3}, {8, 0, 0x20}, {1, 1, 0x1}, {8, 1, 0x20}, {8, 0, 0}};
  begin_with(MANY, 0);
  for (uint32_t i = 0; i < TEST_COUNT(at); i++)
    CU_ASSERT_TRUE(open_inbox(at[i]));
  uint32_t next = 0;
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++) {
    ws_claim_t claim = ws_inbox_claim(&tasks, tasks.waiting, wanted[i].most);
    CU_ASSERT_EQUAL(claim.bits, wanted[i].bits);
    CU_ASSERT_EQUAL(claim.word, wanted[i].word);
    while (claim.bits != 0)
      CU_ASSERT_PTR_EQUAL(ws_inbox_next(&tasks, &claim), &inboxes[at[next++]]);
  }
  CU_ASSERT_EQUAL(next, TEST_COUNT(at));
}

/// @return how many workers the lane claims for its next task; it fills all of them
static uint32_t claims_next(ws_queue_t *lane)
{
  CU_ASSERT_EQUAL(lane->claim.bits, 0);
  uint32_t count = 0;
  do {
    CU_ASSERT_TRUE(hand(lane, lane, NULL));
    count++;
  } while (lane->claim.bits != 0);
  return count;
}

/// A thread outside that pushes one task takes one worker. The more it pushes, the more it takes at once.
static void claims_double_within_a_burst(void)
{
  static const uint32_t wanted[] = {1, 2, 4, 8, 16, 16};
  static ws_queue_t lane;
  begin_with(MANY, 1);
  open_inboxes(64);
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++)
    CU_ASSERT_EQUAL(claims_next(&lane), wanted[i]);
  ws_inbox_give_back(&tasks, &lane);
  CU_ASSERT_EQUAL(claims_next(&lane), 1); // the next burst
}

static void claims_of_small_pools_are_of_one_worker(void)
{
  static ws_queue_t lane;
  begin_with(MANY, 0);
  open_inboxes(8);
  for (uint32_t i = 0; i < 8; i++)
    CU_ASSERT_EQUAL(claims_next(&lane), 1);
  CU_ASSERT_FALSE(hand(&lane, &lane, NULL));
}

static void a_worker_that_is_declined_may_wait_again(void)
{
  static ws_queue_t lane;
  begin();
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(ws_inbox_is_claimed(&inboxes[0]));
  ws_claim_t claim = ws_inbox_claim(&tasks, tasks.waiting, 1);
  CU_ASSERT_FALSE(open_inbox(0)); // it waits already
  ws_inbox_decline_all(&tasks, &claim);
  CU_ASSERT_EQUAL(claim.bits, 0);
  CU_ASSERT_FALSE(ws_inbox_is_claimed(&inboxes[0]));
  CU_ASSERT_FALSE(hand(&lane, &lane, NULL));
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(hand(&lane, &lane, NULL));
  CU_ASSERT_TRUE(ws_inbox_shut(&inboxes[0]));
}

static void a_worker_that_has_given_up_is_declined(void)
{
  begin();
  CU_ASSERT_TRUE(open_inbox(0));
  ws_claim_t claim = ws_inbox_claim(&tasks, tasks.waiting, 1);
  CU_ASSERT_FALSE(ws_inbox_shut(&inboxes[0]));
  CU_ASSERT_FALSE(open_inbox(0));
  ws_inbox_decline(ws_inbox_next(&tasks, &claim));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_AWAY);
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_FALSE(ws_inbox_shut(&inboxes[0]));
}

/// The thread that has claimed it fills the inbox after all, if the worker waits in the same place again.
static void a_worker_that_has_given_up_may_wait_for_its_claimer(void)
{
  static ws_queue_t lane;
  static ws_au64_t elsewhere[1];
  begin();
  CU_ASSERT_TRUE(open_inbox(0));
  lane.claim = ws_inbox_claim(&tasks, tasks.waiting, 1);
  CU_ASSERT_FALSE(ws_inbox_shut(&inboxes[0]));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_GIVEN_UP);
  CU_ASSERT_FALSE(ws_inbox_open(&inboxes[0], elsewhere));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_GIVEN_UP);
  CU_ASSERT_FALSE(open_inbox(0));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_WAITING);
  CU_ASSERT_TRUE(hand(&lane, &lane, NULL));
  CU_ASSERT_TRUE(ws_inbox_shut(&inboxes[0]));
}

/// Its owner waits: other threads may claim the workers, those that still wait and those that have given up.
static void a_lane_gives_its_claims_back(void)
{
  static ws_queue_t lane, other;
  begin_with(WORKERS, 1);
  open_inboxes(WORKERS);
  lane.claim_next = 16;
  CU_ASSERT_TRUE(hand(&lane, &lane, NULL));
  CU_ASSERT_TRUE(ws_inbox_is_wanted(&tasks, &lane));
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, &other));
  CU_ASSERT_FALSE(ws_inbox_shut(&inboxes[1]));
  ws_inbox_give_back(&tasks, &lane);
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, &lane));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_FULL);
  for (uint32_t i = 1; i < WORKERS; i++) {
    CU_ASSERT_EQUAL(state_of(i), WS_INBOX_AWAY);
    CU_ASSERT_TRUE(open_inbox(i));
    CU_ASSERT_TRUE(hand(&other, &other, NULL));
  }
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
  CU_ASSERT_EQUAL(claims, 2);
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
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(hand(&lane, &arg, &mine));
  uint32_t taken = 0;
  for (uint32_t look = 0; look < 2 * WORKERS; look++)
    taken += ws_inbox_take_back(&tasks, &lane, &other, &task);
  CU_ASSERT_EQUAL(taken, 0);
  for (uint32_t look = 0; look < 2 * WORKERS; look++)
    taken += ws_inbox_take_back(&tasks, &lane, &mine, &task);
  CU_ASSERT_EQUAL(taken, 1);
  CU_ASSERT_PTR_EQUAL(task.arg, &arg);
  CU_ASSERT_FALSE(ws_inbox_shut(&inboxes[0]));
}

static void only_a_starved_worker_loses_its_task(void)
{
  static ws_queue_t lane;
  ws_task_t task;
  begin();
  CU_ASSERT_TRUE(open_inbox(0));
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
    ws_inbox_open(inbox, tasks.waiting);
    for (uint32_t i = 0; i < turn % 64 && !ws_inbox_is_full(inbox); i++)
      ws_pause();
    if (turn % 97 == 0)
      sched_yield(); // a filler may be given up
    if (!ws_inbox_shut(inbox))
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
    if (i % 16 == 0)
      ws_inbox_give_back(&tasks, lane); // it may have claimed all of them
  }
  ws_inbox_give_back(&tasks, lane);
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
  begin_with(WORKERS, 1);
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
  for (uint32_t i = 0; i < WORKERS; i++)
    CU_ASSERT_EQUAL(state_of(i), WS_INBOX_AWAY);
}

TEST_MAIN("inbox", TEST_CASE(only_a_worker_that_waits_is_handed_a_task),
          TEST_CASE(a_worker_that_shuts_is_handed_nothing), TEST_CASE(a_worker_does_not_wait_for_its_filler),
          TEST_CASE(a_claim_is_of_several_workers), TEST_CASE(claims_double_within_a_burst),
          TEST_CASE(claims_of_small_pools_are_of_one_worker),
          TEST_CASE(a_worker_that_is_declined_may_wait_again),
          TEST_CASE(a_worker_that_has_given_up_is_declined),
          TEST_CASE(a_worker_that_has_given_up_may_wait_for_its_claimer),
          TEST_CASE(a_lane_gives_its_claims_back), TEST_CASE(a_task_that_comes_too_late_is_queued),
          TEST_CASE(a_joiner_takes_back_what_it_waits_for), TEST_CASE(only_a_starved_worker_loses_its_task),
          TEST_CASE(each_task_runs_once))
