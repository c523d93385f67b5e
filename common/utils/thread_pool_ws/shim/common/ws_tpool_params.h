// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_params.h
/// OAI's parameter string: a list of cores, one thread for each entry. This pool adds entries for pre-wake
/// and for the priority of its tasks.
#ifndef WS_TPOOL_PARAMS_H
#define WS_TPOOL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ws_pool.h"

typedef struct {
  int32_t *cores; ///< malloc'ed; -1 = floats
  uint32_t *entry; ///< malloc'ed; which entry each core is, from 1; NULL: the list was not given as text
  uint32_t count; ///< threads
  bool says_inline; ///< an entry begins with n or N
  char *options; ///< malloc'ed; the entries that begin with "spin" or "prio", each with its 0
  size_t option_bytes; ///< of all of them
} ws_tpool_params_t;

/// @brief Read a comma-separated list of cores. An entry is a core's number, -1 for a thread that floats, or
/// begins with n or N: no thread for it. Blanks around an entry and empty entries are skipped, as OAI does.
/// An entry that begins with "spin" or "prio" is no thread and is kept for ws_tpool_params_apply().
/// @param message  out, of @p message_bytes: which entry is wrong and why
/// @return 0; -EINVAL with @p message set; -ENOMEM
int ws_tpool_params_read(ws_tpool_params_t *params, const char *text, char *message, size_t message_bytes);

/// @brief Apply the entries spin=off|auto|fixed:<us> and spin_cpu_max=<percent>, in any case; of several the
/// last. If an entry is invalid, a warning names it and spin is off; the process continues.
/// @param priority  out: that of the pool's tasks: prio=high|normal|low; normal without one, and if an entry
///                  is invalid, with a warning
void ws_tpool_params_apply(const ws_tpool_params_t *params, ws_settings_t *settings, ws_priority_t *priority);

/// @return the word for @p priority in an entry
const char *ws_tpool_params_priority_name(ws_priority_t priority);

/// @brief Prepare @p count threads that float.
/// @return 0; -ENOMEM
int ws_tpool_params_float(ws_tpool_params_t *params, uint32_t count);

/// @brief Write the list in short: 2,3,-1 x4.
void ws_tpool_params_text(const ws_tpool_params_t *params, char *text, size_t bytes);

void ws_tpool_params_free(ws_tpool_params_t *params);

#endif
