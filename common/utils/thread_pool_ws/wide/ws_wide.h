// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wide.h
/// What only pools of many workers do. A plug-in: the other rooms use this header, and nothing else of it.
/// ws_wide_null.c links in place of ws_wide.c and ws_dispatch.c. ws_wide.c says from how many
/// workers on a pool has which, docs/decisions/018 has the figures.
///
///   inboxes        a thread outside hands a task to a worker that spins (tasks/ws_inbox.h)
///   dispatcher     one worker takes the tasks of a lane for others (ws_dispatch.c)
///   domains        the workers of a cache, or of a part of it, have a mask and a count of searchers of their
///                  own
///   summary words  a search reads a bit for each worker's queue, and not a line of each (tasks/ws_summary.h)
#ifndef WS_WIDE_H
#define WS_WIDE_H

#include "../tasks/ws_tasks.h"

struct ws_search_s;
struct ws_worker_s;

/// @brief Decide what the pool has: tasks->inboxes, tasks->domains, tasks->summaries. 0 = none.
/// @param workers  requested: their memory is laid out before they start. A pool that gets fewer threads
/// keeps what it has, which costs it time only
/// @threads  the creator, before there are workers
void ws_wide_plan(ws_tasks_t *tasks, uint32_t workers);

// Domains. All workers of a pool that change a word at once would contend for its line.

/// @return the worker's domain, of those of its last-level cache, in a pool that has domains
/// @threads  the worker, or one that has claimed it while it sleeps
uint32_t ws_wide_domain(const struct ws_worker_s *worker);

// Dispatcher.

/// @brief The calling worker has no task of its own: take one of a lane, as its dispatcher or from one. As
/// soon as it tries a lane it is not idle any more; if it waits long or finds none, what it has run is
/// completed.
/// @return false = no lane seems to hold one, or the search is to look elsewhere first, or has no worker, or
/// the pool has no domains
/// @threads  the worker, in no task, or a thread that is not a worker
bool ws_dispatch(struct ws_search_s *search, ws_task_t *task);

#endif
