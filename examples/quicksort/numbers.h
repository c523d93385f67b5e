// SPDX-License-Identifier: BSD-3-Clause
/// @file numbers.h
/// The numbers to sort: made from a seed, and checked.
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What does not depend on the order of the numbers. Two arrays with the same content hold the same numbers,
/// each as often, but for a chance of 1 in 2^64.
typedef struct {
  uint64_t sum, exclusive_or;
  uint64_t hash; ///< the sum of a hash of each number
} content_t;

/// @brief Make the numbers of a seed: any int, equally likely.
void numbers_make(int *number, size_t count, uint64_t seed);

content_t numbers_content(const int *number, size_t count);
bool numbers_same(content_t a, content_t b);
bool numbers_sorted(const int *number, size_t count);

#endif
