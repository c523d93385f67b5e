// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_complete.h
#ifndef WS_COMPLETE_H
#define WS_COMPLETE_H

#include "../pool/ws_near.h"
#include "../pool/ws_types.h"

/// @brief Complete the tasks that the calling worker has run, and count them.
void ws_complete_due(ws_worker_t *worker);

#endif
