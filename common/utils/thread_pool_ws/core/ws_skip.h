// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_skip.h
/// The report of a task that an abort skips.
#ifndef WS_SKIP_H
#define WS_SKIP_H

#include "../pool/ws_types.h"

/// @brief Report a task without a key that does not run: settle its record (ws_record.h), or call
/// settings.skipped.
WS_FOR_FIBERS void ws_skip_report(const struct ws_pool_s *pool, const ws_task_t *task);

#endif
