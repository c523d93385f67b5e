// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_laneless.c
/// ws_find.h.
#include "ws_find.h"

#include "../tasks/ws_group_word.h"
#include "../trace/ws_traced.h"

bool ws_laneless_find(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, bool weak,
                      uint64_t *seen, ws_task_t *task)
{
  ws_shared_t *shared = &pool->tasks.shared;
  const uint64_t head = ws_load_relaxed(&shared->head); // relaxed: a task before it is taken
  const uint64_t tail = ws_load_relaxed(&shared->tail); // relaxed: what the caller pushed lies before it
  bool published = true; // all tasks so far
  for (uint64_t i = (int64_t)(head - *seen) > 0 ? head : *seen; (int64_t)(tail - i) > 0; i++) {
    const ws_shared_peek_t peek = ws_shared_peek(shared, i, task);
    published = published && peek != WS_SHARED_COMES;
    if (published)
      *seen = i + 1;
    if (peek == WS_SHARED_THERE && ws_group_is(task->group, group, weak) && ws_shared_take_at(shared, i)) {
      ws_shared_pass(shared);
      ws_traced_steal(pool, here, WS_VICTIM_SHARED);
      return true;
    }
  }
  return false;
}
