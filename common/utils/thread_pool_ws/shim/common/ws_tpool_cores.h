// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_cores.h
/// The cores that the host's threadCreate can pin a thread to. At any other core threadCreate ends the
/// process, with an assertion that names neither the entry of the list nor the valid cores.
#ifndef WS_TPOOL_CORES_H
#define WS_TPOOL_CORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// @return the index of the first of @p count cores that no thread of this process can be pinned to; -1 =
///         none, or unknown. -1 among the cores stands for a thread that floats
int64_t ws_tpool_cores_bad(const int32_t *cores, uint32_t count);

/// @brief Write the cores that this process can use, as ranges: 0-3,8.
void ws_tpool_cores_text(char *text, size_t bytes);

/// Whether the threads of a list can run at the same time.
typedef enum {
  WS_TPOOL_APART, ///< they can
  WS_TPOOL_ONE_CORE, ///< all threads share one core of the machine, which has others
  WS_TPOOL_ISOLATED, ///< several float, over isolated CPUs alone: the kernel keeps them all on one of these
} ws_tpool_place_t;

/// @param cores  as above; NULL: all @p count threads float, over the caller's CPUs
/// @param text   [out] the CPUs that they may use, as ranges
/// @return whether they can run at the same time
ws_tpool_place_t ws_tpool_cores_place(const int32_t *cores, uint32_t count, char *text, size_t bytes);

/// @return whether the calling thread has CAP_SYS_NICE: without it threadCreate pins no thread and gives
/// none a priority
bool ws_tpool_may_pin(void);

#endif
