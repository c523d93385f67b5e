// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_search.h
/// A search for the next task (ws_next.h). It takes a task and does not run it.
#ifndef WS_SEARCH_H
#define WS_SEARCH_H

#include "../pool/ws_types.h" // IWYU pragma: export

/// Which tasks a search takes.
typedef enum {
  WS_NEXT_ANY = 1, ///< each: a worker's loop, a wait for the pool
  WS_NEXT_GROUP = 2, ///< of a group, and what those have pushed: a wait for a group or an event
  /// the caller's own, without a queue those in pool-wide queues: a wait for the pool with a time limit
  WS_NEXT_OWN = 4
} ws_filter_t;

/// A search: the thread that makes it, the tasks that it may take, and what it has found out.
typedef struct ws_search_s {
  struct ws_pool_s *pool;
  ws_here_t here; ///< without a queue, the thread takes from pool-wide queues only
  ws_wait_t *wait; ///< with WS_NEXT_GROUP: the thread's innermost, which has the group; else NULL
  struct ws_idle_s *idle; ///< of a worker's loop, while the worker is idle; else NULL
  ws_filter_t filter;
  uint32_t turn; ///< in and out: which place goes first next time (take_in_turn())
  bool from_own; ///< out, of a wait: the task lay in the own deque, and belongs to its root (ws_run.h)
  bool retry; ///< out, of a wait: others were quicker, and ws_steal_below() may find more
} ws_search_t;

#endif
