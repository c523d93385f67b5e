// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_alarm.h
/// Time limits of fibers' waits, and when idle stacks are trimmed: one thread for the process, made when the
/// first wait has a limit, or the first stack comes to a list that threads share.
#ifndef WS_ALARM_H
#define WS_ALARM_H

#include "ws_fiber_types.h"

/// @brief End the wait at its deadline. @return false = the thread could not be made, or there is no memory
bool ws_alarm_add(ws_waiter_t *waiter);

/// @brief The wait is over: when this returns, the thread does not touch the record. Not needed if the thread
/// ended the wait (WS_ENDED_TIME): it had taken the record out before.
void ws_alarm_remove(ws_waiter_t *waiter);

/// @brief Stacks were freed just now: have ws_stack_trim() called WS_STACK_IDLE_NS later, unless a call is
/// due before. If the thread cannot be made nothing happens: the next freed stacks try again.
void ws_alarm_trim(void);

#endif
