// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_ride.c
/// sim_play.h.
#include "sim_play.h"

#include "../../../core/ws_push.h"
#include "../../../pool/ws_types.h"
#include "sim_libc.h"
#include "sim_record.h"

#define SLICE_PS (2 * SIM_PS_PER_US)
#define PATIENCE 1000 ///< yields of a thread until it sleeps
#define PATIENCE_PS (20 * SIM_PS_PER_MS) ///< or time, where steps are slow
#define REST_PS (100 * SIM_PS_PER_US)

static bool in_swap[SIM_THREADS_MAX]; ///< the thread is in a yield
static const sim_frame_t *at[SIM_THREADS_MAX]; ///< its frame in that yield

bool sim_ride_may(const sim_record_t *record)
{
  const sim_pool_plan_t *plan = &sim_scene->pool[record->pool];
  return sim_scene->yields && sim_scene->shape == SIM_SHAPE_CORE && record->depth == 0 && !record->waits_for
         && plan->full == WS_FULL_GROW && sim_pool[record->pool]->workers > 0 && !plan->aborts
         && ((record - sim_record) & 1) == 1;
}

/// Only a task that is queued: one that runs may need this thread's CPU.
static bool must_yield(const sim_record_t *record)
{
  const sim_record_t *before = record - 1;
  return before->carried == record->carried && before->pool == record->pool
         && before->state == SIM_RECORD_PUSHED;
}

static void begin(sim_record_t *record)
{
  // a push that comes later than the stop of its pool runs what it has pushed
  if (in_swap[sim_self->index] && at[sim_self->index] == *sim_stack()
      && ws_load_relaxed(&sim_pool[record->pool]->state) != WS_STOPPED)
    sim_finding("task %u runs inside the yield of another", (uint32_t)(record - sim_record));
  if (record->state == SIM_RECORD_RUNNING)
    return; // it goes on
  sim_record_begin(record);
  sim_task_check(record);
}

/// A thread that has taken the task before, and has not begun it, may need this thread's CPU. A real-time
/// thread that only yields never gives that CPU back, so it sleeps now and then. The pool cannot see this.
static void rest_seldom(void)
{
  static uint32_t yields[SIM_THREADS_MAX];
  static sim_ps_t rested_ps[SIM_THREADS_MAX];
  sim_ps_t *since_ps = &rested_ps[sim_self->index];
  if (++yields[sim_self->index] % PATIENCE != 0 && sim_self->now_ps - *since_ps < PATIENCE_PS)
    return;
  sim_stack_hide(true);
  sim_sleep_until(sim_self->now_ps + REST_PS);
  *since_ps = sim_self->now_ps;
  sim_stack_hide(false);
}

/// Compute until the next stop. @return whether the task yields
static bool run(sim_record_t *record)
{
  sim_frame_t frame = {.in = SIM_IN_TASK, .record = record, .outer = *sim_stack()};
  begin(record);
  *sim_stack() = &frame;
  sim_work(SLICE_PS);
  const bool yields = must_yield(record);
  if (yields)
    rest_seldom();
  *sim_stack() = frame.outer;
  return yields;
}

/// @return whether the thread is in a wait, which must look at its group before the thread goes on. Without
/// memory a fiber may have to change places with another one
static bool must_look(void)
{
  const sim_frame_t *frame = *sim_stack();
  return frame && frame->in == SIM_IN_WAIT && sim_scene->fault.map_share == 0;
}

static ws_worker_t *worker_in(const ws_pool_t *pool)
{
  for (uint32_t i = 0; i < pool->workers; i++)
    if (ws_tid(pool->worker[i]) == (int32_t)sim_self->index + 1)
      return pool->worker[i];
  return NULL;
}

void sim_ride(sim_record_t *record, void (*end)(sim_record_t *record))
{
  ws_task_t next;
  ws_swap_t swap;
  do {
    if (!run(record)) {
      end(record);
      return;
    }
    const uint32_t pool = record->pool;
    in_swap[sim_self->index] = true;
    at[sim_self->index] = *sim_stack();
    swap = ws_swap(sim_pool[pool], worker_in(sim_pool[pool]), &record->task, &next);
    in_swap[sim_self->index] = false;
    if (swap != WS_SWAP_NOT)
      sim_record_yields[pool]++;
    if (swap == WS_SWAP_RIDE)
      record = next.arg;
    if (swap == WS_SWAP_RIDE && must_look())
      sim_finding("a thread in a wait goes on with task %u", (uint32_t)(record - sim_record));
  } while (swap != WS_SWAP_RETURN);
}
