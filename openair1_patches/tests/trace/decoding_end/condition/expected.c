// SPDX-License-Identifier: BSD-3-Clause
/// The loop stands in a condition: the end of the phase comes after that.
typedef struct {
  int respDecode, pool;
} cell_t;
int *pullTpool(int *answers, int *pool);

int phy_procedures_gNB_uespec_RX(cell_t *cell, int frame_rx, int slot_rx)
{
  int sum[8] __attribute__((aligned(32))) = {0};
  int count = 3;
  if (count > 0 && cell->pool == 0) {
    while (count > 0) {
      int *result = pullTpool(&cell->respDecode, &cell->pool);
      if (!result)
        break;
      sum[0] += *result;
      count--;
    }
  }
  WS_OAI_DECODING_END();
  return sum[0];
}
