// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_steps.c
/// ws_record.h: steps, which run in turn on a stack.
#include "ws_steps.h"

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

/// If fewer than @p depth steps run on this stack, call the step, and then those that were queued meanwhile.
/// Else queue it for the innermost of those that run.
static void run_below(ws_step_t *step, uint32_t depth)
{
  ws_steps_t *steps = ws_steps_here();
  if (WS_LIKELY(steps->depth < depth)) {
    steps->depth++;
    step->call(step);
    ws_steps_before_wait(steps); // those that were queued meanwhile
    steps->depth--;
    return;
  }
  step->next = NULL;
  if (steps->first)
    steps->last->next = step;
  else
    steps->first = step;
  steps->last = step;
}

void ws_step_run(ws_step_t *step)
{
  run_below(step, WS_STEPS_NESTED_MAX);
}

void ws_step_next(ws_step_t *step)
{
  run_below(step, 1);
}
