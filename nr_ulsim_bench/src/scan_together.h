// SPDX-License-Identifier: BSD-3-Clause
/// @file scan_together.h
/// Threads that begin at the same moment.
#ifndef SCAN_TOGETHER_H
#define SCAN_TOGETHER_H

#include "scan_nodes.h"

/// @brief Call func(arg, index) for each index below @p count, on a new thread each, from one moment on.
/// One call alone is made by the calling thread.
/// @param cpu_of  the CPU to which the thread is pinned; NULL = the thread may run on all of @p nodes
/// @return ns until the last call has returned; 0 = the threads could not be made
uint64_t together(uint32_t count, const nodes_t *nodes, uint32_t (*cpu_of)(const nodes_t *, uint32_t index),
                  void (*func)(void *arg, uint32_t index), void *arg);

#endif
