// SPDX-License-Identifier: BSD-3-Clause
/// @file test_inbox.c
/// A task is handed to a worker that waits. The worker leaves, comes back, or gets no CPU. Single steps of
/// two threads: test_inbox_steps.c. All at once: test_inbox_race.c.
#include "../../../tasks/ws_places.h"
#include "inbox_scene.h"

static ws_queue_t *const lane = &lanes[0], *const other_lane = &lanes[1];

static void begin(bool light)
{
  begin_with(WORKERS, 0, light);
}

/// The kernel may have heavy fences or not: a case runs with both kinds of light fences.
static void with_both_fences(void (*run)(void))
{
  begin(false);
  run();
  begin(true);
  run();
}

#define BOTH(name)                                                                                           \
  static void name(void)                                                                                     \
  {                                                                                                          \
    with_both_fences(name##_once);                                                                           \
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

static bool shut(uint32_t worker)
{
  return ws_inbox_shut(&tasks, &inboxes[worker]);
}

static bool has_gone(uint32_t worker)
{
  return ws_inbox_has_gone(&inboxes[worker]);
}

/// @return the argument of the task that the worker has to run
static void *emptied(uint32_t worker)
{
  ws_task_t task;
  CU_ASSERT_EQUAL(state_of(worker), WS_INBOX_KEPT);
  ws_inbox_empty(&inboxes[worker], &task);
  CU_ASSERT_EQUAL(state_of(worker), WS_INBOX_AWAY);
  return task.arg;
}

static void claim(ws_queue_t *by)
{
  by->claim = ws_inbox_claim(&tasks, tasks.waiting, 1);
  CU_ASSERT_NOT_EQUAL(by->claim.bits, 0);
}

static void only_a_worker_that_waits_is_handed_a_task_once(void)
{
  int here, there;
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, lane));
  CU_ASSERT_FALSE(hand(lane, &here, NULL));
  CU_ASSERT_TRUE(open_inbox(1));
  CU_ASSERT_TRUE(ws_inbox_is_wanted(&tasks, lane));
  CU_ASSERT_TRUE(hand(lane, &here, NULL));
  CU_ASSERT_FALSE(hand(lane, &there, NULL)); // one at a time
  CU_ASSERT_TRUE(ws_inbox_is_full(&inboxes[1]));
  CU_ASSERT_EQUAL(ws_inbox_count(&tasks), 1);
  CU_ASSERT_TRUE(shut(1));
  CU_ASSERT_EQUAL(ws_inbox_count(&tasks), 0);
  CU_ASSERT_PTR_EQUAL(emptied(1), &here);
  CU_ASSERT_FALSE(has_gone(1));
  CU_ASSERT_EQUAL(ws_load_relaxed(&tasks.left), 0);
}
BOTH(only_a_worker_that_waits_is_handed_a_task)

static void a_worker_that_shuts_is_handed_nothing_once(void)
{
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(inboxes[0].open);
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_FALSE(inboxes[0].open);
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_AWAY);
  CU_ASSERT_FALSE(has_gone(0)); // no thread had claimed it
  CU_ASSERT_EQUAL(ws_load_relaxed(&tasks.left), 0);
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, lane));
  CU_ASSERT_FALSE(hand(lane, lane, NULL));
}
BOTH(a_worker_that_shuts_is_handed_nothing)

/// The thread that has claimed the worker gets no CPU before it gives the task.
static void a_worker_does_not_wait_for_its_claimer_once(void)
{
  int arg;
  CU_ASSERT_TRUE(open_inbox(0));
  claim(lane);
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_TRUE(has_gone(0));
  CU_ASSERT_EQUAL(ws_load_relaxed(&tasks.left), 1);
  CU_ASSERT_TRUE(ws_inbox_is_claimed(&inboxes[0]));
  CU_ASSERT_FALSE(give(lane, &arg, NULL));
  CU_ASSERT_EQUAL(lane->claim.bits, 0);
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_AWAY);
  CU_ASSERT_PTR_NULL(inboxes[0].task.func); // the claimer has written no task
  CU_ASSERT_TRUE(has_gone(0));
  CU_ASSERT_FALSE(ws_inbox_look(&inboxes[0]));
  CU_ASSERT_FALSE(has_gone(0));
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(hand(lane, &arg, NULL));
  CU_ASSERT_TRUE(shut(0));
}
BOTH(a_worker_does_not_wait_for_its_claimer)

