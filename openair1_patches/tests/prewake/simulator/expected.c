// SPDX-License-Identifier: BSD-3-Clause
/// Before the outer of two loops around the front end; a single loop is none of ours.
typedef struct {
  int threadPool, frame_parms;
} cell_t;
void nr_slot_fep_ul(int *parms, int symbol, int antenna);

int main(int argc, char *argv[])
{
  cell_t cells[2] __attribute__((aligned(32))) = {{0}};
  cell_t *cell = &cells[argc > 1 && argv[1]];
  for (int trial = 0; trial < 3; trial++) {
    cell->frame_parms++;
    WS_OAI_PREWAKE_SLOT(cell);
    for (unsigned char symbol = 0; symbol < (trial == 1 ? 12 : 14); symbol++) {
      for (int antenna = 0; antenna < 2; antenna++)
        nr_slot_fep_ul(&cell->frame_parms, symbol, antenna);
    }
  }
  for (int antenna = 0; antenna < 2; antenna++)
    nr_slot_fep_ul(&cell->frame_parms, 0, antenna);
  return 0;
}
