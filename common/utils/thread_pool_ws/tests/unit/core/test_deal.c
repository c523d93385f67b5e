// SPDX-License-Identifier: BSD-3-Clause
/// @file test_deal.c
/// Workers that want tasks of one lane: one deals, the others wait in their inboxes (ws_deal.h). One thread
/// plays all of them. What happens where a worker opens or shuts its inbox, or is given a task, is the test's
/// (--wrap=ws_inbox_open, ws_inbox_shut, ws_inbox_give), and so is the clock (--wrap=ws_os_now_ns). A pool of
/// few workers has dealers, too (--wrap=ws_deal_circles). Pre-wake learns nothing (--wrap=ws_spin_found).
#include "../../../core/ws_deal.h"

#include <string.h>

#include "../../../core/ws_root.h"
#include "../../../prewake/ws_prewake_state.h"
#include "../../../sleep/ws_wake.h"
#include "../../../tasks/ws_inbox.h"
#include "../../../tasks/ws_places.h"
#include "../../../tasks/ws_queue.h"
#include "../../support/ws_test.h"

#define WORKERS 5u
#define CIRCLES 2u
#define TASKS 8u
#define LANE WORKERS
/// The time of a tiny task.
#define TINY_NS 1000u
/// That passes between two looks at the clock.
#define LOOK_NS 1000u
/// Looks at the clock of a worker that waits for a dealer, until it completes what it has run.
#define HELD_LOOKS 8u
/// A dealer wants room for as many tasks as it takes at once.
#define OWN_CELLS 16u

static struct ws_pool_s pool;
static ws_worker_t workers[WORKERS];
static ws_prewake_worker_t prewakes[WORKERS];
static ws_queue_t lane, *queue_of[WORKERS + 1];
static ws_inbox_t *inbox_of[WORKERS];
static ws_worker_t *worker_of[WORKERS];
static ws_circle_t circles[CIRCLES];
static char arg[TASKS]; ///< tasks are told apart by these addresses
static ws_group_t group;

/// What happens at a step; each of them is counted.
static struct {
  uint64_t now_ns, look_ns;
  bool is_fake; ///< else the program runs a pool
  uint32_t opens, gives, looks;
  void (*opened)(void), (*shuts)(void), (*gives_next)(void), (*looked)(void);
} steps;

uint64_t __real_ws_os_now_ns(void);
uint64_t __wrap_ws_os_now_ns(void);
uint32_t __real_ws_deal_circles(uint32_t count);
uint32_t __wrap_ws_deal_circles(uint32_t count);
void __real_ws_spin_found(ws_worker_t *worker);
void __wrap_ws_spin_found(ws_worker_t *worker);
bool __real_ws_inbox_open(ws_inbox_t *inbox, ws_au64_t *mask);
bool __wrap_ws_inbox_open(ws_inbox_t *inbox, ws_au64_t *mask);
bool __real_ws_inbox_shut(ws_tasks_t *tasks, ws_inbox_t *inbox);
bool __wrap_ws_inbox_shut(ws_tasks_t *tasks, ws_inbox_t *inbox);
bool __real_ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_claim_t *claim, const ws_task_t *task);
bool __wrap_ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_claim_t *claim, const ws_task_t *task);

static void happen(void (*step)(void))
{
  if (steps.is_fake && step)
    step();
}

uint64_t __wrap_ws_os_now_ns(void)
{
  happen(steps.looked);
  return steps.is_fake ? steps.now_ns += steps.look_ns : __real_ws_os_now_ns();
}

uint32_t __wrap_ws_deal_circles(uint32_t count)
{
  (void)count;
  return CIRCLES;
}

void __wrap_ws_spin_found(ws_worker_t *worker)
{
  if (!steps.is_fake)
    __real_ws_spin_found(worker);
}

