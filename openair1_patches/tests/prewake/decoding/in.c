// SPDX-License-Identifier: BSD-3-Clause
/// Before a user's segments are pushed.
typedef struct {
  int threadPool;
} cell_t;
int nr_ulsch_procedures(cell_t *cell, int frame, int slot, int user);

int phy_procedures_gNB_uespec_RX(cell_t *cell, int frame_rx, int slot_rx)
{
  int pushed[16] __attribute__((aligned(32))) = {0};
  for (int user = 0; user < 16; user++) {
    pushed[user] = user;
    int const tasks = nr_ulsch_procedures(cell, frame_rx, slot_rx, user);
    pushed[user] += tasks;
  }
  return pushed[0];
}

int decode_again(cell_t *cell)
{
  int const tasks = nr_ulsch_procedures(cell, 1, 2, 3);
  return tasks;
}
