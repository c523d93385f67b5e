// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_worker.h
/// The loop that a worker's thread runs; ws_start.c makes the thread.
#ifndef WS_WORKER_H
#define WS_WORKER_H

#include "../pool/ws_types.h"

/// @brief Find, run, spin, park, until the pool has stopped.
void ws_worker_loop(ws_worker_t *worker);

#endif