bool __wrap_ws_inbox_open(ws_inbox_t *inbox, ws_au64_t *mask)
{
  const bool opened = __real_ws_inbox_open(inbox, mask);
  if (steps.is_fake)
    steps.opens++;
  happen(steps.opened);
  return opened;
}

bool __wrap_ws_inbox_shut(ws_tasks_t *tasks, ws_inbox_t *inbox)
{
  happen(steps.shuts);
  return __real_ws_inbox_shut(tasks, inbox);
}

bool __wrap_ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_claim_t *claim, const ws_task_t *task)
{
  if (steps.is_fake)
    steps.gives++;
  happen(steps.gives_next);
  return __real_ws_inbox_give(tasks, own, claim, task);
}

static void begin_lane(uint32_t tasks)
{
  static ws_cell_t cells[TASKS], own_cells[WORKERS][OWN_CELLS];
  ws_queue_init(&lane, cells, TASKS);
  ws_tasks_put(&pool.tasks, &lane, LANE);
  for (uint32_t i = 0; i < WORKERS; i++)
    ws_queue_init(&workers[i].queue, own_cells[i], OWN_CELLS);
  for (uint32_t i = 0; i < tasks; i++)
    ws_queue_push(&lane, &(ws_task_t){.func = test_empty_task, .arg = &arg[i], .group = &group}, 1);
}

/// A pool of workers that have one cache and one circle, and a lane with tasks. All tasks are of the group.
static void begin(uint32_t tasks)
{
  memset(&pool, 0, sizeof(pool));
  memset(workers, 0, sizeof(workers));
  memset(prewakes, 0, sizeof(prewakes));
  memset(&lane, 0, sizeof(lane));
  memset(circles, 0, sizeof(circles));
  memset(&steps, 0, sizeof(steps));
  steps.is_fake = true;
  steps.now_ns = 1000000000;
  steps.look_ns = LOOK_NS;
  ws_group_init(&group, TASKS);
  pool.workers = pool.tasks.workers = WORKERS;
  pool.tasks.mask_words = 1;
  pool.tasks.queue = queue_of;
  ws_store_relaxed(&pool.tasks.queues, WORKERS + 1);
  pool.tasks.inbox = inbox_of;
  pool.tasks.circle = circles;
  pool.tasks.circles = 1;
  pool.worker = worker_of;
  for (uint32_t i = 0; i < WORKERS; i++) {
    ws_tasks_put(&pool.tasks, &workers[i].queue, i);
    inbox_of[i] = &workers[i].inbox;
    worker_of[i] = &workers[i];
    workers[i].pool = &pool;
    workers[i].prewake = &prewakes[i];
    workers[i].index = workers[i].inbox.index = i;
    workers[i].cpu = -1;
  }
  begin_lane(tasks);
}

static ws_here_t here_of(uint32_t worker)
{
  return (ws_here_t){.queue = &workers[worker].queue, .worker = &workers[worker]};
}

static void waits(uint32_t worker, uint32_t circle)
{
  CU_ASSERT_TRUE(__real_ws_inbox_open(&workers[worker].inbox, circles[circle].mask));
}

static bool still_waits(uint32_t worker)
{
  return ws_load_relaxed(&workers[worker].inbox.mask[0]) >> worker & 1;
}

/// @return the number of the task that the worker takes from its inbox; -1 = none
static int handed(uint32_t worker)
{
  ws_task_t task;
  if (!__real_ws_inbox_shut(&pool.tasks, &workers[worker].inbox))
    return -1;
  ws_inbox_empty(&workers[worker].inbox, &task);
  return (int)((char *)task.arg - arg);
}

/// @return the number of the task that the worker gets when it wants one of the lane; -1 = none
static int gets(uint32_t worker)
{
  ws_task_t task;
  if (!ws_deal(&pool, here_of(worker), LANE, &task))
    return -1;
  return (int)((char *)task.arg - arg);
}

