// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_traced.c
/// Events that the program records (ws_trace.h, ws_trace_slot.h).
#include "ws_traced.h"

#include "../include/ws_trace.h"
#include "../include/ws_trace_slot.h"

WS_SELDOM void ws_traced_note_push(const struct ws_pool_s *pool, ws_here_t here, const ws_task_t *tasks,
                                   uint64_t count)
{
  for (uint64_t i = 0; i < count; i++)
    WS_PROBE(push, pool, ws_traced_pool(pool), ws_traced_worker(here.worker), (uintptr_t)tasks[i].func,
             (uintptr_t)tasks[i].arg, ws_traced_group(tasks[i].group));
}

/// The end has the number of the thread's wait, 0 inside a task. So a report knows after lost events whether
/// the thread is in a task.
WS_SELDOM void ws_traced_note_join(const struct ws_pool_s *pool, uintptr_t group, bool ends)
{
  ws_self_t *self = ws_self();
  if (ends)
    WS_PROBE(join_end, pool, ws_traced_pool(pool), ws_traced_self(pool), group,
             self->task ? 0 : ++self->waits);
  else
    WS_PROBE(join_begin, pool, ws_traced_pool(pool), ws_traced_self(pool), group);
}

void ws_trace_phase_begin(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  if ((uint32_t)phase >= WS_TRACE_PHASES)
    return;
  ws_provider_find(); // the program may have no pool
  ws_self_t *self = ws_self();
  ws_traced_phase_t *begun = &self->phase[phase];
  if (!begun->is_open || begun->frame != frame || begun->slot != slot)
    *begun = (ws_traced_phase_t){true, frame, slot, id, self->pushed};
  ws_probe_phase_began(phase, frame, slot, id);
}

void ws_trace_phase_end(ws_trace_phase_t phase)
{
  if ((uint32_t)phase >= WS_TRACE_PHASES)
    return;
  ws_self_t *self = ws_self();
  ws_traced_phase_t *begun = &self->phase[phase];
  if (!begun->is_open)
    return;
  begun->is_open = false;
  ws_probe_phase_ended(phase, begun->frame, begun->slot, begun->id,
                       (uint32_t)(self->pushed - begun->pushed_before));
}

void ws_trace_run_as(void (*func)(void *arg), void *arg)
{
  ws_traced_run_as(func, arg);
}

void ws_trace_run(void (*func)(void *arg), void *arg)
{
  if (!func)
    return;
  ws_provider_find(); // the program may have no pool
  const ws_task_t task = {.func = func, .arg = arg};
  ws_traced_push(NULL, (ws_here_t){0}, &task, 1);
  ws_traced_run_begin(NULL, &task);
  func(arg);
  ws_traced_run_end(NULL, &task);
}
