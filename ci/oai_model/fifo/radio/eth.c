// SPDX-License-Identifier: BSD-3-Clause
/// @file eth.c
/// The module: opened at run time, links nothing of the pool, makes a pool of its own.
#include "executables/softmodem.h"

uint64_t eth_burst(uint64_t seed)
{
  MODEL_SAY_HEADER("eth.c");
  tpool_t *pool = malloc(sizeof(*pool)); // not zeroed, as there
  initTpool("-1,-1", pool, false);
  const uint64_t sum = ulsch_burst(pool, 16, seed);
  abortTpool(pool);
  free(pool);
  return sum;
}