static bool is_away(uint32_t worker)
{
  return ws_load_relaxed(&workers[worker].inbox.state) % WS_INBOX_STATES == WS_INBOX_AWAY;
}

static void small_pools_have_no_circles(void)
{
  static const uint32_t wanted[][2] = {{0, 0}, {1, 0}, {15, 0}, {16, 2}, {17, 3}, {24, 3}, {40, 5}};
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++)
    CU_ASSERT_EQUAL(__real_ws_deal_circles(wanted[i][0]), wanted[i][1]);
  CU_ASSERT_EQUAL(__real_ws_deal_circles(128), 16);
  CU_ASSERT_EQUAL(__real_ws_deal_circles(WS_WORKERS_MAX), 16);
}

static void only_a_worker_without_tasks_deals_a_lane(void)
{
  begin(1);
  CU_ASSERT_TRUE(ws_deal_serves(&pool, here_of(0), LANE));
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(0), LANE - 1)); // a worker's queue
  CU_ASSERT_FALSE(ws_deal_serves(&pool, (ws_here_t){.queue = &lane}, LANE)); // a thread outside
  workers[0].shy_ns = 1;
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(0), LANE));
  workers[0].shy_ns = 0;
  ws_queue_push(&workers[0].queue, &(ws_task_t){.func = test_empty_task}, 1);
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(0), LANE));
  CU_ASSERT_TRUE(ws_deal_serves(&pool, here_of(1), LANE));
  ws_store_relaxed(&pool.tasks.kinds_used, 1); // a task of high priority would have to wait
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(1), LANE));
  ws_store_relaxed(&pool.tasks.kinds_used, 0);
  pool.tasks.circles = 0;
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(1), LANE));
}

static void the_oldest_tasks_go_to_those_that_wait(void)
{
  begin(5);
  for (uint32_t i = 1; i < 4; i++)
    waits(i, 0);
  CU_ASSERT_EQUAL(gets(0), 3);
  for (int i = 1; i < 4; i++)
    CU_ASSERT_EQUAL(handed((uint32_t)i), i - 1);
  CU_ASSERT_EQUAL(ws_queue_size(&lane), 1);
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
  CU_ASSERT_TRUE(workers[0].was_handed);
}

/// A dealer claims fewer workers than there are tasks.
static void a_dealer_has_a_task_left_for_itself(void)
{
  begin(2);
  for (uint32_t i = 1; i < 4; i++)
    waits(i, 0);
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(handed(1), 0);
  CU_ASSERT_TRUE(still_waits(2));
  CU_ASSERT_TRUE(still_waits(3));
  CU_ASSERT_EQUAL(gets(4), -1); // the lane is empty
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
}

static void circles_are_served_from_the_own_one_on(void)
{
  begin(4);
  pool.tasks.circles = pool.caches = 2;
  for (uint32_t i = 0; i < WORKERS; i++)
    workers[i].cache = 1 + i % 2;
  waits(0, 0);
  waits(1, 1);
  waits(2, 0);
  CU_ASSERT_EQUAL(gets(3), 3);
  CU_ASSERT_EQUAL(handed(1), 0); // of its cache
  CU_ASSERT_EQUAL(handed(0), 1);
  CU_ASSERT_EQUAL(handed(2), 2);
}

static void in_a_pause_no_task_is_handed_out(void)
{
  begin(5);
  waits(1, 0);
  ws_store_relaxed(&pool.tasks.paused, WS_PAUSE_YES);
  CU_ASSERT_EQUAL(gets(0), -1);
  ws_store_relaxed(&lane.dealt, 1);
  CU_ASSERT_EQUAL(gets(2), -1);
  CU_ASSERT_EQUAL(steps.gives, 0);
  CU_ASSERT_TRUE(still_waits(1));
}

/// The first claimed worker is given a task: worker 1 leaves.
static void worker_1_leaves(void)
{
  if (steps.gives == 1)
    CU_ASSERT_FALSE(__real_ws_inbox_shut(&pool.tasks, &workers[1].inbox));
}

