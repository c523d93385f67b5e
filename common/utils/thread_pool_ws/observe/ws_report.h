// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_report.h
/// The report of a pool that stops, for its user.
#ifndef WS_REPORT_H
#define WS_REPORT_H

#include "../pool/ws_types.h"

/// @brief ws_pool_report() on stderr, if the settings ask for it.
void ws_report_at_stop(struct ws_pool_s *pool);

#endif
