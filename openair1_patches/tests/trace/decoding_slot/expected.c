// SPDX-License-Identifier: BSD-3-Clause
/// Before the array of the users that were chosen, in the function of that name only.
#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int max_nb_pusch;
} cell_t;
int decode(const uint8_t *users, int count);

static int nr_ulsch_procedures(cell_t *cell, int frame_rx, int slot_rx, bool *ulsch_to_decode, int *sent)
{
  int64_t scratch[4] __attribute__((aligned(32))) = {*sent};
  int count = 0;
  for (int i = 0; i < cell->max_nb_pusch; i++)
    count += ulsch_to_decode[i];
  if (count == 0) {
    return 0;
  }
  WS_OAI_DECODING_SCOPE(frame_rx, slot_rx, ulsch_to_decode,
                        cell->max_nb_pusch);
  uint8_t ULSCH_ids[count];
  for (int i = 0, at = 0; i < cell->max_nb_pusch; i++)
    if (ulsch_to_decode[i])
      ULSCH_ids[at++] = (uint8_t)i;
  if (scratch[0] == 1)
    return -1;
  return decode(ULSCH_ids, count);
}

int nr_ulsch_check(cell_t *cell, bool *ulsch_to_decode)
{
  uint8_t ULSCH_ids[4] = {0};
  return nr_ulsch_procedures(cell, 1, 2, ulsch_to_decode, &cell->max_nb_pusch) + decode(ULSCH_ids, 4);
}
