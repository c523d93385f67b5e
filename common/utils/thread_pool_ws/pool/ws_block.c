// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_block.c
/// ws_record.h: give a block back. ws_block.h: what becomes of a thread's shelves at its end.
#include "ws_block.h"

#include "../include/ws_record.h"

_Thread_local ws_block_shelves_t ws_block_shelves;

/// Free the blocks of a chain (ws_block_next()). @return how many there were
static uint64_t destroy_chain(void *block)
{
  uint64_t count = 0;
  for (; block; count++) {
    void *next = *ws_block_next(block);
    ws_os_lines_free(ws_block_home(block));
    block = next;
  }
  return count;
}

/// Add to `out`; free the shelf when the sum is 0.
/// @param blocks  by the ending owner: those still in use; by a thread that gives one of these back: -1
static void settle_shelf(ws_block_shelf_t *shelf, uint64_t blocks)
{
  if (ws_add_acq_rel(&shelf->out, blocks) + blocks == 0) // [edge BLOCKS acq_rel] each use before the end
    ws_os_lines_free(shelf);
}

void ws_blocks_end(void)
{
  ws_block_shelves.ended = true;
  for (uint32_t i = 0; i < WS_BLOCK_SHELVES; i++) {
    ws_block_shelf_t *shelf = ws_block_shelves.of[i];
    ws_block_shelves.of[i] = NULL;
    if (!shelf)
      continue;
    void *back = ws_xchg_acq_rel(&shelf->returned, shelf); // [edge BLOCKS acq_rel]
    settle_shelf(shelf, shelf->made - destroy_chain(shelf->mine) - destroy_chain(back));
  }
}

/// Add the block to the list of its shelf, @p home, which the caller does not own. If that list is CLOSED,
/// free the block, and with the last one the shelf.
__attribute__((noinline)) static void give_back(ws_block_shelf_t *home, void *block)
{
  void *head = ws_expected_load(&home->returned);
  do {
    if (head == home) { // CLOSED
      ws_os_lines_free(ws_block_home(block));
      settle_shelf(home, (uint64_t)-1);
      return;
    }
    *ws_block_next(block) = head;
    // [edge BLOCKS acq_rel] the end of the block's use. Afterwards the shelf may be gone
  } while (!ws_cas_acq_rel(&home->returned, &head, block));
}

__attribute__((noinline)) void ws_block_give(void *block)
{
  __asm__ volatile("");
  ws_block_shelf_t *home = *ws_block_home(block);
  if (WS_UNLIKELY(!home)) {
    ws_os_lines_free(ws_block_home(block));
  } else if (home == ws_block_shelves.of[home->index]) {
    *ws_block_next(block) = home->mine;
    home->mine = block;
  } else {
    give_back(home, block);
  }
}
