// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pile.h
/// Completions of one group that one worker makes for others of its circle (core/ws_complete.h).
///
/// Word       0 --a worker collects for a group--> group, 0 --others add--> group, n --the collector closes
///            the pile and completes n--> 0
///            group, n --the guard has seen some at two looks, and completes n--> group, 0
/// Lifetime   The group cannot be done, nor its memory be used anew, while n is not 0. A group may be done
///            while the pile is open and empty. A later group at the same address is then collected for, too.
#ifndef WS_PILE_H
#define WS_PILE_H

#include "../include/ws_group.h"
#include "ws_tasks.h"

/// @return how many piles a pool has: one for each circle, or 0
uint32_t ws_pile_count(uint32_t workers, uint32_t circles);

/// @return whether the collector of @p circle completes @p tasks of @p group; false = none collects for it
bool ws_pile_add(ws_circle_t *circle, const ws_group_t *group, uint32_t tasks);

/// @return whether the caller collects for @p group from now on, and must close the pile soon
bool ws_pile_open(ws_circle_t *circle, const ws_group_t *group);

/// @brief The caller collects no more. @return how many completions of its group it must make now
uint32_t ws_pile_close(ws_circle_t *circle);

/// @brief Take all completions if some were there at the guard's last look, too: others may add to a pile
/// whose collector has no CPU.
/// @param tasks  out: how many the caller must make
/// @return their group; NULL = there are none
/// @threads  the guard
ws_group_t *ws_pile_take_stuck(ws_circle_t *circle, uint32_t *tasks);

/// @return whether a worker of the pool collects
bool ws_pile_is_open(const ws_tasks_t *tasks);

#endif
