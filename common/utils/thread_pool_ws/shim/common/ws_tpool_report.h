// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_report.h
/// A report on each pool of the host, printed when the pool ends, at the latest when the
/// process ends: several of the host's programs never end their pools.
#ifndef WS_TPOOL_REPORT_H
#define WS_TPOOL_REPORT_H

#include "ws_tpool_object.h"

/// @brief Plan the report about @p tpool.
/// @param name  copied
void ws_tpool_report_later(ws_tpool_t *tpool, const char *name);

/// @brief Print the report, if one is planned and was not printed yet. The caller keeps the pool from being
/// freed.
void ws_tpool_report(ws_tpool_t *tpool);

#endif