/// The count of those that have left is of all workers.
static void that_another_worker_has_left_keeps_no_task_back_once(void)
{
  int arg;
  open_inboxes(2);
  lane->claim = ws_inbox_claim(&tasks, tasks.waiting, 2);
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_FALSE(give(lane, &arg, NULL));
  CU_ASSERT_TRUE(give(lane, &arg, NULL));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_AWAY);
  CU_ASSERT_EQUAL(state_of(1), WS_INBOX_FULL);
  CU_ASSERT_TRUE(shut(1));
}
BOTH(that_another_worker_has_left_keeps_no_task_back)

static void a_worker_that_leaves_takes_what_it_was_given_once(void)
{
  int arg;
  CU_ASSERT_TRUE(open_inbox(0));
  claim(lane);
  CU_ASSERT_TRUE(give(lane, &arg, NULL));
  CU_ASSERT_TRUE(shut(0));
  CU_ASSERT_FALSE(has_gone(0));
  CU_ASSERT_FALSE(ws_inbox_look(&inboxes[0])); // it has it already
  CU_ASSERT_PTR_EQUAL(emptied(0), &arg);
}
BOTH(a_worker_that_leaves_takes_what_it_was_given)

/// The fill becomes visible after the worker's last look: the worker finds it at its next search.
static void a_worker_that_has_left_finds_a_late_task_once(void)
{
  int arg;
  CU_ASSERT_TRUE(open_inbox(0));
  claim(lane);
  CU_ASSERT_FALSE(shut(0));
  ws_store_relaxed(&inboxes[0].gone, 0); // not visible to the claimer yet
  CU_ASSERT_TRUE(give(lane, &arg, NULL));
  ws_store_relaxed(&inboxes[0].gone, 1);
  CU_ASSERT_FALSE(open_inbox(0)); // it holds a task
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_FULL);
  ws_store_relaxed(&inboxes[0].gone, 1);
  CU_ASSERT_TRUE(ws_inbox_look(&inboxes[0]));
  CU_ASSERT_FALSE(has_gone(0));
  CU_ASSERT_PTR_EQUAL(emptied(0), &arg);
}
BOTH(a_worker_that_has_left_finds_a_late_task)

/// The thread that has claimed it fills the inbox after all, if the worker waits in the same place again.
static void a_worker_may_come_back_to_its_claimer_once(void)
{
  int arg;
  CU_ASSERT_TRUE(open_inbox(0));
  claim(lane);
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_FALSE(inboxes[0].open);
  CU_ASSERT_FALSE(open_inbox(0)); // it is open since then
  CU_ASSERT_FALSE(has_gone(0));
  CU_ASSERT_TRUE(inboxes[0].open);
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_WAITING);
  CU_ASSERT_EQUAL(ws_load_relaxed(&tasks.waiting[0]), 0); // one claim
  CU_ASSERT_TRUE(give(lane, &arg, NULL));
  CU_ASSERT_TRUE(shut(0));
  CU_ASSERT_PTR_EQUAL(emptied(0), &arg);
}
BOTH(a_worker_may_come_back_to_its_claimer)

