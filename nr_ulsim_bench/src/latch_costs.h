// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_costs.h
/// What fibers of one library cost: a switch, a mutex that is passed on, a fiber, and many that sleep.
#ifndef LATCH_COSTS_H
#define LATCH_COSTS_H

#include "report.h"

typedef enum { COST_WS, COST_JUMP, COST_BOOST } cost_of_t;

typedef struct {
  cost_of_t of;
  uint32_t count; ///< of switches; locks and fibers are a tenth of it
  uint32_t sleepers; ///< fibers that sleep at once
  uint32_t spread_ms; ///< their deadlines lie so far apart
} cost_request_t;

void costs_measure(report_t *report, const cost_request_t *request);

#endif