static void the_task_of_a_worker_that_has_left_is_the_dealers(void)
{
  begin(5);
  waits(1, 0);
  waits(2, 0);
  steps.gives_next = worker_1_leaves;
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(steps.gives, 2);
  CU_ASSERT_EQUAL(handed(2), 1); // it waits still
  CU_ASSERT_EQUAL(ws_queue_size(&lane), 3);
  CU_ASSERT_EQUAL(ws_queue_size(&workers[0].queue), 0);
  CU_ASSERT_TRUE(is_away(1));
  CU_ASSERT_FALSE(ws_inbox_look(&workers[1].inbox));
  CU_ASSERT_FALSE(ws_inbox_has_gone(&workers[1].inbox));
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
}

/// Three workers are claimed, and leave.
static void workers_1_to_3_leave(void)
{
  for (uint32_t i = 1; i <= 3 && steps.gives == 1; i++)
    CU_ASSERT_FALSE(__real_ws_inbox_shut(&pool.tasks, &workers[i].inbox));
}

/// The dealer runs the first of the tasks that it must keep. The others are in its queue, where any worker
/// finds them, and a sleeper is woken for them.
static void several_tasks_that_are_kept_are_queued(void)
{
  ws_task_t task;
  begin(5);
  for (uint32_t i = 1; i <= 4; i++)
    waits(i, 0);
  pool.mask_words = 1;
  pool.cpus = WORKERS;
  ws_store_relaxed(&pool.sleepers[0], 1u << 4);
  ws_store_release(&workers[0].queue.root, &group);
  steps.gives_next = workers_1_to_3_leave;
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(steps.gives, 4);
  CU_ASSERT_EQUAL(handed(4), 3);
  CU_ASSERT_EQUAL(ws_queue_size(&lane), 1);
  CU_ASSERT_EQUAL(ws_queue_size(&workers[0].queue), 2);
  CU_ASSERT_PTR_EQUAL(ws_own_load(&workers[0].queue.root), (void *)(uintptr_t)&ws_root_mixed);
  for (uint32_t i = 1; i <= 2; i++) {
    CU_ASSERT_TRUE(ws_queue_take_oldest(&workers[0].queue, &task));
    CU_ASSERT_PTR_EQUAL(task.arg, &arg[i]);
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&workers[4].token), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.sleepers[0]), 0);
}

/// Only those that have come into its queue need other workers.
static void a_single_task_that_is_kept_wakes_no_worker(void)
{
  begin(5);
  waits(1, 0);
  pool.mask_words = 1;
  pool.cpus = WORKERS;
  ws_store_relaxed(&pool.sleepers[0], 1u << 4);
  steps.gives_next = worker_1_leaves;
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&workers[4].token), 0);
}

/// Its queue could not take the tasks that it may have to keep.
static void a_dealer_without_room_hands_out_nothing(void)
{
  begin(5);
  waits(1, 0);
  static ws_cell_t few[OWN_CELLS / 2];
  ws_queue_init(&workers[0].queue, few, OWN_CELLS / 2);
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(steps.gives, 0);
  CU_ASSERT_TRUE(still_waits(1));
}

static uint64_t left_when_given;

static void looks_into_the_lane(void)
{
  if (steps.gives == 1)
    left_when_given = ws_queue_size(&lane);
}

/// All tasks of a claim are taken before the first of them is given.
static void a_dealer_takes_first_and_gives_then(void)
{
  begin(5);
  for (uint32_t i = 1; i <= 3; i++)
    waits(i, 0);
  steps.gives_next = looks_into_the_lane;
  CU_ASSERT_EQUAL(gets(0), 3);
  CU_ASSERT_EQUAL(steps.gives, 3);
  CU_ASSERT_EQUAL(left_when_given, 2);
}

