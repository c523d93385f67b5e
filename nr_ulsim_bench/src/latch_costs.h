// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_costs.h
/// What fibers of a library cost (latch_costs.hpp).
#ifndef LATCH_COSTS_H
#define LATCH_COSTS_H

#include <stdint.h>

#include "report.h" // IWYU pragma: export

void costs_ws(report_t *report, uint32_t count);

/// NULL where Boost.Fiber was not found when this program was built.
__attribute__((weak)) void costs_boost(report_t *report, uint32_t count);

#endif
