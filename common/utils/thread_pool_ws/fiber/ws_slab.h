// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_slab.h
/// A slab: several stacks of one size (ws_stack.h) in one mapping, each above a guard of its own. A place in
/// a slab is closed, without memory and without access, or open: a stack. Closed places and guards that lie
/// side by side are one mapping of the kernel. A slab without a stack is unmapped.
#ifndef WS_SLAB_H
#define WS_SLAB_H

#include "ws_fiber_process.h" // IWYU pragma: export

// The caller of each ws_slab function holds stack_lock.

/// @brief Open a stack. @return false = there is no memory
bool ws_slab_open(uint32_t size_class, ws_stack_t *stack);

/// @brief Close the stack: give back its memory, its mappings, and perhaps the slab. Lets go of the lock
/// meanwhile. @return false = the kernel refuses, the stack is still open
bool ws_slab_close(const ws_stack_t *stack);

/// @brief Keep a slab where it is, for a reader without the lock. @param slab  may be NULL. @return @p slab
ws_slab_t *ws_slab_pin(ws_slab_t *slab);

/// @brief Undo ws_slab_pin(). Lets go of the lock if the slab is unmapped.
void ws_slab_unpin(ws_slab_t *slab);

#endif
