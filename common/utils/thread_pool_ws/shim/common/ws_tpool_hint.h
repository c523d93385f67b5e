// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_hint.h
/// The part of ws_tpool_hint.c that pushes need.
#ifndef WS_TPOOL_HINT_H
#define WS_TPOOL_HINT_H

/// @brief The calling thread has pushed a task to a pool.
void ws_tpool_hint_pushed(void);

#endif
