// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_watch.h
/// Does the machine still have time for spinning? Once in a second of activity the guard's thread looks at
/// what cannot be seen from inside: the control groups' quota and the set of CPUs.
#ifndef WS_WATCH_H
#define WS_WATCH_H

#include "ws_types.h"

/// @brief A worker has time: is a look due?
void ws_watch_ask(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief Look, on the guard's thread, if somebody has asked. @p throttled  the thread's memory,
/// UINT64_MAX at first
void ws_watch_look(struct ws_pool_s *pool, uint64_t *throttled);

#endif
