// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rules.c
/// ws_rules.h.
#include "ws_rules.h"

const ws_ruled_t *ws_rules_find(const struct ws_pool_s *pool, const ws_task_t *task)
{
  const struct ws_rules_s *rules = pool->rules;
  const uintptr_t func = ws_rules_func(pool, task);
  for (uint32_t i = 0; i < rules->count; i++)
    if (rules->ruled[i].func == func)
      return &rules->ruled[i];
  return NULL;
}
