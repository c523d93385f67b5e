// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_record.c
/// sim_record.h.
#include "sim_record.h"

#include <limits.h>
#include <string.h>

#include "sim_libc.h"
#include "sim_play.h"

sim_record_t sim_record[SIM_RECORDS_MAX];
uint32_t sim_records;
uint64_t sim_record_begun[SIM_POOLS_MAX];
uint64_t sim_record_yields[SIM_POOLS_MAX];
bool sim_record_aborting[SIM_POOLS_MAX];

static uint32_t round_first;

static uint32_t number(const sim_record_t *record)
{
  return (uint32_t)(record - sim_record);
}

static sim_frame_t *top[SIM_THREADS_MAX];
static bool hides[SIM_THREADS_MAX];

sim_frame_t **sim_stack(void)
{
  return &top[sim_self->index];
}

/// @return the task that the running thread is in, the innermost; NULL = none
static sim_record_t *stack_task(void)
{
  for (const sim_frame_t *frame = *sim_stack(); frame; frame = frame->outer)
    if (frame->in == SIM_IN_TASK)
      return frame->record;
  return NULL;
}

uint32_t sim_record_take(const sim_record_t *like, uint32_t count)
{
  if (sim_records + count > SIM_RECORDS_MAX)
    return SIM_RECORD_NONE;
  for (uint32_t i = 0; i < count; i++) {
    sim_record[sim_records] = *like;
    sim_record[sim_records].state = SIM_RECORD_PUSHING;
    sim_record[sim_records++].parent = stack_task();
  }
  return sim_records - count;
}

void sim_record_answer(sim_record_t *record, bool accepted)
{
  record->accepted = accepted;
  if (!accepted && record->state != SIM_RECORD_PUSHING)
    sim_finding("task %u runs, though its push was refused", number(record));
  if (record->state == SIM_RECORD_PUSHING)
    record->state = accepted ? SIM_RECORD_PUSHED : SIM_RECORD_REFUSED;
}

void sim_record_begin(sim_record_t *record)
{
  if (record->state == SIM_RECORD_REFUSED)
    sim_finding("task %u runs, though its push was refused", number(record));
  if (record->state != SIM_RECORD_PUSHING && record->state != SIM_RECORD_PUSHED)
    sim_finding("task %u runs twice", number(record));
  record->state = SIM_RECORD_RUNNING;
  sim_record_begun[record->pool]++;
}

void sim_record_end(sim_record_t *record)
{
  record->state = SIM_RECORD_DONE;
  record->done = 1;
  sim_futex_wake(&record->done, INT_MAX);
}

void sim_record_check(uint32_t first, uint32_t count, const char *how)
{
  for (uint32_t i = first; i < first + count; i++) {
    const sim_record_t *record = &sim_record[i];
    const bool skipped = record->state == SIM_RECORD_PUSHED && sim_record_aborting[record->pool];
    if (record->state != SIM_RECORD_DONE && record->state != SIM_RECORD_REFUSED && !skipped)
      sim_finding("%s returned before task %u was done (state %d)", how, i, (int)record->state);
  }
}

void sim_record_check_pool(uint32_t pool, uint64_t counted, uint64_t skipped)
{
  uint64_t accepted = 0, lost = 0, unknown = 0; // unknown: the thread that pushed ended in its push
  for (uint32_t i = round_first; i < sim_records; i++) {
    const sim_record_t *record = &sim_record[i];
    if (record->pool != pool)
      continue;
    accepted += record->state == SIM_RECORD_PUSHED || record->state == SIM_RECORD_DONE;
    lost += record->state == SIM_RECORD_PUSHED;
    unknown += record->state == SIM_RECORD_PUSHING;
    if (record->state == SIM_RECORD_RUNNING)
      sim_finding("task %u still runs after the stop of its pool", i);
  }
  if (skipped < lost || skipped > lost + unknown)
    sim_finding("pool %u: %llu tasks did not run, and %llu were skipped", pool, (unsigned long long)lost,
                (unsigned long long)skipped);
  if (counted < accepted || counted > accepted + unknown)
    sim_finding("pool %u: %llu tasks were taken, and the statistics count %llu", pool,
                (unsigned long long)accepted, (unsigned long long)counted);
}

void sim_record_next_round(void)
{
  round_first = sim_records;
  memset(sim_record_yields, 0, sizeof(sim_record_yields));
  memset(sim_record_aborting, 0, sizeof(sim_record_aborting));
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
