// SPDX-License-Identifier: BSD-3-Clause
/// @file nr_ulsch_demodulation.c
/// Demodulation without a task.
#include "nr_ulsch.h"
#include "openair1/uplink.h"

uint64_t nr_rx_pusch(PHY_VARS_gNB *gNB, uint8_t ulsch_id, uint32_t frame, uint8_t slot)
{
  uint64_t seed[4] __attribute__((aligned(32))) = {ulsch_id, frame, slot, 1};
  if (gNB->max_nb_pusch == 1)
    return seed[0];
  for (int i = 0; i < SYMBOLS; i++)
    seed[0] = seed[0] * 31 + seed[1] + seed[2] + seed[3];
  return seed[0];
}
