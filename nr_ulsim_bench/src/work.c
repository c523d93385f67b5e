// SPDX-License-Identifier: BSD-3-Clause
#include "work.h"

uint64_t fib(uint32_t n)
{
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

double pi_sum(uint64_t intervals, uint64_t first, uint64_t end)
{
  const double width = 1.0 / (double)intervals;
  double sum = 0;
  for (uint64_t i = first; i < end; i++) {
    const double x = ((double)i + 0.5) * width;
    sum += 4 / (1 + x * x);
  }
  return sum;
}
