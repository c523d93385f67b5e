// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_park.h
/// How a worker sleeps without losing a wake. PARK.md has the proof. Its counterpart: ws_wake.h.
#ifndef WS_PARK_H
#define WS_PARK_H

#include "../pool/ws_types.h"

/// @brief Sleep until claimed, or return at once when work is visible. The caller is counted in searching on
/// return.
void ws_park(ws_worker_t *worker);

#endif
