// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed.h
/// Tasks with a key (ws_key.h), as ws_run.c sees them.
#ifndef WS_KEYED_H
#define WS_KEYED_H

#include "../include/ws_key.h"

/// The function of each task with a key.
void ws_keyed_run(void *keyed);

/// The function that an abort calls in its place: count, and call on_cancel.
void ws_keyed_skip(void *keyed);

#endif