static void a_worker_that_waits_elsewhere_gets_no_task_from_its_claimer_once(void)
{
  int arg;
  CU_ASSERT_TRUE(open_inbox(0));
  claim(lane);
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_FALSE(ws_inbox_open(&inboxes[0], elsewhere));
  CU_ASSERT_TRUE(has_gone(0));
  CU_ASSERT_FALSE(inboxes[0].open);
  CU_ASSERT_EQUAL(ws_load_relaxed(&elsewhere[0]), 0);
  CU_ASSERT_FALSE(give(lane, &arg, NULL));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_AWAY);
  CU_ASSERT_TRUE(ws_inbox_open(&inboxes[0], elsewhere)); // without a look before
  CU_ASSERT_FALSE(has_gone(0));
  CU_ASSERT_TRUE(inboxes[0].open);
  CU_ASSERT_EQUAL(ws_load_relaxed(&elsewhere[0]), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&tasks.waiting[0]), 0);
  CU_ASSERT_FALSE(hand(lane, &arg, NULL));
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_EQUAL(ws_load_relaxed(&elsewhere[0]), 0);
}
BOTH(a_worker_that_waits_elsewhere_gets_no_task_from_its_claimer)

static void a_look_is_of_the_state(void)
{
  static const struct {
    uint32_t state, state_then;
    bool found, gone_then;
  } wanted[] = {{WS_INBOX_AWAY, WS_INBOX_AWAY, false, false},
                {WS_INBOX_WAITING, WS_INBOX_WAITING, false, true},
                {WS_INBOX_FULL, WS_INBOX_KEPT, true, false},
                {WS_INBOX_TAKEN, WS_INBOX_TAKEN, false, true}};
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++) {
    begin(false);
    ws_store_relaxed(&inboxes[0].state, 5 * WS_INBOX_STATES + wanted[i].state);
    ws_store_relaxed(&inboxes[0].gone, 1);
    CU_ASSERT_EQUAL(ws_inbox_look(&inboxes[0]), wanted[i].found);
    CU_ASSERT_EQUAL(ws_load_relaxed(&inboxes[0].state), 5 * WS_INBOX_STATES + wanted[i].state_then);
    CU_ASSERT_EQUAL(has_gone(0), wanted[i].gone_then);
  }
}

/// It takes workers of one word, as many as it is asked for.
static void a_claim_is_of_several_workers(void)
{
  static const uint32_t at[] = {0, 1, 5, 64, 69};
  static const struct {
    uint32_t most, word;
    uint64_t bits;
  } wanted[] = {{2, 0, 0x3}, {8, 0, 0x20}, {1, 1, 0x1}, {8, 1, 0x20}, {8, 0, 0}};
  begin_with(MANY, 0, true);
  ws_store_relaxed(&tasks.left, 7);
  for (uint32_t i = 0; i < TEST_COUNT(at); i++)
    CU_ASSERT_TRUE(open_inbox(at[i]));
  uint32_t next = 0;
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++) {
    lane->claim = ws_inbox_claim(&tasks, tasks.waiting, wanted[i].most);
    CU_ASSERT_EQUAL(lane->claim.bits, wanted[i].bits);
    CU_ASSERT_EQUAL(lane->claim.word, wanted[i].word);
    CU_ASSERT_EQUAL(lane->claim.left, wanted[i].bits ? 7 : 0);
    for (; lane->claim.bits != 0; next++) {
      CU_ASSERT_TRUE(give(lane, lane, NULL));
      CU_ASSERT_EQUAL(state_of(at[next]), WS_INBOX_FULL);
    }
  }
  CU_ASSERT_EQUAL(next, TEST_COUNT(at));
}

/// @return how many workers the lane claims for its next task; it fills all of them
static uint32_t claims_next(void)
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
  begin_with(MANY, 1, true);
  open_inboxes(64);
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++)
    CU_ASSERT_EQUAL(claims_next(), wanted[i]);
  ws_inbox_give_back(&tasks, lane);
  CU_ASSERT_EQUAL(claims_next(), 1); // the next burst
}

static void claims_of_small_pools_are_of_one_worker(void)
{
  begin_with(MANY, 0, true);
  open_inboxes(8);
  for (uint32_t i = 0; i < 8; i++)
    CU_ASSERT_EQUAL(claims_next(), 1);
  CU_ASSERT_FALSE(hand(lane, lane, NULL));
}

