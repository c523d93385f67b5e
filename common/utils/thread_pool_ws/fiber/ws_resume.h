// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_resume.h
/// Waits that are over: wake the waiters of records that were removed from the parking lot (ws_lot.h).
#ifndef WS_RESUME_H
#define WS_RESUME_H

#include "ws_fiber_types.h"

/// @brief Under the lock of the bucket, as the record is removed: the fiber's pool must live until the
/// resume is over.
void ws_resume_begin(const ws_waiter_t *waiter);

/// @brief Wake the waiters of a list of removed records, linked by next. No lock may be held.
void ws_resume(ws_waiter_t *first);

#endif
