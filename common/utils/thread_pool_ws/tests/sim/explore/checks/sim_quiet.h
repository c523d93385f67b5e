// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_quiet.h
/// What must be so when nothing happens, and when everything is over.
#ifndef SIM_QUIET_H
#define SIM_QUIET_H

#include "sim_scenario.h"

/// @brief Check, when everything has run: within a time all workers sleep, and no count includes one.
void sim_quiet_check(ws_pool_t *pool, uint32_t index);

/// @brief The pool has stopped: do its statistics add up?
void sim_quiet_check_stopped(ws_pool_t *pool, uint32_t index);

/// @brief All pools are gone: threads, memory, and what is counted for the process.
void sim_quiet_check_end(void);

#endif
