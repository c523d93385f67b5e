// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_shim.h
/// What the scenarios of all shapes of the shim share. The plan of a pool (sim_scenario.h) means here:
/// aborts = two threads abort it at the same time; destroys = it is never aborted; the class is what the
/// host's threadCreate does.
#ifndef SIM_SHIM_H
#define SIM_SHIM_H

#include "sim_play.h" // IWYU pragma: export
#include "ws_tpool.h" // IWYU pragma: export

#define SIM_SHIM_PARAMS_BYTES 256u

/// @brief A pool is about to be made. @param params  out: its list of cores, with entries for spinning
void sim_shim_make_begin(uint32_t index, char params[SIM_SHIM_PARAMS_BYTES]);
/// @brief It is made. @param tpool  what its tpool stands for, which is never freed
void sim_shim_make_end(uint32_t index, const ws_tpool_t *tpool);
bool sim_shim_is_made(uint32_t index);

/// @brief As in sim_play.h.
void sim_shim_look(void);
/// @brief As in sim_play.h: nothing, because the abort ends a pool.
void sim_shim_destroy(uint32_t index, bool stopped);

/// @brief A thread is about to push a burst: shall the pool be told? @return whether
bool sim_shim_is_hinted(const sim_burst_t *burst, bool begins);

/// @brief Abort a pool by @p abort_pool, from two threads at once where the plan says so.
void sim_shim_abort(uint32_t index, void (*abort_pool)(uint32_t index));

/// @brief Everything is over, and the pools are aborted or left: checks threads, memory and tasks. The next
/// round begins. @return first record of the round that has ended
uint32_t sim_shim_end(void);

#endif