/// Another thread takes all tasks of the lane but one, when the dealer has claimed three workers.
static void lane_gets_short(void)
{
  ws_task_t task;
  while (steps.is_fake && ws_queue_size(&lane) > 1)
    ws_queue_take_oldest(&lane, &task);
}

ws_claim_t __real_ws_inbox_claim(const ws_tasks_t *tasks, ws_au64_t *mask, uint32_t most);
ws_claim_t __wrap_ws_inbox_claim(const ws_tasks_t *tasks, ws_au64_t *mask, uint32_t most);
static void (*claimed)(void);

ws_claim_t __wrap_ws_inbox_claim(const ws_tasks_t *tasks, ws_au64_t *mask, uint32_t most)
{
  const ws_claim_t claim = __real_ws_inbox_claim(tasks, mask, most);
  if (claimed)
    claimed();
  return claim;
}

static void workers_that_get_no_task_are_declined(void)
{
  begin(5);
  for (uint32_t i = 1; i < 4; i++)
    waits(i, 0);
  claimed = lane_gets_short;
  CU_ASSERT_EQUAL(gets(0), -1);
  claimed = NULL;
  CU_ASSERT_EQUAL(steps.gives, 1);
  CU_ASSERT_EQUAL(handed(1), 4);
  for (uint32_t i = 2; i < 4; i++)
    CU_ASSERT_FALSE(ws_inbox_is_claimed(&workers[i].inbox));
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
}

/// Worker 0 deals while worker 1 waits.
static void worker_0_deals(void)
{
  steps.opened = NULL;
  ws_store_relaxed(&lane.dealt, 0);
  CU_ASSERT_EQUAL(gets(0), 1);
  ws_store_relaxed(&lane.dealt, 1);
}

static void a_worker_waits_for_the_dealer(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = worker_0_deals;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_TRUE(is_away(1));
  CU_ASSERT_TRUE(workers[1].was_handed);
  CU_ASSERT_TRUE(ws_deal_is_on(&lane)); // by the other worker
}

static void dealer_stops(void)
{
  ws_store_relaxed(&lane.dealt, 0);
}

static void a_worker_deals_when_there_is_no_dealer_any_more(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = dealer_stops;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
}

/// It has lost its CPU.
static void a_dealer_that_does_nothing_is_not_waited_for(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_TRUE(is_away(1));
}

static void nobody_waits_for_tasks_of_an_empty_lane(void)
{
  begin(0);
  ws_store_relaxed(&lane.dealt, 1);
  CU_ASSERT_EQUAL(gets(1), -1);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_TRUE(ws_deal_is_on(&lane));
}

/// The thread that had claimed the worker before has neither filled nor declined its inbox.
static void a_worker_whose_inbox_is_claimed_does_not_wait(void)
{
  begin(2);
  ws_store_relaxed(&workers[1].inbox.state, WS_INBOX_WAITING);
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(1), LANE));
}

/// The worker that waits has lost its CPU; the dealer hands it a task, and the guard looks twice.
static void worker_1_gets_no_cpu(void)
{
  ws_task_t task;
  steps.shuts = NULL;
  ws_store_relaxed(&lane.dealt, 0);
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_TRUE(ws_inbox_is_full(&workers[1].inbox));
  for (uint32_t look = 0; look < 2; look++) {
    CU_ASSERT_FALSE(ws_places_take_stuck(&pool.tasks, &task));
    ws_store_relaxed(&pool.tasks.stuck, ws_inbox_mark_stuck(&pool.tasks));
  }
  CU_ASSERT_TRUE(ws_places_take_stuck(&pool.tasks, &task));
  CU_ASSERT_PTR_EQUAL(task.arg, &arg[0]);
}

static void the_task_of_a_worker_without_a_cpu_is_taken(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  steps.shuts = worker_1_gets_no_cpu;
  CU_ASSERT_EQUAL(gets(1), 2);
  CU_ASSERT_TRUE(is_away(1));
}

