// SPDX-License-Identifier: BSD-3-Clause
/// @file stress_rounds.h
/// How long a stress test plays: as many rounds as the test names, on any machine; with WS_STRESS_SECONDS,
/// for that time.
#ifndef STRESS_ROUNDS_H
#define STRESS_ROUNDS_H

#include <stdlib.h>

#include "../support/ws_test.h"

/// What a thread has left to play.
typedef struct {
  uint64_t end_ns; ///< 0 = rounds count
  uint32_t rounds;
} stress_t;

static inline stress_t stress_begin(uint32_t rounds)
{
  const char *seconds = getenv("WS_STRESS_SECONDS");
  return (stress_t){seconds ? test_now_ns() + (uint64_t)(atof(seconds) * 1e9) : 0, rounds};
}

/// @brief Call it after each round. @return whether another one follows
static inline bool stress_goes_on(stress_t *left)
{
  return left->end_ns > 0 ? test_now_ns() < left->end_ns : --left->rounds > 0;
}

#endif
