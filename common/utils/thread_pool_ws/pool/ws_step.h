// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_step.h
/// Steps (ws_record.h) that run, or are queued, on one stack.
///
/// Lifetime: of a thread's own stack they are the thread's (ws_self_t), of a fiber's stack the fiber's. So a
/// step that parks its fiber takes them along to the next thread, and while the fiber is parked nothing is
/// queued: each wait runs what is queued first. A plain task that runs on a fiber's stack has the thread's:
/// it keeps the fiber there until it returns.
#ifndef WS_STEP_H
#define WS_STEP_H

#include "ws_types.h"

/// @return the steps of the stack on which the caller runs
ws_steps_t *ws_steps_here(void);

WS_FOR_FIBERS void ws_steps_call_queued(ws_steps_t *steps);

/// @brief Before a wait: call the steps that are queued. One of them may be what the caller waits for.
static inline void ws_steps_before_wait(ws_steps_t *steps)
{
  if (WS_UNLIKELY(steps->first != NULL))
    ws_steps_call_queued(steps);
}

#endif