static void a_claim_is_used_up_before_the_next(void)
{
  begin_with(MANY, 1, true);
  open_inboxes(4);
  lane->claim_next = 3;
  CU_ASSERT_TRUE(ws_inbox_claim_more(&tasks, lane));
  CU_ASSERT_TRUE(ws_inbox_claim_more(&tasks, lane));
  CU_ASSERT_EQUAL(lane->claim.bits, 0x7);
  CU_ASSERT_EQUAL(lane->claim_next, 6);
  ws_inbox_give_back(&tasks, lane);
  CU_ASSERT_EQUAL(lane->claim_next, 0);
  CU_ASSERT_TRUE(ws_inbox_claim_more(&tasks, lane));
  CU_ASSERT_EQUAL(lane->claim.bits, 0x8);
  ws_inbox_give_back(&tasks, lane);
  CU_ASSERT_FALSE(ws_inbox_claim_more(&tasks, lane)); // no worker waits
}

static void a_worker_that_is_declined_may_wait_again_once(void)
{
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(ws_inbox_is_claimed(&inboxes[0]));
  claim(lane);
  CU_ASSERT_FALSE(open_inbox(0)); // it waits already
  ws_inbox_decline(&tasks, lane, &lane->claim);
  CU_ASSERT_EQUAL(lane->claim.bits, 0);
  CU_ASSERT_FALSE(ws_inbox_is_claimed(&inboxes[0]));
  CU_ASSERT_FALSE(hand(lane, lane, NULL));
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(hand(lane, lane, NULL));
  CU_ASSERT_TRUE(shut(0));
}
BOTH(a_worker_that_is_declined_may_wait_again)

static void a_worker_that_has_left_is_declined_once(void)
{
  CU_ASSERT_TRUE(open_inbox(0));
  claim(lane);
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_FALSE(open_inbox(0));
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_EQUAL(ws_load_relaxed(&tasks.left), 2);
  ws_inbox_decline(&tasks, lane, &lane->claim);
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_AWAY);
  CU_ASSERT_FALSE(ws_inbox_look(&inboxes[0]));
  CU_ASSERT_FALSE(has_gone(0));
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_FALSE(shut(0));
  CU_ASSERT_EQUAL(ws_load_relaxed(&tasks.left), 2);
}
BOTH(a_worker_that_has_left_is_declined)

/// Its owner waits: other threads may claim the workers, those that still wait and those that have left.
static void a_lane_gives_its_claims_back(void)
{
  begin_with(WORKERS, 1, true);
  open_inboxes(WORKERS);
  lane->claim_next = 16;
  CU_ASSERT_TRUE(hand(lane, lane, NULL));
  CU_ASSERT_TRUE(ws_inbox_is_wanted(&tasks, lane));
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, other_lane));
  CU_ASSERT_FALSE(shut(1));
  ws_inbox_give_back(&tasks, lane);
  CU_ASSERT_EQUAL(lane->claim_next, 0);
  CU_ASSERT_FALSE(ws_inbox_is_wanted(&tasks, lane));
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_FULL);
  for (uint32_t i = 1; i < WORKERS; i++) {
    CU_ASSERT_EQUAL(state_of(i), WS_INBOX_AWAY);
    CU_ASSERT_TRUE(open_inbox(i));
    CU_ASSERT_TRUE(hand(other_lane, other_lane, NULL));
  }
}

static void a_joiner_takes_back_what_it_waits_for_once(void)
{
  static ws_group_t mine, other;
  int arg;
  ws_task_t task;
  CU_ASSERT_TRUE(open_inbox(1));
  CU_ASSERT_TRUE(hand(lane, &arg, &mine));
  uint32_t taken = 0;
  for (uint32_t look = 0; look < 2 * WORKERS; look++)
    taken += ws_inbox_take_back(&tasks, lane, &other, &task);
  CU_ASSERT_EQUAL(taken, 0);
  lane->looked_at = 0;
  CU_ASSERT_FALSE(ws_inbox_take_back(&tasks, lane, &mine, &task)); // one worker at a look
  CU_ASSERT_TRUE(ws_inbox_take_back(&tasks, lane, &mine, &task));
  CU_ASSERT_PTR_EQUAL(task.arg, &arg);
  CU_ASSERT_EQUAL(state_of(1), WS_INBOX_AWAY);
  for (uint32_t look = 0; look < 2 * WORKERS; look++)
    taken += ws_inbox_take_back(&tasks, lane, &mine, &task);
  CU_ASSERT_EQUAL(taken, 0);
  CU_ASSERT_FALSE(shut(1));
  CU_ASSERT_FALSE(has_gone(1));
}
BOTH(a_joiner_takes_back_what_it_waits_for)

