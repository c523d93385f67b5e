// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_heap.h
/// Memory of the simulated program. Each piece has pages of its own and is used once: what touches it after
/// it was freed ends the scenario with a finding, and so does a second free.
#ifndef SIM_HEAP_H
#define SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>

void *sim_heap_malloc(size_t bytes);
void *sim_heap_calloc(size_t count, size_t bytes);
void *sim_heap_memalign(size_t alignment, size_t bytes);
void sim_heap_free(void *memory);

/// @return whether it was allocated and has not been freed. NULL is not.
bool sim_heap_is_live(const void *memory);

/// @brief From now on also mappings that are given back are touched with a finding.
void sim_heap_watch(void);

#endif
