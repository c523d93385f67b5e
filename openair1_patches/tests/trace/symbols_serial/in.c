// SPDX-License-Identifier: BSD-3-Clause
/// A function with two ways out, parameters in two lines and an aligned array; and one with another name.
#include <stdint.h>

void nr_rx_pusch(int *cell,
                 uint8_t ulsch_id, uint32_t frame, uint8_t slot, unsigned char harq)
{

  int16_t scratch[64] __attribute__((aligned(32))) = {0};
  if (cell[0] == harq)
    return;
  cell[0] = scratch[1];
}

void nr_rx_pusch_again(int *cell, uint8_t ulsch_id, uint32_t frame, uint8_t slot)
{
  cell[0]++;
}
