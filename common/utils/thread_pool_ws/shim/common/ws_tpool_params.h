// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_params.h
/// OAI's parameter string: a list of cores, one thread an entry.
#ifndef WS_TPOOL_PARAMS_H
#define WS_TPOOL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  int32_t *cores; ///< malloc'ed; -1 = floats
  uint32_t count; ///< threads
  bool says_inline; ///< an entry begins with n or N
} ws_tpool_params_t;

/// @brief Read a comma-separated list of cores. An entry is a core's number, -1 for a thread that floats, or
/// begins with n or N: no thread for it. Blanks around an entry and empty entries are skipped, as OAI does.
/// @param message  out, of @p message_bytes: which entry is wrong and why
/// @return 0; -EINVAL with @p message set; -ENOMEM
int ws_tpool_params_read(ws_tpool_params_t *params, const char *text, char *message, size_t message_bytes);

/// @brief @p count threads that float.
/// @return 0; -ENOMEM
int ws_tpool_params_float(ws_tpool_params_t *params, uint32_t count);

void ws_tpool_params_free(ws_tpool_params_t *params);

#endif
