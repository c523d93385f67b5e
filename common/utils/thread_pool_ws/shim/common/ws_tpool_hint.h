// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_hint.h
/// Between ws_tpool_hint.c and the files that know a shape's tpool_t.
#ifndef WS_TPOOL_HINT_H
#define WS_TPOOL_HINT_H

#include "ws_tpool.h"

/// @return the object behind OAI's @p tpool, NULL = none yet, or no more
ws_tpool_t *ws_tpool_of(void *tpool);

/// @brief The calling thread has pushed a task to a pool.
void ws_tpool_hint_pushed(void);

#endif
