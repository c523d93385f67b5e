// SPDX-License-Identifier: BSD-3-Clause
/// Before the reception of a slot; a call without a result is none of nr_ulsim's.
typedef struct {
  int threadPool;
} cell_t;
int phy_procedures_gNB_uespec_RX(cell_t *cell, int frame, int slot, int *indication);

int main(int argc, char *argv[])
{
  int indication[16] __attribute__((aligned(32))) = {0};
  static cell_t cell;
  int failed = 0;
  for (int trial = 0; trial < argc; trial++) {
    failed = phy_procedures_gNB_uespec_RX(&cell, 1, trial, indication);
    if (failed && argv[trial])
      break;
  }
  phy_procedures_gNB_uespec_RX(&cell, 2, 3, indication);
  return failed;
}
