// SPDX-License-Identifier: BSD-3-Clause
/// @file pi_sum.h
/// The work of ws-pi, compiled once for all libraries.
#ifndef PI_SUM_H
#define PI_SUM_H

#include <stdint.h>

/// @return the sum of 4 / (1 + x * x) at the midpoints of the intervals [first, end)
double pi_sum(uint64_t intervals, uint64_t first, uint64_t end);

#endif
