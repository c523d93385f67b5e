// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_kind.c
/// ws_kind.h.
#include "ws_kind.h"

void ws_kind_use(ws_tasks_t *tasks, uint64_t now_ns)
{
  if (ws_load_relaxed(&tasks->kinds_used)) // relaxed: after the caller's fence [KIND_USED]
    return;
  ws_hint_store(&tasks->kinds_since_ns, now_ns);
  ws_store_relaxed(&tasks->kinds_used, 1); // relaxed: before the fence of the push [PARK_DEKKER]
}

/// Least time from the last push of a kind until searches rest.
#define REST_NS 10000000u

static bool is_any_queued(const ws_tasks_t *tasks)
{
  uint64_t queued = 0;
  for (ws_kind_t kind = WS_KIND_NORMAL + 1; kind < tasks->kinds; kind++)
    queued |= ws_load_relaxed(&tasks->queued[kind]); // relaxed: a hint, or after the caller's fence
  return queued != 0;
}

void ws_kind_rest(ws_tasks_t *tasks, uint64_t age_ns, uint64_t now_ns)
{
  const uint64_t rest_ns = age_ns > REST_NS ? age_ns : REST_NS;
  const uint64_t pushed_ns = ws_hint_load(&tasks->kinds_pushed_ns);
  if ((int64_t)(now_ns - pushed_ns) < (int64_t)rest_ns || is_any_queued(tasks))
    return;
  ws_store_relaxed(&tasks->kinds_used, 0); // relaxed: before the fence
  ws_fence_seq_cst(); // [edge KIND_USED fence] kinds_used before the counts
  if (is_any_queued(tasks))
    ws_store_relaxed(&tasks->kinds_used, 1); // relaxed: a worker that parks looks at the queues
}

void ws_kind_count_push(ws_tasks_t *tasks, ws_kind_t kind, uint64_t now_ns)
{
  ws_add_relaxed(&tasks->queued[kind], 1); // relaxed: before the fence [KIND_USED]
  ws_fence_seq_cst_after_rmw(); // [edge KIND_USED fence] the count before kinds_used
  ws_hint_store(&tasks->kinds_pushed_ns, now_ns);
  ws_kind_use(tasks, now_ns);
}
