// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_watch.h
/// Does the machine still have time for spinning? Once in a second of activity the guard's thread looks at
/// what cannot be seen from inside: the control groups' quota and the set of CPUs.
#ifndef WS_WATCH_H
#define WS_WATCH_H

#include "../pool/ws_types.h"

/// What the guard's thread remembers from look to look.
typedef struct {
  uint64_t throttled; ///< times that the quota was used up; UINT64_MAX = not known yet
  uint32_t cpus; ///< of the thread, at its start
} ws_watch_t;

/// @brief At the start of the guard's thread.
void ws_watch_begin(ws_watch_t *watch);

/// @return whether a look is due; then ws_watch_ask() must follow. For who has the rhythm
bool ws_watch_is_due(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief Have the guard's thread look. @progress  a futex call
void ws_watch_ask(struct ws_pool_s *pool);

/// @brief Look, on the guard's thread, if somebody has asked.
void ws_watch_look(struct ws_pool_s *pool, ws_watch_t *watch);

#endif
