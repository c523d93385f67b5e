// SPDX-License-Identifier: BSD-3-Clause
#ifndef BENCH_FIB_H
#define BENCH_FIB_H

#include <stdint.h>

uint64_t fib(uint32_t n);

#endif
