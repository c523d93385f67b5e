// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_classes_null.c
/// ws_classes.h without classes: links in place of the other source of this room.
#include "../../classes/ws_classes.h"
#include "../../pool/ws_types.h"

#include "../../pool/ws_near.h"

void ws_classes_plan(struct ws_pool_s *pool, const int32_t *cpu)
{
  pool->tasks.kinds = WS_KIND_NORMAL + 1;
}

ws_kind_t ws_classes_kind(const struct ws_pool_s *pool, const ws_task_t *task)
{
  return WS_KIND_NORMAL;
}

ws_kinds_t ws_classes_of_rank(const struct ws_pool_s *pool, ws_rank_t rank)
{
  return (ws_kinds_t){0};
}

bool ws_classes_is_near(const struct ws_pool_s *pool, const ws_worker_t *worker, ws_kind_t kind)
{
  return ws_near_is(pool, worker);
}

uint32_t ws_classes_home(const struct ws_pool_s *pool, ws_kind_t kind)
{
  return WS_NODE_ANY;
}
