// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_kind.c
/// ws_kind.h.
#include "ws_kind.h"

void ws_kind_use(ws_tasks_t *tasks)
{
  if (!ws_load_relaxed(&tasks->kinds_used)) // relaxed: after the caller's fence [KIND_USED]
    ws_store_relaxed(&tasks->kinds_used, 1); // relaxed: before the fence of the push [PARK_DEKKER]
}

static bool is_any_queued(const ws_tasks_t *tasks)
{
  uint64_t queued = 0;
  for (ws_kind_t kind = WS_KIND_NORMAL + 1; kind < tasks->kinds; kind++)
    queued |= ws_load_relaxed(&tasks->queued[kind]); // relaxed: a hint, or after the caller's fence
  return queued != 0;
}

void ws_kind_rest(ws_tasks_t *tasks)
{
  if (is_any_queued(tasks))
    return;
  ws_store_relaxed(&tasks->kinds_used, 0); // relaxed: before the fence
  ws_fence_seq_cst(); // [edge KIND_USED fence] kinds_used before the counts
  if (is_any_queued(tasks))
    ws_store_relaxed(&tasks->kinds_used, 1); // relaxed: a worker that parks looks at the queues
}

void ws_kind_count_push(ws_tasks_t *tasks, ws_kind_t kind)
{
  ws_add_relaxed(&tasks->queued[kind], 1); // relaxed: before the fence [KIND_USED]
  ws_fence_seq_cst_after_rmw(); // [edge KIND_USED fence] the count before kinds_used
  ws_kind_use(tasks);
}
