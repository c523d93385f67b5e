// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_step.c
/// ws_step.h, and the steps of ws_record.h.
#include "ws_step.h"

#include "ws_process.h"

ws_steps_t *ws_steps_here(void)
{
  const ws_hooks_t *hooks = ws_process_hooks();
  ws_steps_t *fibers = hooks ? hooks->steps() : NULL;
  return fibers ? fibers : &ws_self()->steps;
}

void ws_steps_call_queued(ws_steps_t *steps)
{
  while (steps->first) {
    ws_step_t *step = steps->first;
    steps->first = step->next;
    step->call(step);
  }
}

static void call_now(ws_steps_t *steps, ws_step_t *step)
{
  steps->depth++;
  step->call(step);
  if (WS_UNLIKELY(steps->first != NULL))
    ws_steps_call_queued(steps);
  steps->depth--;
}

/// For the innermost step that runs.
static void queue(ws_steps_t *steps, ws_step_t *step)
{
  step->next = NULL;
  if (steps->first)
    steps->last->next = step;
  else
    steps->first = step;
  steps->last = step;
}

void ws_step_run(ws_step_t *step)
{
  ws_steps_t *steps = ws_steps_here();
  if (WS_LIKELY(steps->depth < WS_STEPS_NESTED_MAX))
    call_now(steps, step);
  else
    queue(steps, step);
}

void ws_step_next(ws_step_t *step)
{
  ws_steps_t *steps = ws_steps_here();
  if (steps->depth == 0)
    call_now(steps, step);
  else
    queue(steps, step);
}
