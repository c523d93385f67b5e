// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_watch.h
/// Whether the machine still has time for spinning: once in a second of activity the guard's thread reads the
/// control groups' quota and the set of CPUs.
#ifndef WS_WATCH_H
#define WS_WATCH_H

#include "ws_sleep_state.h" // IWYU pragma: export

/// What the guard's thread remembers from look to look.
typedef struct {
  uint64_t throttled; ///< times that the quota was used up; UINT64_MAX = not known yet
  uint32_t cpus; ///< of the thread, when it was set up; 0 = not known
} ws_watch_t;

/// @brief There is activity at @p now_ns: have the guard's thread look, if that is due.
/// @progress  a futex call a second
void ws_watch_tick(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief Look, on the guard's thread, if ws_watch_tick() has asked for it: set spin_cpus. If the quota was
/// used up since the last look, lower pre-wake's level.
void ws_watch_look(struct ws_pool_s *pool, ws_watch_t *watch);

#endif
