// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_steps.h
/// Steps (ws_record.h) of a thread's own stack are the thread's, those of a fiber's stack the fiber's. So a
/// step that parks its fiber takes them along to the next thread, and while the fiber is parked nothing is
/// queued: each wait runs what is queued first. A plain task that runs on a fiber's stack has the thread's:
/// it keeps the fiber there until it returns.
#ifndef WS_STEPS_H
#define WS_STEPS_H

#include "ws_types.h"

/// @return the steps of the stack on which the caller runs
ws_steps_t *ws_steps_here(void);
/// @brief Call the queued steps in turn, and those that are queued meanwhile.
/// @param steps  of the stack on which the caller runs
WS_FOR_FIBERS void ws_steps_call_queued(ws_steps_t *steps);

/// @brief Call the steps that are queued. Before a wait: one of them may be what the caller waits for.
static inline void ws_steps_before_wait(ws_steps_t *steps)
{
  if (WS_UNLIKELY(steps->first != NULL))
    ws_steps_call_queued(steps);
}

#endif
