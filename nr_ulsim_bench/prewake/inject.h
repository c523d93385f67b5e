// SPDX-License-Identifier: BSD-3-Clause
/// @file inject.h
/// Makes this machine another one: each wake of a worker takes longer than it does here.
/// The linker puts it between the pool and the kernel (--wrap).
#ifndef PREWAKE_INJECT_H
#define PREWAKE_INJECT_H

#include <stdint.h>

/// @brief From now on a worker that has slept computes for @p delay_ns before it goes on, and in
/// @p bimodal_percent of the cases, by chance, for four times as long.
void inject_set(uint64_t delay_ns, uint32_t bimodal_percent, uint64_t seed);

/// @return CPU time that all threads have spent so: no part of what the pool costs
uint64_t inject_cpu_ns(void);

#endif
