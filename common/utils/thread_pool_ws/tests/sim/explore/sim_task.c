// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_task.c
/// sim_play.h.
#include "sim_play.h"

#include <math.h>

#include "sim_checks.h"
#include "sim_fault.h"
#include "sim_libc.h"
#include "sim_random.h"
#include "sim_record.h"

#define PAIR_PS_MAX (20 * SIM_PS_PER_MS)

static sim_ps_t time_of(const sim_record_t *record)
{
  const uint64_t hash = (uint64_t)(record - sim_record + 1) * UINT64_C(0x9E3779B97F4A7C15) + sim_scene->seed;
  return (sim_ps_t)(record->burst->work_us * 1e6 * (double)((hash * hash) >> 56) / 128);
}

static void wait_for_twin(sim_record_t *record)
{
  sim_record_t *twin = record - 1;
  const sim_ps_t until_ps = sim_self->now_ps + PAIR_PS_MAX;
  const uint32_t workers = sim_scene->pool[record->pool].workers;
  if (((record - sim_record) & 1) == 0 || twin->burst != record->burst || workers < 2)
    return;
  sim_stack_hide(true);
  while (!twin->done && sim_self->now_ps < until_ps && twin->state != SIM_RECORD_REFUSED
         && !sim_record_aborting[record->pool])
    sim_futex_wait(&twin->done, 0, until_ps);
  sim_stack_hide(false);
}

static sim_task_kind_t kind_of(const sim_record_t *record)
{
  const sim_burst_t *burst = record->burst;
  if (record->depth == 0)
    return burst->depth > 0                                      ? burst->leaf
           : (uint32_t)(record - sim_record) % burst->every == 0 ? burst->kind
                                                                 : SIM_TASK_WORK;
  return record->depth < burst->depth || (uint32_t)(record - sim_record) % burst->every == 0 ? burst->kind
                                                                                             : SIM_TASK_WORK;
}

static void push_more(const sim_record_t *record)
{
  if (record->depth > 0)
    sim_front->burst(record->burst, record->pool, record->depth - 1);
}

/// After the last pool comes the first, if that exists as long as tasks run, if no task waits for all tasks
/// of a pool, which it could be itself, and if waits run all tasks of their group: with a shim they may be
/// tagged weakly.
static uint32_t next_pool(const sim_record_t *record)
{
  const uint32_t next = record->pool + 1, pools = sim_scene->pools;
  const bool whole = record->burst->end == SIM_END_POOL, core = sim_scene->shape == SIM_SHAPE_CORE;
  const bool round = pools > 1 && core && !sim_scene->destroys && !whole;
  return next == pools && round ? 0 : next;
}

static void push_across(const sim_record_t *record)
{
  if (record->depth > 0 && next_pool(record) < SIM_POOLS_MAX)
    sim_front->burst(record->burst, next_pool(record), record->depth - 1);
}

static void compute_or_sleep(sim_task_kind_t kind, sim_ps_t ps)
{
  if (kind == SIM_TASK_BLOCK)
    ws_blocking_begin();
  sim_stack_hide(kind == SIM_TASK_SLEEP || kind == SIM_TASK_BLOCK);
  if (kind == SIM_TASK_BLOCK || kind == SIM_TASK_SLEEP)
    sim_sleep_until(sim_self->now_ps + ps);
  else
    sim_work(ps);
  sim_stack_hide(false);
}

static void do_task(sim_record_t *record)
{
  const sim_task_kind_t kind = kind_of(record);
  compute_or_sleep(kind, time_of(record));
  if (kind == SIM_TASK_NEST || kind == SIM_TASK_SPAWN || kind == SIM_TASK_BLOCK)
    push_more(record);
  if (kind == SIM_TASK_BLOCK)
    ws_blocking_end();
  if (kind == SIM_TASK_CROSS)
    push_across(record);
  else if (kind == SIM_TASK_PAIR)
    wait_for_twin(record);
}

void sim_task_check(const sim_record_t *record)
{
  sim_front->look();
  sim_mask_check(record);
}

void sim_task_run(sim_record_t *record, void (*first)(const sim_record_t *record))
{
  sim_frame_t frame = {.in = SIM_IN_TASK, .record = record, .outer = *sim_stack()};
  sim_record_begin(record);
  sim_stack_check(record);
  sim_task_check(record);
  *sim_stack() = &frame;
  if (first)
    first(record);
  do_task(record);
  *sim_stack() = frame.outer;
  sim_record_end(record);
}

void sim_task_before_call(void)
{
  if (sim_fault_happens(sim_scene->call_stalls))
    sim_fault_stall_later(sim_self, 1 + (uint32_t)sim_random_below(40),
                          (sim_ps_t)(1e6 * pow(3000, sim_random_unit()) * 3));
}
