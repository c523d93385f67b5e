// SPDX-License-Identifier: BSD-3-Clause
/// The loop that pulls what the decoder answers, and others: of another answer, in another function.
#include <stdint.h>

typedef struct {
  int respDecode, respOther, pool;
} cell_t;
int *pullTpool(int *answers, int *pool);

int phy_procedures_gNB_uespec_RX(cell_t *cell, int frame_rx, int slot_rx)
{
  int64_t sum[8] __attribute__((aligned(32))) = {0};
  int count = 3;
  while (count > 0) {
    int *other = pullTpool(&cell->respOther, &cell->pool);
    sum[0] += *other;
    count--;
  }
  count = 3;
  while (count > 0) {
    int *result = pullTpool(&cell->respDecode, &cell->pool);
    if (!result)
      break;
    sum[0] += *result;
    count--;
  }
  WS_OAI_DECODING_END();
  return sum[0] > 0;
}

void something_else(cell_t *cell, int frame_rx, int slot_rx)
{
  while (slot_rx > 0) {
    slot_rx -= *pullTpool(&cell->respDecode, &cell->pool);
  }
}
