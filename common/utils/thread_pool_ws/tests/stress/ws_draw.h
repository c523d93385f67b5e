// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_draw.h
/// Random numbers of the programs of ws_joins.h.
#ifndef WS_DRAW_H
#define WS_DRAW_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t draw(uint64_t *random)
{
  uint64_t z = (*random += UINT64_C(0x9E3779B97F4A7C15)); // splitmix64 (Vigna)
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

static inline uint32_t below(uint64_t *random, uint32_t bound)
{
  return (uint32_t)((draw(random) >> 32) * bound >> 32);
}

static inline bool one_in(uint64_t *random, uint32_t count)
{
  return below(random, count) == 0;
}

#endif
