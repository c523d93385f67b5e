// SPDX-License-Identifier: BSD-3-Clause
/// @file nr_ulsch_decoding.c
/// The segments of one user, pushed only; user 3 has none and says so.
#include "nr_ulsch.h"
#include "openair1/uplink.h"

static void decode(void *arg)
{
  uint64_t *value = arg;
  *value = *value * 6364136223846793005u + 1;
}

int nr_ulsch_decoding(PHY_VARS_gNB *gNB, uint8_t ULSCH_id, uint32_t frame, uint8_t nr_tti_rx)
{
  if (ULSCH_id == 3)
    return -1;
  for (int i = 0; i < SEGMENTS; i++) {
    notifiedFIFO_elt_t *elt = newNotifiedFIFO_elt(sizeof(uint64_t), 0, &gNB->respDecode, decode);
    *(uint64_t *)NotifiedFifoData(elt) = ULSCH_id + frame + nr_tti_rx + (uint64_t)i;
    pushTpool(&gNB->threadPool, elt);
  }
  return SEGMENTS;
}
