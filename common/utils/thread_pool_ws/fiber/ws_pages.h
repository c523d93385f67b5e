// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pages.h
/// Addresses for the stacks of fibers. Tests replace these at link time (--wrap).
#ifndef WS_PAGES_H
#define WS_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/// Most bytes that the kernel puts on a stack for a signal handler; 0 = unknown.
size_t ws_pages_signal_frame(void);

/// Page-aligned addresses without memory and without access, never for huge pages. @return NULL if there are
/// none
void *ws_pages_reserve(size_t bytes);

/// Allow access to a part of them: zeroed memory. @return false = no memory, or too many mappings
bool ws_pages_open(void *memory, size_t bytes);

/// Make them again what ws_pages_reserve() returned. @return false = too many mappings; nothing has changed
bool ws_pages_close(void *memory, size_t bytes);

#endif
