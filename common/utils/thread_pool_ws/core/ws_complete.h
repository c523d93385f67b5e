// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_complete.h
/// Life of a task, step 6 for a worker: complete what it has run. Before: ws_worker.c; after: ws_group.c.
///
/// Why        Each completion takes the line of the group's word from another worker. If 100 workers end
///            their tasks at once the last one waits for 10 us.
/// Collector  In pools of more than 80 workers the first worker of a circle (core/ws_deal.h) that completes
///            tasks of a group becomes the circle's collector. While it waits for the group's line, other
///            workers of the circle put their completions on its pile (tasks/ws_pile.h), in their own cache,
///            and go on. Then it closes the pile, and completes what lies there. So it waits for no other
///            thread.
/// Not        In smaller pools, in pools without a guard, in programs with fibers, and for tasks that were
///            stolen: their completions come one by one.
/// Bounds     If the collector loses its CPU between its two steps, the guard makes the completions that it
///            sees on the pile at two looks (sleep/ws_guard.c).
#ifndef WS_COMPLETE_H
#define WS_COMPLETE_H

#include "../pool/ws_types.h"

/// @brief Complete the tasks that the calling worker has run, and count them.
/// @threads  the worker
void ws_complete_due(ws_worker_t *worker);

#endif
