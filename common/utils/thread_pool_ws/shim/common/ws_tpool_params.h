// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_params.h
/// OAI's parameter string: a list of cores, one thread for each entry. Beside them stand settings of this
/// pool (ws_settings_list).
#ifndef WS_TPOOL_PARAMS_H
#define WS_TPOOL_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ws_pool.h"

typedef struct {
  ws_settings_t settings; ///< prepared by the caller; those of the list take precedence
  const char *text; ///< the list, the caller's; NULL: the list was not given as text
  int32_t *cores; ///< malloc'ed; -1 = floats
  uint32_t *entry; ///< malloc'ed; which entry each core is, from 1; NULL as text
  uint32_t count; ///< threads
  bool says_inline; ///< an entry begins with n or N
  bool invalid; ///< an entry is neither a core nor n nor a setting
} ws_tpool_params_t;

/// @brief Read a comma-separated list. An entry is a setting, a core's number, -1 for a thread that floats,
/// or begins with n or N: no thread for it. Blanks around an entry and empty entries are skipped, as OAI
/// does. Each invalid entry gives a warning (params->settings.warn). After an invalid setting the process
/// continues.
/// @param params  zeroed but for the settings
/// @return 0; -EINVAL if an entry is invalid that is no setting; -ENOMEM
int ws_tpool_params_read(ws_tpool_params_t *params, const char *text);

/// @brief Prepare @p count threads that float.
/// @return 0; -ENOMEM
int ws_tpool_params_float(ws_tpool_params_t *params, uint32_t count);

/// @brief Write the list of cores in short: 2,3,-1 x4.
void ws_tpool_params_text(const ws_tpool_params_t *params, char *text, size_t bytes);

void ws_tpool_params_free(ws_tpool_params_t *params);

#endif
