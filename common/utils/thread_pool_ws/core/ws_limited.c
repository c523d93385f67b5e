// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_limited.c
/// ws_limited.h.
#include "ws_limited.h"

#include "../pool/ws_lane.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_limit.h"

void ws_limited_end(struct ws_pool_s *pool, const ws_task_t *task)
{
  const uint32_t ticket = ws_ticket_of(task);
  if (WS_LIKELY(ticket == 0) || !ws_limit_end(&pool->tasks.limit[ticket - 1]))
    return;
  ws_fence_seq_cst(); // [edge PARK_DEKKER fence] the free place before sleepers and searching
  ws_post_elsewhere(pool, ws_here_known(pool));
}
