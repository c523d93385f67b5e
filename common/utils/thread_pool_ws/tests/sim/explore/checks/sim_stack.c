// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_stack.c
/// sim_stack.h.
#include "sim_stack.h"

#include "sim_libc.h"
#include "sim_play.h"
#include "sim_task.h"

static sim_frame_t *top[SIM_THREADS_MAX];
static bool hides[SIM_THREADS_MAX];

sim_frame_t **sim_stack(void)
{
  return &top[sim_self->index];
}

sim_record_t *sim_stack_task(void)
{
  for (const sim_frame_t *frame = *sim_stack(); frame; frame = frame->outer)
    if (frame->in == SIM_IN_TASK)
      return frame->record;
  return NULL;
}

bool sim_stack_is_in(uint32_t pool)
{
  for (const sim_frame_t *frame = *sim_stack(); frame; frame = frame->outer)
    if (frame->in == SIM_IN_TASK && frame->record->pool == pool)
      return true;
  return false;
}

bool sim_stack_pushes(const sim_thread_t *thread)
{
  const sim_frame_t *frame = thread->state != SIM_ENDED ? top[thread->index] : NULL;
  return frame && frame->in == SIM_IN_PUSH;
}

static bool belongs_to(const sim_record_t *record, uint32_t goal)
{
  for (; record; record = record->parent)
    if (record->carried == goal)
      return true;
  return false;
}

/// One task may begin late, because the thread may be stopped after its last look at the clock.
static void check_limit(sim_frame_t *frame)
{
  if (frame->until_ns == 0 || (uint64_t)(sim_self->now_ps / SIM_PS_PER_NS) < frame->until_ns)
    return;
  if (++frame->late > 1)
    sim_finding("late: a wait has begun %u tasks after its time limit", frame->late);
}

void sim_stack_check(const sim_record_t *record)
{
  sim_frame_t *frame = *sim_stack();
  if (frame)
    check_limit(frame);
  if (sim_scene->fault.map_share > 0)
    return; // a join that has no memory for what lies above its task runs that
  if (frame && frame->in == SIM_IN_WAIT && !belongs_to(record, frame->goal))
    sim_finding("unrelated task: a thread that waits for a group runs task %u, which is not of it",
                (uint32_t)(record - sim_record));
}

void sim_stack_hide(bool hidden)
{
  hides[sim_self->index] = hidden;
}

bool sim_stack_hides(const sim_thread_t *thread)
{
  return hides[thread->index];
}
