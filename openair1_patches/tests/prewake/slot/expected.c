// SPDX-License-Identifier: BSD-3-Clause
/// Before the reception of a slot, with and without a fourth parameter.
typedef struct {
  int threadPool;
} cell_t;
int phy_procedures_gNB_uespec_RX(cell_t *cell, int frame, int slot, int *indication);

static void rx_func(cell_t *cell[], int frame, int slot)
{
  int indication[16] __attribute__((aligned(32))) = {0};
  if (slot > 7) {
    cell[0]->threadPool = 0;
    WS_OAI_PREWAKE_SLOT(cell[0]);
    phy_procedures_gNB_uespec_RX(cell[0], frame, slot, indication);
  } else {
    WS_OAI_PREWAKE_SLOT(cell[1]);
    phy_procedures_gNB_uespec_RX(cell[1], frame, slot, indication);
  }
}

void receive(cell_t *cell)
{
  rx_func(&cell, 1, 2);
  phy_procedures_gNB_uespec_RX(cell, 1, 2, &cell->threadPool);
}
