// SPDX-License-Identifier: BSD-3-Clause
/// @file nr-gnb.c
/// The thread that receives a slot.
#include "openair1/uplink.h"

typedef struct {
  PHY_VARS_gNB *gNB;
  int frame_rx, slot_rx;
} received_t;

static void rx_func(received_t *info)
{
  PHY_VARS_gNB *gNB = info->gNB;
  phy_procedures_gNB_uespec_RX(gNB, info->frame_rx, info->slot_rx);
}

void l1_slot(PHY_VARS_gNB *gNB, int frame, int slot)
{
  received_t info = {.gNB = gNB, .frame_rx = frame, .slot_rx = slot};
  rx_func(&info);
}
