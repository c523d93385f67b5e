// SPDX-License-Identifier: BSD-3-Clause
/// The entry of one function, whatever else it has as parameters; its declaration and its callers stay.
#include <stdint.h>

int nr_ulsch_decoding(int *cell, uint8_t ULSCH_id, short *soft, uint32_t frame, uint8_t nr_tti_rx, int bits);

int nr_ulsch_decoding(int *cell, uint8_t ULSCH_id, short *soft, uint32_t frame, uint8_t nr_tti_rx, int bits)
{
  WS_OAI_DECODING_BEGIN(frame, nr_tti_rx, ULSCH_id);
  if (!soft) {
    return -1;
  }
  int8_t packed[64] __attribute__((aligned(16))) = {0};
  cell[0] = packed[bits % 64];
  return 1;
}

int decode_again(int *cell, short *soft)
{
  return nr_ulsch_decoding(cell, 0, soft, 1, 2, 3);
}
