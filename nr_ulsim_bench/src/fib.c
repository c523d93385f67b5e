// SPDX-License-Identifier: BSD-3-Clause
// The coliseum's work. Compiled once, without inlining, for all pools: gcc and clang unroll the recursion
// differently, and that difference is larger than the one between the pools.
#include "fib.h"

uint64_t fib(uint32_t n)
{
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
