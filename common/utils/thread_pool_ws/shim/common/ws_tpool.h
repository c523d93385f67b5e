// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool.h
/// The part that all shapes of OAI's pool share: a pool from the parameter string to its end.
#ifndef WS_TPOOL_H
#define WS_TPOOL_H

#include "ws_tpool_object.h" // IWYU pragma: export
#include "ws_tpool_params.h" // IWYU pragma: export

/// @brief Read OAI's parameter string. Ends the process with a message that names a bad entry.
ws_tpool_params_t ws_tpool_read(const char *text);

/// @brief Prepare @p count threads that float. Ends the process with a message if @p count is not possible.
ws_tpool_params_t ws_tpool_floating(int count);

/// @brief Start params->count threads through the host's threadCreate; with 0 threads tasks run inline.
/// Prints one line on stderr that describes the pool, called <name>#<number> because OAI has several of one
/// name. On an error ends the process with a message, as OAI's own pool does.
/// @param params  is freed
/// @param name    NULL = "Tpool"
ws_tpool_t *ws_tpool_open(ws_tpool_params_t *params, const char *name);

/// @brief Run the queued tasks, end the threads, free the pool as soon as no thread uses it.
/// @threads  one caller
void ws_tpool_close(ws_tpool_t *tpool);

/// @return the object behind a tpool_t of OAI's, NULL = none yet, or no more. Each shape has its own.
ws_tpool_t *ws_tpool_of(void *tpool);

#endif