/// Of a pool that has stopped: from all inboxes that hold a task.
static void what_lies_in_any_inbox_is_taken_once(void)
{
  int arg[WORKERS] = {0};
  ws_task_t task;
  CU_ASSERT_FALSE(ws_inbox_take_any(&tasks, &task));
  open_inboxes(WORKERS);
  for (uint32_t i = 0; i < WORKERS; i++)
    CU_ASSERT_TRUE(hand(lane, &arg[i], NULL));
  CU_ASSERT_TRUE(shut(1)); // it has begun its task
  for (uint32_t i = 0; i < WORKERS; i += 2) {
    CU_ASSERT_TRUE(ws_inbox_take_any(&tasks, &task));
    CU_ASSERT_PTR_EQUAL(task.arg, &arg[i]);
    CU_ASSERT_EQUAL(state_of(i), WS_INBOX_AWAY);
  }
  CU_ASSERT_FALSE(ws_inbox_take_any(&tasks, &task));
  CU_ASSERT_PTR_EQUAL(emptied(1), &arg[1]);
}
BOTH(what_lies_in_any_inbox_is_taken)

/// @return tasks that the guard has found stuck at this look
static uint32_t guard_looks(void)
{
  CU_ASSERT_EQUAL(ws_inbox_watch(&tasks), ws_inbox_count(&tasks));
  return ws_load_relaxed(&tasks.stuck);
}

static void a_task_is_stuck_at_the_second_look_once(void)
{
  int arg;
  ws_task_t task;
  open_inboxes(2);
  CU_ASSERT_EQUAL(guard_looks(), 0);
  CU_ASSERT_TRUE(hand(lane, &arg, NULL));
  CU_ASSERT_EQUAL(guard_looks(), 0);
  CU_ASSERT_FALSE(ws_inbox_is_stuck(&inboxes[0]));
  CU_ASSERT_FALSE(ws_places_take_stuck(&tasks, &task));
  CU_ASSERT_EQUAL(ws_queued(&tasks), 0);
  CU_ASSERT_FALSE(ws_work_visible(&tasks));
  CU_ASSERT_EQUAL(guard_looks(), 1);
  CU_ASSERT_TRUE(ws_inbox_is_stuck(&inboxes[0]));
  CU_ASSERT_FALSE(ws_inbox_is_stuck(&inboxes[1]));
  CU_ASSERT_EQUAL(ws_queued(&tasks), 1);
  CU_ASSERT_TRUE(ws_work_visible(&tasks));
  CU_ASSERT_TRUE(ws_places_take_stuck(&tasks, &task));
  CU_ASSERT_PTR_EQUAL(task.arg, &arg);
  CU_ASSERT_EQUAL(state_of(0), WS_INBOX_AWAY);
  CU_ASSERT_FALSE(ws_places_take_stuck(&tasks, &task));
  CU_ASSERT_FALSE(ws_work_visible(&tasks));
  CU_ASSERT_EQUAL(guard_looks(), 0);
  CU_ASSERT_FALSE(shut(0)); // the worker has a CPU again
}
BOTH(a_task_is_stuck_at_the_second_look)

