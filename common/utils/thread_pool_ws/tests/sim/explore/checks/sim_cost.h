// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_cost.h
/// What tasks cost over a whole scenario: not what one search reads, but all of them together.
#ifndef SIM_COST_H
#define SIM_COST_H

#include <stdint.h>

/// Basic blocks of the pool's deques and pool-wide queues (tasks/) that threads have run so far: the compiler
/// puts a call into each (-fsanitize-coverage=trace-pc). A loop over cells runs some for each cell.
extern uint64_t sim_cost_blocks;

/// @brief A scenario without spinning is over: has it taken a bounded number for each task and each wait?
void sim_cost_check(uint64_t tasks, uint64_t waits);

#endif
