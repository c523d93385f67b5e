// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pause.h
/// What a stop needs of ws_pause.c.
#ifndef WS_PAUSE_H
#define WS_PAUSE_H

#include "../pool/ws_types.h"

/// @brief The pool stops: end a pause, and refuse later ones.
void ws_pause_end(struct ws_pool_s *pool);

#endif
