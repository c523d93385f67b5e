// SPDX-License-Identifier: BSD-3-Clause
/// @file nr_ulsch_decoding.c
/// The segments of all users of a slot, pushed and joined.
#include "nr_ulsch.h"
#include "openair1/uplink.h"

uint64_t nr_ulsch_decoding(PHY_VARS_gNB *gNB, uint32_t frame, uint8_t slot, uint8_t *ULSCH_ids, int count)
{
  uint64_t sum = 0;
  for (int i = 0; i < count; i++)
    sum = sum * 31 + ulsch_burst(&gNB->threadPool, SEGMENTS, ULSCH_ids[i] + frame + slot);
  return sum;
}
