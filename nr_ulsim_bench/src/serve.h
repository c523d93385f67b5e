// SPDX-License-Identifier: BSD-3-Clause
/// @file serve.h
/// From a request to its report, inside the process of one measurement.
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include "session.h"

/// @brief Serve @p request and fill @p report.
/// Loads the pool's module, creates the pool, starts its threads, drops the producer's class, measures.
/// @param session  out: what session_close() needs
void serve(session_t *session, const request_t *request, report_t *report);

#endif
