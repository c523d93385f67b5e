// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_group_word.h
/// What a join needs of a group beyond ws_group.h.
#ifndef WS_GROUP_WORD_H
#define WS_GROUP_WORD_H

#include "../include/ws_group.h"

/// @return units not yet completed
uint32_t ws_group_units(ws_group_t *group);

/// @brief Sleep until the group is done. Neither helps nor spins.
void ws_group_sleep(ws_group_t *group);

#endif
