// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed.h
/// Tasks with a key (ws_key.h), as ws_run.c sees them.
#ifndef WS_KEYED_H
#define WS_KEYED_H

#include "../include/ws_key.h"

/// The function of each task with a key.
void ws_keyed_run(void *keyed);

/// @brief The pool aborts, and skips the task: if it has a key, count and call on_cancel.
void ws_keyed_skip(const ws_task_t *task);

#endif