static void is_not_counted(void)
{
  CU_ASSERT_EQUAL(ws_load_relaxed(&workers[1].trust), WS_TRUST_NOT);
  CU_ASSERT_EQUAL(ws_searching(&pool), 0);
}

static void no_push_relies_on_a_worker_that_waits(void)
{
  begin(5);
  ws_search_begin(&workers[1]);
  CU_ASSERT_EQUAL(ws_searching(&pool), 1);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = steps.shuts = is_not_counted;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_FALSE(workers[1].searching);
}

static uint32_t waited(uint32_t worker)
{
  return ws_load_relaxed(&prewakes[worker].taken.tasks);
}

/// A task waits for a worker if that one comes from another task.
static void tasks_that_had_to_wait_are_noted(void)
{
  begin(4);
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(waited(0), 1);
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(waited(0), 2);
  ws_search_begin(&workers[1]);
  CU_ASSERT_EQUAL(gets(1), 2);
  CU_ASSERT_EQUAL(waited(1), 0);
}

static void a_lane_with_tasks_is_noted_until_it_is_empty(void)
{
  const ws_here_t outside = {.queue = &lane};
  begin(1);
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 0);
  ws_deal_note(&pool, here_of(0)); // a worker's own queue
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 0);
  ws_deal_note(&pool, outside);
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), LANE + 1);
  ws_deal_note(&pool, here_of(0));
  ws_deal_forget(&pool, LANE); // it holds a task
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), LANE + 1);
  ws_deal_forget(&pool, 0); // another queue, an empty one
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), LANE + 1);
  CU_ASSERT_EQUAL(gets(0), 0); // its dealer forgets it
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 0);
  ws_store_relaxed(&pool.tasks.dealing, 1); // another lane has been noted first
  ws_deal_note(&pool, outside);
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 1);
  pool.tasks.circles = 0;
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 0);
  ws_store_relaxed(&pool.tasks.dealing, 0);
  ws_deal_note(&pool, outside); // a small pool
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.tasks.dealing), 0);
}

static void after_tiny_tasks_a_worker_does_not_wait(void)
{
  begin(4);
  steps.look_ns = 0;
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(workers[0].dealt_ns, steps.now_ns);
  steps.now_ns += TINY_NS;
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(workers[0].shy_ns, 0);
  steps.now_ns += TINY_NS - 1;
  CU_ASSERT_EQUAL(gets(0), 2);
  CU_ASSERT_NOT_EQUAL(workers[0].shy_ns, 0);
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(0), LANE));
}

static ws_group_t before; ///< of tasks that the worker has run

static void owes(uint32_t worker, ws_group_t *to)
{
  ws_group_init(&before, 2);
  workers[worker].due.group = to;
  workers[worker].due.tasks = 2;
}

static void nothing_is_owed_any_more(void)
{
  CU_ASSERT_TRUE(ws_group_done(&before));
}

static uint32_t held_looks; ///< at the clock, of a worker that waits, before its completions are made

static void looks_at_the_clock(void)
{
  held_looks += steps.opens > 0 && !ws_group_done(&before);
}

/// A worker that gets its next task before need not take the line of the group's word.
static void completions_are_held_for_a_while(void)
{
  begin(5);
  owes(1, &before);
  steps.look_ns = 1;
  ws_store_relaxed(&lane.dealt, 1);
  held_looks = 0;
  steps.looked = looks_at_the_clock;
  steps.shuts = nothing_is_owed_any_more;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_EQUAL(held_looks, HELD_LOOKS - 1); // then the look that follows the completion
  CU_ASSERT_EQUAL(workers[1].due.tasks, 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&workers[1].queue.count.run), 2);
}

static void with_a_task_at_once_nothing_is_completed(void)
{
  begin(5);
  owes(1, &before);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = worker_0_deals;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(workers[1].due.tasks, 2);
  CU_ASSERT_FALSE(ws_group_done(&before));
}

