// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_run.h
/// Enter and leave fibers.
#ifndef WS_FIBER_RUN_H
#define WS_FIBER_RUN_H

#include "ws_switch.h"

/// @brief A task: run the fiber until it stops or ends.
void ws_fiber_run(void *fiber);

/// @brief A task in place of ws_fiber_run() in a pool that aborts: a fiber that has not begun is dropped.
void ws_fiber_run_aborted(void *fiber);

/// @brief Leave the fiber's stack. The thread then does what @p wants requires; returns when the fiber
/// continues, perhaps on another thread. Inline: the CPU does not foresee where functions return to that
/// another stack has called.
/// @param fiber  the one that calls
static inline void ws_fiber_leave(ws_fiber_t *fiber, ws_wants_t wants)
{
  fiber->wants = wants;
  ws_switch_leave(fiber);
  const transfer_t entered = jump_fcontext(fiber->home, NULL);
  fiber->home = entered.fctx;
  ws_switch_entered(fiber, entered.data);
}

#endif
