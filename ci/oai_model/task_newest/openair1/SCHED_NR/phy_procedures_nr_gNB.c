// SPDX-License-Identifier: BSD-3-Clause
/// @file phy_procedures_nr_gNB.c
/// Groups of one user each are demodulated; then the users that are listed are decoded together.
#include "openair1/uplink.h"

static uint64_t nr_ulsch_procedures(PHY_VARS_gNB *gNB, int frame_rx, int slot_rx, int *ulsch_to_decode,
                                    int nb_pusch)
{
  AssertFatal(nb_pusch > 0, "nobody sends");
  uint8_t users[nb_pusch];
  for (int i = 0; i < nb_pusch; i++)
    users[i] = (uint8_t)ulsch_to_decode[i];
  return nr_ulsch_decoding(gNB, (uint32_t)frame_rx, (uint8_t)slot_rx, users, nb_pusch);
}

int phy_procedures_gNB_uespec_RX(PHY_VARS_gNB *gNB, int frame_rx, int slot_rx)
{
  int users[USERS_MAX], count = 0;
  uint64_t sum = 0;
  for (int i = slot_rx % 4 == 2 ? 0 : 1; i < gNB->max_nb_pusch && slot_rx % 4 != 0; i++) {
    meter_t *group[] = {&gNB->pusch_vars[i]};
    sum = sum * 31 + nr_rx_pusch_group_tp(gNB, group, 1, (uint32_t)frame_rx, (uint8_t)slot_rx);
    users[count++] = i;
  }
  if (count > 0)
    sum += nr_ulsch_procedures(gNB, frame_rx, slot_rx, users, count);
  gNB->sum = gNB->sum * 31 + sum;
  return 0;
}
