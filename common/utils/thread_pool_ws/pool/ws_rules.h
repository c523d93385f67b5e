// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rules.h
/// Which function has which rule (settings.rule): a table from addresses, which a push to a pool with rules
/// reads. The names were resolved when the pool was made (setup/ws_rule.h).
#ifndef WS_RULES_H
#define WS_RULES_H

#include "ws_types.h"

/// Functions that the table can name: several may have one name.
#define WS_RULED_MAX 32u

/// What holds for the tasks of one function.
typedef struct {
  uintptr_t func; ///< its address
  uint32_t limit; ///< i + 1 = limit i of the pool; 0 = none
  bool has_priority;
  ws_priority_t priority;
} ws_ruled_t;

struct ws_rules_s {
  uint32_t count; ///< I
  ws_ruled_t ruled[WS_RULED_MAX]; ///< I
};

/// @return the address of the function that the task stands for (settings.func_of)
static inline uintptr_t ws_rules_func(const struct ws_pool_s *pool, const ws_task_t *task)
{
  return pool->settings.func_of ? pool->settings.func_of(task) : (uintptr_t)task->func;
}

/// @return what holds for @p task; NULL = nothing
const ws_ruled_t *ws_rules_find(const struct ws_pool_s *pool, const ws_task_t *task);

#endif
