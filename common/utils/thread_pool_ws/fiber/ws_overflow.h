// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_overflow.h
/// A fiber that needs more stack than it has: reported with its name before the process dies.
#ifndef WS_OVERFLOW_H
#define WS_OVERFLOW_H

#include "ws_fiber_process.h"

/// @brief Handle SIGSEGV from now on, before the handler that the program had. @threads one, once
void ws_overflow_begin(void);

/// @brief Slow part of ws_overflow_arm().
void ws_overflow_arm_now(ws_fiber_thread_t *thread);

/// @brief Give the thread a stack for signal handlers, unless it has one: no handler can run on a stack that
/// is full.
static inline void ws_overflow_arm(ws_fiber_thread_t *thread)
{
  if (!thread->armed)
    ws_overflow_arm_now(thread);
}

/// @brief Report that the fiber has overflowed its stack, and end the process.
_Noreturn void ws_overflow_die(const ws_fiber_t *fiber);

#endif
