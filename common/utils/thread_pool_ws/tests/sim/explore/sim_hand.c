// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_hand.c
/// Threads that are stopped where another one waits for them: between the looks of a thread that hands over a
/// task, or takes one that is stuck (tasks/ws_inbox.c). A push that the pool still takes may go on when the
/// pool has just stopped. The linker puts the functions below in the place of the core's.
#include <math.h>

#include "../../../pool/ws_types.h"
#include "../../../tasks/ws_inbox.h"
#include "sim_checks.h"
#include "sim_fault.h"
#include "sim_play.h"
#include "sim_random.h"

#define HOGS_MAX 6u
#define STOPPED_PS_MAX (40 * SIM_PS_PER_MS)
/// What a fill takes, with what follows it; what a theft from an inbox takes.
#define FILL_STEPS 8u
#define TAKE_STEPS 5u
#define STEP_PS (200 * SIM_PS_PER_NS)

/// The longest time that a push waits for a stop.
#define STOP_PS_MAX (20 * SIM_PS_PER_MS)
#define AWAIT_SHARE 0.2

bool __real_ws_inbox_reserve_more(const ws_tasks_t *tasks, ws_queue_t *lane);
bool __wrap_ws_inbox_reserve_more(const ws_tasks_t *tasks, ws_queue_t *lane);
bool __real_ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_reserved_t *to, const ws_task_t *task);
bool __wrap_ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_reserved_t *to, const ws_task_t *task);
bool __real_ws_inbox_take_stuck(ws_tasks_t *tasks, ws_task_t *task);
bool __wrap_ws_inbox_take_stuck(ws_tasks_t *tasks, ws_task_t *task);

/// @return a time from so long to one in which the guard becomes dormant and more; each order of magnitude is
///         as likely
static sim_ps_t draw_ps(sim_ps_t least_ps)
{
  return (sim_ps_t)(pow((double)STOPPED_PS_MAX / (double)least_ps, sim_random_unit()) * (double)least_ps);
}

/// The calling thread stands still at one of its next steps, or another program takes its CPU: only the
/// second is a thing that the pool must repair in time.
static void stop_soon(uint32_t steps)
{
  static uint32_t hogs;
  if (!sim_fault_happens(sim_scene->hand_stalls))
    return;
  if (hogs < HOGS_MAX && sim_fault_happens(0.5)) {
    hogs++;
    sim_fault_hog(sim_self->cpu, sim_self->now_ps + (sim_ps_t)sim_random_below(steps * STEP_PS),
                  draw_ps(SIM_PS_PER_MS));
  } else {
    sim_fault_stall_later(sim_self, 1 + (uint32_t)sim_random_below(steps), draw_ps(3 * SIM_PS_PER_US));
  }
}

static const ws_pool_t *pool_of(const ws_tasks_t *tasks)
{
  for (uint32_t i = 0; i < sim_scene->pools; i++)
    if (sim_pool[i] && &sim_pool[i]->tasks == tasks)
      return sim_pool[i];
  return NULL;
}

static void await_stop(const ws_pool_t *pool)
{
  const sim_ps_t until_ps = sim_stop_ps + STOP_PS_MAX;
  while (sim_self->now_ps < until_ps && ws_load_relaxed(&pool->state) != WS_STOPPED)
    sim_work(100 * SIM_PS_PER_NS);
}

/// The task does not count as pushed yet: a stop does not wait for it.
bool __wrap_ws_inbox_reserve_more(const ws_tasks_t *tasks, ws_queue_t *lane)
{
  const bool reserved = __real_ws_inbox_reserve_more(tasks, lane);
  const bool may_await = reserved && sim_scene->hand_stalls > 0 && sim_scene->stops_early;
  const ws_pool_t *pool = may_await ? pool_of(tasks) : NULL;
  if (pool && sim_self->now_ps + STOP_PS_MAX > sim_stop_ps && sim_fault_happens(AWAIT_SHARE))
    await_stop(pool);
  return reserved;
}

bool __wrap_ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_reserved_t *to, const ws_task_t *task)
{
  const ws_pool_t *pool = pool_of(tasks);
  if (pool)
    sim_handed_check_fill(pool, to);
  stop_soon(FILL_STEPS);
  return __real_ws_inbox_give(tasks, own, to, task);
}

bool __wrap_ws_inbox_take_stuck(ws_tasks_t *tasks, ws_task_t *task)
{
  if (ws_inbox_stuck(tasks) > 0)
    stop_soon(TAKE_STEPS);
  return __real_ws_inbox_take_stuck(tasks, task);
}
