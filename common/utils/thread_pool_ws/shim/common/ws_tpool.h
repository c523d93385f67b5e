// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool.h
/// What all shapes of OAI's pool share: a pool from the parameter string to the end.
#ifndef WS_TPOOL_H
#define WS_TPOOL_H

#include "ws_tpool_object.h"
#include "ws_tpool_params.h"

/// @brief Read OAI's parameter string. Ends the process with a message that names a bad entry.
ws_tpool_params_t ws_tpool_read(const char *text);

/// @brief @p count threads that float. Ends the process with a message when there cannot be so many.
ws_tpool_params_t ws_tpool_floating(int count);

/// @brief Start params->count threads through the host's threadCreate; none: tasks will run inline. Says on
/// stderr, in one line, what runs; the pool is called <name>#<number> there, because OAI has several of one
/// name. Ends the process with a message when it cannot be done, as OAI's own pool
/// does.
/// @param params  is freed
/// @param name    NULL = "Tpool"
ws_tpool_t *ws_tpool_open(ws_tpool_params_t *params, const char *name);

/// @brief Run what is queued, end the threads, free the pool as soon as nobody is inside.
/// @threads  one caller
void ws_tpool_close(ws_tpool_t *tpool);

/// @return the object behind a tpool_t of OAI's, NULL = none yet, or no more. Each shape has its own.
ws_tpool_t *ws_tpool_of(void *tpool);

#endif