/// The worker has taken a task between the two looks, and got another one.
static void a_task_that_has_come_since_is_not_stuck_once(void)
{
  int arg[3] = {0};
  ws_task_t task;
  for (uint32_t i = 0; i < 2; i++) {
    CU_ASSERT_TRUE(open_inbox(0));
    CU_ASSERT_TRUE(hand(i ? other_lane : lane, &arg[i], NULL));
    CU_ASSERT_EQUAL(guard_looks(), 0);
    CU_ASSERT_TRUE(shut(0));
    CU_ASSERT_PTR_EQUAL(emptied(0), &arg[i]);
  }
  CU_ASSERT_EQUAL(guard_looks(), 0); // a look at which it is empty
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(hand(lane, &arg[1], NULL));
  CU_ASSERT_EQUAL(guard_looks(), 0);
  CU_ASSERT_EQUAL(guard_looks(), 1);
  CU_ASSERT_TRUE(shut(0)); // after all
  CU_ASSERT_FALSE(ws_places_take_stuck(&tasks, &task));
  CU_ASSERT_PTR_EQUAL(emptied(0), &arg[1]);
  CU_ASSERT_TRUE(open_inbox(0));
  CU_ASSERT_TRUE(hand(lane, &arg[2], NULL));
  CU_ASSERT_FALSE(ws_inbox_is_stuck(&inboxes[0])); // the mark is of the task before
  CU_ASSERT_FALSE(ws_places_take_stuck(&tasks, &task));
  CU_ASSERT_TRUE(shut(0));
}
BOTH(a_task_that_has_come_since_is_not_stuck)

/// Taken off by two threads whose counts of fills are alike, and by each of them again and again.
static void no_two_fills_have_the_same_word(void)
{
  enum { FILLS = 24 };
  uint64_t words[FILLS];
  begin(true);
  for (uint32_t i = 0; i < FILLS; i++) {
    ws_queue_t *by = &lanes[i % 2];
    CU_ASSERT_TRUE(open_inbox(0));
    claim(by);
    if (i % 6 >= 4) {
      ws_inbox_decline(&tasks, by, &by->claim);
      words[i] = ws_load_relaxed(&inboxes[0].state);
      continue;
    }
    CU_ASSERT_TRUE(give(by, by, NULL));
    words[i] = ws_load_relaxed(&inboxes[0].state);
    CU_ASSERT_TRUE(shut(0));
    CU_ASSERT_EQUAL(ws_load_relaxed(&inboxes[0].state) / WS_INBOX_STATES, words[i] / WS_INBOX_STATES);
    CU_ASSERT_PTR_EQUAL(emptied(0), by);
  }
  uint32_t alike = 0;
  for (uint32_t i = 0; i < FILLS; i++)
    for (uint32_t k = 0; k < i; k++)
      alike += words[i] / WS_INBOX_STATES == words[k] / WS_INBOX_STATES;
  CU_ASSERT_EQUAL(alike, 0);
}

TEST_MAIN("inbox", TEST_CASE(only_a_worker_that_waits_is_handed_a_task),
          TEST_CASE(a_worker_that_shuts_is_handed_nothing), TEST_CASE(a_worker_does_not_wait_for_its_claimer),
          TEST_CASE(that_another_worker_has_left_keeps_no_task_back),
          TEST_CASE(a_worker_that_leaves_takes_what_it_was_given),
          TEST_CASE(a_worker_that_has_left_finds_a_late_task),
          TEST_CASE(a_worker_may_come_back_to_its_claimer),
          TEST_CASE(a_worker_that_waits_elsewhere_gets_no_task_from_its_claimer),
          TEST_CASE(a_look_is_of_the_state), TEST_CASE(a_claim_is_of_several_workers),
          TEST_CASE(claims_double_within_a_burst), TEST_CASE(claims_of_small_pools_are_of_one_worker),
          TEST_CASE(a_claim_is_used_up_before_the_next), TEST_CASE(a_worker_that_is_declined_may_wait_again),
          TEST_CASE(a_worker_that_has_left_is_declined), TEST_CASE(a_lane_gives_its_claims_back),
          TEST_CASE(a_joiner_takes_back_what_it_waits_for), TEST_CASE(what_lies_in_any_inbox_is_taken),
          TEST_CASE(a_task_is_stuck_at_the_second_look), TEST_CASE(a_task_that_has_come_since_is_not_stuck),
          TEST_CASE(no_two_fills_have_the_same_word))
