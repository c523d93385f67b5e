// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_alarm.h
/// Time limits of fibers' waits: one thread for the process, made at the first of them.
#ifndef WS_ALARM_H
#define WS_ALARM_H

#include "ws_fiber_types.h"

/// @brief End the wait at its deadline. @return false = the thread could not be made, or there is no memory
bool ws_alarm_add(ws_waiter_t *waiter);

/// @brief The wait is over: when this returns, the thread does not touch the record. Not needed if the thread
/// ended the wait (WS_ENDED_TIME): it had taken the record out before.
void ws_alarm_remove(ws_waiter_t *waiter);

/// @brief Have ws_stack_trim() called when stacks that were freed just now are idle for long.
void ws_alarm_trim(void);

#endif
