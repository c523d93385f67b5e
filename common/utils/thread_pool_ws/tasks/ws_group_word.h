// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_group_word.h
/// What a join needs of a group beyond ws_group.h.
#ifndef WS_GROUP_WORD_H
#define WS_GROUP_WORD_H

#include "../base/ws_base.h"
#include "../include/ws_group.h"

/// @return units not yet completed
uint32_t ws_group_units(ws_group_t *group);

/// @return whether a thread that waits for @p wanted may run a task that carries @p carried, a group or a tag
/// @param weak  a weak tag will do
static inline bool ws_group_is(const ws_group_t *carried, const ws_group_t *wanted, bool weak)
{
  return (((uintptr_t)carried ^ (uintptr_t)wanted) & ~(uintptr_t)(weak ? 3 : 1)) == 0;
}

/// @return whether the pool has to complete a unit for a task that carries @p group
static inline bool ws_group_counts(const ws_group_t *group)
{
  return group && !((uintptr_t)group & 1);
}

/// @brief Have the last completion wake sleepers. @return whether units are left
WS_FOR_FIBERS bool ws_group_announce(ws_group_t *group);

/// @brief Sleep until the group is done, at most until @p until_ns (CLOCK_MONOTONIC; 0 = no limit). Neither
/// helps nor spins.
void ws_group_sleep(ws_group_t *group, uint64_t until_ns);

#endif
