// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_hint.h
/// The part of ws_hint.c that workers call.
#ifndef WS_HINT_H
#define WS_HINT_H

#include "../pool/ws_types.h"

/// @brief The worker has been woken: if a hint wants more workers awake, wake two.
void ws_hint_pass_on(ws_worker_t *worker);

#endif
