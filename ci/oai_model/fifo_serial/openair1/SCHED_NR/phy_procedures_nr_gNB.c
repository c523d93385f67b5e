// SPDX-License-Identifier: BSD-3-Clause
/// @file phy_procedures_nr_gNB.c
/// As fifo/, where the results are pulled in a condition.
#include "openair1/uplink.h"

static int nr_ulsch_procedures(PHY_VARS_gNB *gNB, int frame_rx, int slot_rx, int ULSCH_id)
{
  return nr_ulsch_decoding(gNB, (uint8_t)ULSCH_id, (uint32_t)frame_rx, (uint8_t)slot_rx);
}

static void collect(PHY_VARS_gNB *gNB, notifiedFIFO_elt_t *elt)
{
  gNB->sum += *(uint64_t *)NotifiedFifoData(elt);
  delNotifiedFIFO_elt(elt);
}

int phy_procedures_gNB_uespec_RX(PHY_VARS_gNB *gNB, int frame_rx, int slot_rx)
{
  uint64_t seed[2] __attribute__((aligned(32))) = {0};
  int waiting = 0;
  for (int i = slot_rx % 4 == 2 ? 0 : 1; i < gNB->max_nb_pusch && slot_rx % 4 != 0; i++) {
    seed[0] = seed[0] * 31 + nr_rx_pusch(gNB, (uint8_t)i, (uint32_t)frame_rx, (uint8_t)slot_rx);
    int const tasks = nr_ulsch_procedures(gNB, frame_rx, slot_rx, i);
    if (tasks > 0)
      waiting += tasks;
  }
  if (waiting > 0 && gNB->max_nb_pusch > 0) {
    while (waiting > 0) {
      notifiedFIFO_elt_t *elt = pullTpool(&gNB->respDecode, &gNB->threadPool);
      if (elt == NULL)
        break;
      collect(gNB, elt);
      waiting--;
    }
  }
  gNB->sum = gNB->sum * 31 + seed[0];
  return 0;
}
