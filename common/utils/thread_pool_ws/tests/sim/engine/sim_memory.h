// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_memory.h
/// Cache lines of the simulated machine. Atomic words only: sim_seam.h says where they come from.
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stddef.h>

#include "sim_thread.h" // IWYU pragma: export

/// @brief A mapping begins or ends there: what lay there before is in no cache. Otherwise a run would depend
/// on which addresses the host uses again.
void sim_memory_forget(const void *memory, size_t bytes);

#endif
