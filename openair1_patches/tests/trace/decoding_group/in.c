// SPDX-License-Identifier: BSD-3-Clause
/// Before all else in the function that is given a list; not where users are flagged.
#include <stdbool.h>
#include <stdint.h>

#define must(x) (void)(x)
typedef struct {
  int max_nb_pusch;
} cell_t;
int decode(const int *users, int count);

static int nr_ulsch_procedures(cell_t *cell, int frame_rx, int slot_rx, int *ulsch_to_decode, int nb_pusch,
                               int *sent)
{
  must(nb_pusch > 0);
  int64_t scratch[4] __attribute__((aligned(32))) = {*sent};
  int failed = decode(ulsch_to_decode, nb_pusch);
  for (int at = 0; at < nb_pusch; at++) {
    uint8_t user = ulsch_to_decode[at];
    scratch[0] += user;
  }
  return scratch[0] == 1 ? -1 : failed;
}

int nr_ulsch_check(cell_t *cell, int frame_rx, int slot_rx, int *ulsch_to_decode, int nb_pusch)
{
  return nr_ulsch_procedures(cell, frame_rx, slot_rx, ulsch_to_decode, nb_pusch, &cell->max_nb_pusch);
}
