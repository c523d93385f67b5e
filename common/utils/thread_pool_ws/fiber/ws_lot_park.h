// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lot_park.h
/// A wait from its begin to its end: lot, time limit, cancel. LOT.md, "park".
#ifndef WS_LOT_PARK_H
#define WS_LOT_PARK_H

#include "ws_lot.h"

/// @brief Wait for an unpark of @p address, unless @p may_park returns false.
/// @param deadline_ns  CLOCK_MONOTONIC; UINT64_MAX = none
/// @param can_cancel   the caller's cancel token, or an abort of its pool, ends the wait
/// @return 0 = woken; -EAGAIN = @p may_park returned false; -ETIMEDOUT; -ECANCELED
/// @threads any: a fiber parks, a thread blocks
int ws_lot_park(const void *address, ws_may_park_t may_park, void *arg, uint64_t deadline_ns,
                bool can_cancel);

#endif
