// SPDX-License-Identifier: BSD-3-Clause
/// @file phy_procedures_nr_gNB.c
/// All users of a slot are demodulated, then decoded together, if there are any.
#include "openair1/uplink.h"

static uint64_t nr_ulsch_procedures(PHY_VARS_gNB *gNB, int frame_rx, int slot_rx, bool *ulsch_to_decode)
{
  int chosen = 0;
  for (int i = 0; i < gNB->max_nb_pusch; i++)
    chosen += ulsch_to_decode[i];
  if (chosen == 0)
    return 0;
  uint8_t ULSCH_ids[chosen];
  int count = 0;
  for (int i = 0; i < gNB->max_nb_pusch; i++)
    if (ulsch_to_decode[i])
      ULSCH_ids[count++] = (uint8_t)i;
  return nr_ulsch_decoding(gNB, (uint32_t)frame_rx, (uint8_t)slot_rx, ULSCH_ids, count);
}

int phy_procedures_gNB_uespec_RX(PHY_VARS_gNB *gNB, int frame_rx, int slot_rx)
{
  bool ulsch_to_decode[USERS_MAX] = {false};
  uint64_t sum = 0;
  for (int i = slot_rx % 4 == 2 ? 0 : 1; i < gNB->max_nb_pusch && slot_rx % 4 != 0; i++) {
    sum = sum * 31 + nr_rx_pusch_tp(gNB, (uint8_t)i, (uint32_t)frame_rx, (uint8_t)slot_rx);
    ulsch_to_decode[i] = true;
  }
  if (gNB->max_nb_pusch == 1)
    start_meas(&gNB->ulsch_decoding_stats);
  const uint64_t decoded = nr_ulsch_procedures(gNB, frame_rx, slot_rx, ulsch_to_decode);
  gNB->sum = gNB->sum * 31 + sum + decoded;
  return 0;
}
