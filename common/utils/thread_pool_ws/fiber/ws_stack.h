// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stack.h
/// Stacks of fibers, kept for reuse: a few by each thread, the others in one shared list for each size.
///
/// Size      A power of two, of at least a page and at least four times the frame that the kernel puts on a
///           stack for a signal: a thread that helps may run fibers with its signals unblocked.
/// Guard     Below each stack lie WS_FIBER_GUARD_BYTES without access, as long as no more than a quarter of
///           the mappings that the kernel allows (vm.max_map_count) are guards. Each costs two mappings,
///           however large it is. Stacks beyond have no guard, with one warning on stderr. Their lowest word
///           is read after each switch instead: if it is not 0 the process ends with a message. Until then
///           what overflows goes to the guard's place, which no other stack uses.
/// Memory    A stack in a shared list that is not used for WS_STACK_IDLE_NS is closed: its memory, its
///           addresses and its mappings go back to the kernel. Those that threads keep, up to 32 of each size
///           below 256 KiB, stay as they are.
/// Slab      Where stacks lie: ws_slab.h.
#ifndef WS_STACK_H
#define WS_STACK_H

#include "ws_fiber_process.h"

/// @brief Get a stack of at least @p bytes. @return false = there is no memory
bool ws_stack_get(uint32_t bytes, ws_stack_t *stack);

/// @brief Give it back, for reuse. @return whether stacks went to a shared list, so that ws_stack_trim() is
/// due WS_STACK_IDLE_NS later
bool ws_stack_put(const ws_stack_t *stack);

/// @brief Put a stack that is used by no fiber and no thread into its shared list. The caller holds the lock.
void ws_stack_shelve(ws_free_stack_t *node, uint64_t now_ns);

/// @brief Close shared stacks that have not been used for long, a limited number of them.
/// @return when to call again, perhaps at once; 0 = there is no other shared stack
uint64_t ws_stack_trim(uint64_t now_ns);

/// @brief Count stacks, and pages of them that are in memory. System calls are made without a lock.
void ws_stack_count(ws_fiber_stats_t *stats);

/// @return whether the guard below the stack holds @p address
bool ws_stack_guards(const ws_stack_t *stack, const void *address);

#endif
