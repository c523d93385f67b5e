// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stack.h
/// Stacks of fibers, kept for reuse: a few by each thread, the others in one shared list for each size.
///
/// Guard     Below each stack lies a page without access, as long as the guard pages of the process take no
///           more than a quarter of the mappings that the kernel allows (vm.max_map_count): two mappings a
///           stack. Stacks beyond have no guard page, with one warning on stderr. Their lowest word is read
///           after each switch instead: if it is not 0 the process ends with a message.
/// Memory    A stack in a shared list that is not used for WS_STACK_IDLE_NS gives its pages back to the
///           kernel. Those that threads keep, up to 32 of each size below 256 KiB, hold their pages.
#ifndef WS_STACK_H
#define WS_STACK_H

#include "ws_fiber_process.h"

/// @brief Get a stack of at least @p bytes. @return false = there is no memory
bool ws_stack_get(uint32_t bytes, ws_stack_t *stack);

/// @brief Give it back, for reuse. @return whether stacks went to a shared list, so that ws_stack_trim() is
/// due WS_STACK_IDLE_NS later
bool ws_stack_put(const ws_stack_t *stack);

/// @brief Give back the pages of the shared stacks that have not been used for long.
/// @return when to call again; 0 = no other stack has pages to give back
uint64_t ws_stack_trim(uint64_t now_ns);

/// @brief Count stacks, and pages of them that are in memory.
void ws_stack_count(ws_fiber_stats_t *stats);

/// @return whether the guard page below the stack holds @p address
bool ws_stack_guards(const ws_stack_t *stack, const void *address);

#endif
