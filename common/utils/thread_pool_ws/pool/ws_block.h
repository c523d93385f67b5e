// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_block.h
/// Blocks (ws_record.h), which each thread uses again, so that a submit in the steady state calls neither
/// malloc nor a lock.
///
/// A thread has a shelf of free blocks for each of three sizes. A block goes back to the shelf that it came
/// from: at once if its own thread gives it back, else to the shelf's list of returned blocks. The owner
/// takes that list over as a whole when it has no other block, so it has no ABA problem. A shelf holds as
/// many blocks as were in use at once; they are freed when its thread ends.
///
/// returned:  empty or a chain --exchange--> empty (the owner takes all)
///            any --exchange, the owner ends--> CLOSED, the shelf's own address; blocks that come later are
///            freed one by one. The thread that makes the sum of `out` 0 frees the shelf: the owner, at its
///            end, or the one that gives the last block back
///
/// Why in the library: a plugin in C++ whose headers kept this for its threads could not be unloaded.
#ifndef WS_BLOCK_H
#define WS_BLOCK_H

#include "ws_types.h"

#define WS_BLOCK_SHELVES 3u ///< blocks of 64, 128 and 256 bytes

typedef struct {
  void *mine; ///< P owner's chain of free blocks
  uint64_t made; ///< P blocks that belong to the shelf, free or in use
  uint32_t index; ///< I of its size: its blocks have 64 << index bytes
  alignas(WS_SPACING) ws_aptr_t returned; ///< S chain of blocks that other threads gave back, or CLOSED
  /// S after the owner's end: blocks that are still in use; below 0 until the owner has added their number
  ws_au64_t out;
} ws_block_shelf_t;

/// The shelves of a thread.
typedef struct {
  ws_block_shelf_t *of[WS_BLOCK_SHELVES];
  bool ended; ///< the thread ends: blocks have no shelf any more
} ws_block_shelves_t;
/// A fiber may have moved to another thread between two calls, and a compiler may keep the address of
/// thread-local data within a function: functions that a fiber calls and that use it are not inlined
/// (noinline and an empty asm, as GCC's manual has it).
extern __attribute__((visibility("hidden"))) _Thread_local ws_block_shelves_t ws_block_shelves;

// A block: the address of its shelf (NULL = none), then what the user has. That begins with the next block's
// address while the block is free.
static inline ws_block_shelf_t **ws_block_home(void *block)
{
  return (ws_block_shelf_t **)block - 1;
}

static inline void **ws_block_next(void *block)
{
  return block;
}

/// @brief The calling thread ends, unloads the library or ends the process. Free the free blocks of its
/// shelves; a block in use is freed when it is given back. What the thread takes from now on has no shelf.
void ws_blocks_end(void);

/// What an abort calls in place of tasks in blocks.
extern const ws_skip_t ws_skips_of_blocks;

#endif