/// A thread that waits for another group need not wait for the tasks of this one.
static void a_dealer_completes_what_it_has_run_of_another_group(void)
{
  begin(5);
  owes(0, &before);
  waits(1, 0);
  steps.gives_next = nothing_is_owed_any_more;
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(steps.gives, 1);
  begin(5);
  owes(0, &group);
  waits(1, 0);
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(workers[0].due.tasks, 2); // together with the next
}

#define BURSTS (TEST_SANITIZED ? 100u : 1000u)
#define BURST 24u
#define PUSHERS 2u
static ws_pool_t *real;
static ws_au64_t runs[PUSHERS][BURST];

static void *push_bursts(void *pusher)
{
  ws_au64_t *mine = runs[(uintptr_t)pusher];
  for (uint32_t i = 0; i < BURSTS; i++) {
    ws_group_t burst;
    ws_group_init(&burst, BURST);
    for (uint32_t k = 0; k < BURST; k++)
      ws_pool_push(real, (ws_task_t){.func = test_count_task, .arg = &mine[k], .group = &burst});
    ws_group_wait(&burst, real);
  }
  return NULL;
}

static void bursts_run_once_in_a_pool_with_circles(void)
{
  test_threads_t threads = {0};
  memset(&steps, 0, sizeof(steps));
  memset(runs, 0, sizeof(runs));
  real = test_pool(4);
  CU_ASSERT_EQUAL(real->tasks.circles, CIRCLES);
  for (uintptr_t i = 0; i < PUSHERS; i++)
    test_spawn(&threads, push_bursts, (void *)i);
  test_join(&threads);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < PUSHERS; i++)
    for (uint32_t k = 0; k < BURST; k++)
      wrong += ws_load_relaxed(&runs[i][k]) != BURSTS;
  CU_ASSERT_EQUAL(wrong, 0);
  test_destroy(real);
}

TEST_MAIN("deal", TEST_CASE(small_pools_have_no_circles), TEST_CASE(only_a_worker_without_tasks_deals_a_lane),
          TEST_CASE(the_oldest_tasks_go_to_those_that_wait), TEST_CASE(a_dealer_has_a_task_left_for_itself),
          TEST_CASE(circles_are_served_from_the_own_one_on), TEST_CASE(in_a_pause_no_task_is_handed_out),
          TEST_CASE(the_task_of_a_worker_that_has_left_is_the_dealers),
          TEST_CASE(several_tasks_that_are_kept_are_queued),
          TEST_CASE(a_single_task_that_is_kept_wakes_no_worker),
          TEST_CASE(a_dealer_without_room_hands_out_nothing),
          TEST_CASE(a_dealer_takes_first_and_gives_then),
          TEST_CASE(workers_that_get_no_task_are_declined), TEST_CASE(a_worker_waits_for_the_dealer),
          TEST_CASE(a_worker_deals_when_there_is_no_dealer_any_more),
          TEST_CASE(a_dealer_that_does_nothing_is_not_waited_for),
          TEST_CASE(nobody_waits_for_tasks_of_an_empty_lane),
          TEST_CASE(a_worker_whose_inbox_is_claimed_does_not_wait),
          TEST_CASE(the_task_of_a_worker_without_a_cpu_is_taken),
          TEST_CASE(no_push_relies_on_a_worker_that_waits),
          TEST_CASE(after_tiny_tasks_a_worker_does_not_wait),
          TEST_CASE(tasks_that_had_to_wait_are_noted),
          TEST_CASE(a_lane_with_tasks_is_noted_until_it_is_empty),
          TEST_CASE(completions_are_held_for_a_while),
          TEST_CASE(with_a_task_at_once_nothing_is_completed),
          TEST_CASE(a_dealer_completes_what_it_has_run_of_another_group),
          TEST_CASE(bursts_run_once_in_a_pool_with_circles))
