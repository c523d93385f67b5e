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

/// Where the time went: times that an atomic operation of the code at an address took longer than a local
/// one, summed. Off until sim_profile_begin(). Printed a line a place: address behind the operation, us a
/// run, times a run.
void sim_profile_begin(void);
void sim_profile_print(uint32_t lines, double runs);

#endif
