// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_steal.h
/// Take tasks out of the queues of other threads, without disturbing other thieves.
#ifndef WS_STEAL_H
#define WS_STEAL_H

#include "ws_search.h" // IWYU pragma: export

/// @brief Steal a task from another thread's queue: from the one that served last if the thread knows of a
/// task there, from other lanes, from other workers (a worker from near to far), at last from the one that
/// served last. May wait before a try. The caller has a queue.
/// @return false = no task was found, or others were quicker
bool ws_steal(ws_search_t *search, ws_task_t *task);

/// @brief Of a wait: steal a task that was pushed by a task of its group, from the queue of the thread that
/// runs that one ("leapfrog": Wagner, Calder: Leapfrogging, PPoPP 1993).
/// @return false = there is none, or, with search->retry set, others were quicker
bool ws_steal_below(ws_search_t *search, ws_task_t *task);

/// @brief Before a look at the queue that served last, if the caller remembers it (thief.memo): wait until
/// 500 ns have passed since the last one. With tiny tasks a thief would otherwise take the queue's lines from
/// the thread that fills it, at every task.
void ws_make_no_haste(const struct ws_pool_s *pool, ws_queue_t *own);

#endif
