// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_report.h
/// A page of statistics about each pool of the host, when it ends, or else when the process does: several of
/// the host's programs never end their pools.
#ifndef WS_TPOOL_REPORT_H
#define WS_TPOOL_REPORT_H

#include "ws_tpool_object.h"

/// @brief From now on there will be one about @p tpool.
/// @param name  copied
void ws_tpool_report_later(ws_tpool_t *tpool, const char *name);

/// @brief Print it, if there is to be one and has been none yet. The caller keeps the pool from being freed.
void ws_tpool_report(ws_tpool_t *tpool);

#endif
