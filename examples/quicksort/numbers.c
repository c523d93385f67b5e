// SPDX-License-Identifier: BSD-3-Clause
/// @file numbers.c
/// numbers.h.
#include "numbers.h"

/// A bijection of 64 bits in which each bit of the result depends on each bit of @p x: the end of splitmix64
/// (Steele, Lea and Flood 2014).
static uint64_t mix(uint64_t x)
{
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

void numbers_make(int *number, size_t count, uint64_t seed)
{
  for (size_t i = 0; i < count; i++)
    number[i] = (int)(uint32_t)mix(seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

content_t numbers_content(const int *number, size_t count)
{
  content_t content = {0};
  for (size_t i = 0; i < count; i++) {
    const uint64_t value = (uint32_t)number[i];
    content.sum += value;
    content.exclusive_or ^= value;
    content.hash += mix(value + 1);
  }
  return content;
}

bool numbers_same(content_t a, content_t b)
{
  return a.sum == b.sum && a.exclusive_or == b.exclusive_or && a.hash == b.hash;
}

bool numbers_sorted(const int *number, size_t count)
{
  for (size_t i = 1; i < count; i++)
    if (number[i - 1] > number[i])
      return false;
  return true;
}
