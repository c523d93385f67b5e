// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_stack.h
/// Addresses for stacks, as the operating system gives them. Part of the library of fibers; the core's
/// library has no stacks of its own.
#ifndef WS_OS_STACK_H
#define WS_OS_STACK_H

#include <stdbool.h>
#include <stddef.h>

/// Most bytes that the kernel puts on a stack for a signal handler; 0 = unknown.
size_t ws_os_signal_frame_bytes(void);

/// Page-aligned addresses without memory and without access, never for huge pages. @return NULL if there are
/// none
void *ws_os_reserve(size_t bytes);
/// Allow access to a part of them: zeroed memory. @return false = no memory, or too many mappings
bool ws_os_open_pages(void *memory, size_t bytes);
/// Make them again what ws_os_reserve() returned. @return false = too many mappings; nothing has changed
bool ws_os_close_pages(void *memory, size_t bytes);

#endif
