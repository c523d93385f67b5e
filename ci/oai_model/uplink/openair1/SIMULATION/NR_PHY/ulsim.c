// SPDX-License-Identifier: BSD-3-Clause
/// @file ulsim.c
/// nr_ulsim: the front end without tasks, then the slot.
#include "openair1/uplink.h"

int main(void)
{
  static PHY_VARS_gNB cell = {.frame_parms = {14}, .max_nb_pusch = 3}, *gNB = &cell;
  int failed = 0;
  DECODING_INIT(gNB);
  initFloatingCoresTpool(2, &gNB->threadPool, false, "gNB-tpool");
  for (int slot = 0; slot < 8; slot++) {
    for (int symbol = 0; symbol < gNB->frame_parms.symbols; symbol++) {
      for (int antenna = 0; antenna < 2; antenna++)
        nr_slot_fep_ul(&gNB->frame_parms, symbol, antenna, &gNB->sum);
    }
    const int before = failed;
    failed = phy_procedures_gNB_uespec_RX(gNB, 7, slot);
    failed += before;
  }
  printf("result %016" PRIx64 "\n", gNB->sum);
  return failed;
}
