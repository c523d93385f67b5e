// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_run.h
/// One measurement of scans in the steady state.
#ifndef LATCH_RUN_H
#define LATCH_RUN_H

#include "latch_scans.h"
#include "latch_writers.h"
#include "report.h"

typedef struct {
  latch_scanning_t scanning;
  latch_writing_t writing; ///< its times are filled in from hold_us and gap_us
  uint32_t tables, blocks, hold_us, gap_us, warm_ms, ms;
  uint64_t block_bytes;
} latch_request_t;

/// @brief Run scans and writers, and report what they did between warm_ms and warm_ms + ms.
void latch_run(report_t *report, const latch_request_t *request);

#endif
