// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_cancel.h
/// The waits that a cancel token ends (ws_sync.h).
#ifndef WS_CANCEL_H
#define WS_CANCEL_H

#include "ws_lot.h"

/// @brief Have a request end the wait. @return false = it was requested before
bool ws_cancel_enter(ws_waiter_t *waiter);

/// @brief The wait is over: when this returns, no request touches the record.
void ws_cancel_leave(ws_waiter_t *waiter);

#endif
