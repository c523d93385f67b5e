// SPDX-License-Identifier: BSD-3-Clause
/// @file deal_scene.h
/// Workers that want tasks of one lane: one deals, the others wait in their inboxes (ws_deal.h). One thread
/// plays all of them. What happens where a worker opens or shuts its inbox, or is given a task, is the test's
/// (--wrap=ws_inbox_open, ws_inbox_shut, ws_inbox_give), and so is the clock (--wrap=ws_os_now_ns). A pool of
/// few workers has dealers, too (--wrap=ws_deal_circles). Pre-wake learns nothing (--wrap=ws_spin_found).
/// Included by one source file of a program.
#ifndef DEAL_SCENE_H
#define DEAL_SCENE_H

#include "../../../core/ws_deal.h"

#include <string.h>

#include "../../../prewake/ws_prewake_state.h"
#include "../../../sleep/ws_wake.h"
#include "../../../tasks/ws_inbox.h"
#include "../../../tasks/ws_queue.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define WORKERS 7u
#define CIRCLES 2u
#define TASKS 8u
#define LANE WORKERS
/// That passes between two looks at the clock.
#define LOOK_NS 1000u
/// A dealer wants room for as many tasks as it takes at once.
#define OWN_CELLS 4u

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

static inline void happen(void (*step)(void))
{
  if (steps.is_fake && step)
    step();
}

static uint64_t ws_os_now_ns_seam(void)
{
  happen(steps.looked);
  return steps.is_fake ? steps.now_ns += steps.look_ns : __real_ws_os_now_ns();
}

static uint32_t ws_deal_circles_seam(uint32_t count)
{
  (void)count;
  return CIRCLES;
}

static void ws_spin_found_seam(ws_worker_t *worker)
{
  if (!steps.is_fake)
    __real_ws_spin_found(worker);
}

static bool ws_inbox_open_seam(ws_inbox_t *inbox, ws_au64_t *mask)
{
  const bool opened = __real_ws_inbox_open(inbox, mask);
  if (steps.is_fake)
    steps.opens++;
  happen(steps.opened);
  return opened;
}

static bool ws_inbox_shut_seam(ws_tasks_t *tasks, ws_inbox_t *inbox)
{
  happen(steps.shuts);
  return __real_ws_inbox_shut(tasks, inbox);
}

static bool ws_inbox_give_seam(const ws_tasks_t *tasks, ws_queue_t *own, ws_claim_t *claim,
                               const ws_task_t *task)
{
  if (steps.is_fake)
    steps.gives++;
  happen(steps.gives_next);
  return __real_ws_inbox_give(tasks, own, claim, task);
}

static inline void begin_lane(uint32_t tasks)
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
static inline void begin(uint32_t tasks)
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

static inline ws_here_t here_of(uint32_t worker)
{
  return (ws_here_t){.queue = &workers[worker].queue, .worker = &workers[worker]};
}

static inline void waits(uint32_t worker, uint32_t circle)
{
  CU_ASSERT_TRUE(__real_ws_inbox_open(&workers[worker].inbox, circles[circle].mask));
}

static inline bool still_waits(uint32_t worker)
{
  return ws_load_relaxed(&workers[worker].inbox.mask[0]) >> worker & 1;
}

/// @return the number of the task that the worker takes from its inbox; -1 = none
static inline int handed(uint32_t worker)
{
  ws_task_t task;
  if (!__real_ws_inbox_shut(&pool.tasks, &workers[worker].inbox))
    return -1;
  ws_inbox_empty(&workers[worker].inbox, &task);
  return (int)((char *)task.arg - arg);
}

/// @return the number of the task that the worker gets when it wants one of the lane; -1 = none
static inline int gets(uint32_t worker)
{
  ws_task_t task;
  if (!ws_deal(&pool, here_of(worker), LANE, &task))
    return -1;
  return (int)((char *)task.arg - arg);
}

static inline bool is_away(uint32_t worker)
{
  return ws_load_relaxed(&workers[worker].inbox.state) % WS_INBOX_STATES == WS_INBOX_AWAY;
}

/// Worker 0 deals while worker 1 waits.
static inline void worker_0_deals(void)
{
  steps.opened = NULL;
  ws_store_relaxed(&lane.dealt, 0);
  CU_ASSERT_EQUAL(gets(0), 1);
  ws_store_relaxed(&lane.dealt, 1);
}

static inline void dealer_stops(void)
{
  ws_store_relaxed(&lane.dealt, 0);
}

static inline void deal_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
  seam.ws_deal_circles = ws_deal_circles_seam;
  seam.ws_spin_found = ws_spin_found_seam;
  seam.ws_inbox_open = ws_inbox_open_seam;
  seam.ws_inbox_shut = ws_inbox_shut_seam;
  seam.ws_inbox_give = ws_inbox_give_seam;
}

#endif
