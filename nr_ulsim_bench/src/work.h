// SPDX-License-Identifier: BSD-3-Clause
/// @file work.h
/// Work that is compiled once, without inlining, for all pools: gcc and clang unroll it differently, and that
/// difference is larger than the one between the pools.
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stdint.h>

/// The coliseum's.
uint64_t fib(uint32_t n);

/// @return the sum of 4 / (1 + x * x) at the midpoints of the intervals [first, end), of so many from 0 to 1
double pi_sum(uint64_t intervals, uint64_t first, uint64_t end);

#endif
