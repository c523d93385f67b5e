// SPDX-License-Identifier: BSD-3-Clause
/// @file ulsch.c
/// The caller with the usual spelling.
#include "common/utils/threadPool/thread-pool.h"
#include "executables/softmodem.h"

typedef struct {
  uint64_t value;
  uint32_t rounds;
} segment_t;

static void decode(void *arg)
{
  segment_t *segment = arg;
  for (uint32_t i = 0; i < segment->rounds; i++)
    segment->value = segment->value * 6364136223846793005u + 1442695040888963407u;
}

uint64_t ulsch_burst(tpool_t *pool, uint32_t count, uint64_t seed)
{
  notifiedFIFO_t done; // on the stack, gone right after the last pull
  initNotifiedFIFO(&done);
  for (uint32_t i = 0; i < count; i++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(segment_t), i, &done, decode);
    *(segment_t *)NotifiedFifoData(elt) = (segment_t){.value = seed + i, .rounds = 100 + 37 * i};
    pushTpool(pool, elt);
  }
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; i++) {
    notifiedFIFO_elt_t *elt = pullTpool(&done, pool);
    sum += ((segment_t *)NotifiedFifoData(elt))->value * (2 * elt->key + 1);
    delNotifiedFIFO_elt(elt);
  }
  return sum;
}
