// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_block_task.c
/// ws_record.h: the function of the tasks that lie in blocks; a block from the shelves of the calling thread
/// (ws_block.h).
#include "../include/ws_record.h"
#include "ws_block.h"
#include "ws_process.h"

/// What ws_record_func() returns. In this file only: a copy in another library would have another address.
static void settle_run(void *object)
{
  ((ws_record_t *)object)->settle(object, WS_RECORD_RUN);
}

static void settle_skipped(void *object)
{
  ((ws_record_t *)object)->settle(object, WS_RECORD_SKIPPED);
}

void (*ws_record_func(void))(void *record)
{
  return settle_run;
}

const ws_skip_t ws_skips_of_blocks = {.func = settle_run, .skip = settle_skipped};

/// Allocate a block. @param home  its shelf; NULL = none. @param bytes  with the address of the shelf
/// @return NULL: no memory
static void *make(ws_block_shelf_t *home, size_t bytes)
{
  ws_block_shelf_t **raw = ws_os_lines(bytes);
  if (!raw)
    return NULL;
  *raw = home;
  return raw + 1;
}

/// @return NULL: no memory, or the thread's end would not be seen
static ws_block_shelf_t *open_shelf(uint32_t index)
{
  if (!ws_process_see_end(ws_self()))
    return NULL;
  ws_block_shelf_t *shelf = ws_os_lines(sizeof(*shelf));
  if (!shelf)
    return NULL;
  *shelf = (ws_block_shelf_t){.index = index};
  ws_block_shelves.of[index] = shelf;
  return shelf;
}

/// The thread has no free block of that size. @param bytes  with the address of the shelf
/// @return a block, without a shelf if it is too large, the thread ends or has no shelf; NULL: no memory
__attribute__((noinline)) static void *take_seldom(size_t bytes, uint32_t index)
{
  if (bytes > 256 || ws_block_shelves.ended)
    return make(NULL, bytes);
  ws_block_shelf_t *from = ws_block_shelves.of[index] ? ws_block_shelves.of[index] : open_shelf(index);
  if (!from)
    return make(NULL, bytes);
  if (ws_hint_load(&from->returned)) // the exchange looks again
    from->mine = ws_xchg_acq_rel(&from->returned, NULL); // [edge BLOCKS acq_rel] what their last users wrote
  void *block = from->mine;
  if (block) {
    from->mine = *ws_block_next(block);
    return block;
  }
  block = make(from, (size_t)64 << index);
  from->made += block != NULL;
  return block;
}

__attribute__((noinline)) void *ws_block_take(size_t bytes)
{
  __asm__ volatile("");
  bytes += sizeof(ws_block_shelf_t *);
  const uint32_t index = bytes <= 64 ? 0 : bytes <= 128 ? 1 : 2;
  ws_block_shelf_t *from = bytes <= 256 ? ws_block_shelves.of[index] : NULL;
  void *block = from ? from->mine : NULL;
  if (WS_UNLIKELY(!block))
    return take_seldom(bytes, index);
  from->mine = *ws_block_next(block);
  return block;
}
