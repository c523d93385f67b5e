// SPDX-License-Identifier: BSD-3-Clause
/// @file supervise.h
/// Runs each measurement in a process of its own, so that a pool that hangs or crashes costs one result only.
#ifndef BENCH_SUPERVISE_H
#define BENCH_SUPERVISE_H

#include "report.h"
#include "request.h"

/// @brief Let a child process serve @p request; kill it when it takes longer than request->limit_s.
/// @param report  out: the child's report, or why there is none
void supervise(const request_t *request, report_t *report);

#endif
