// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_record.c
/// ws_record.h: steps, which run in turn on a stack; and blocks, which each thread uses again, so that a
/// submit in the steady state calls neither malloc nor a lock.
///
/// A thread has a shelf of free blocks for each of three sizes. A block goes back to the shelf that it came
/// from: at once if its own thread gives it back, else to the shelf's list of returned blocks. The owner
/// takes that list over as a whole when it has no other block, so it has no ABA problem. A shelf holds as
/// many blocks as were in use at once; they are freed when its thread ends.
///
/// returned:  empty or a chain --exchange--> empty (the owner takes all)
///            any --exchange, the owner ends--> CLOSED, the shelf's own address; blocks that come later are
///            freed one by one, and the one that makes the sum of `out` 0 frees the shelf
///
/// Why in the library: a plugin in C++ whose headers kept this for its threads could not be unloaded.
#include "../include/ws_record.h"
#include "ws_process.h"

#define SHELVES 3u ///< blocks of 64, 128 and 256 bytes

typedef struct {
  void *mine; ///< P owner's chain of free blocks
  uint64_t made; ///< P blocks
  uint32_t index; ///< I
  alignas(WS_SPACING) ws_aptr_t returned; ///< S chain of blocks that other threads gave back, or CLOSED
  ws_au64_t out; ///< S after the owner's end: blocks that are still in use
} shelf_t;

/// The shelves of a thread.
typedef struct {
  shelf_t *of[SHELVES];
  bool ended; ///< the thread ends: blocks have no shelf any more
} shelves_t;
static _Thread_local shelves_t shelves;

// A block: the address of its shelf (NULL = none), then what the user has. That begins with the next block's
// address while the block is free.
static shelf_t **home_of(void *block)
{
  return (shelf_t **)block - 1;
}

static void **next_of(void *block)
{
  return block;
}

static void *make(shelf_t *home, size_t bytes)
{
  shelf_t **raw = ws_os_lines(bytes);
  if (!raw)
    return NULL;
  *raw = home;
  return raw + 1;
}

static uint64_t destroy_chain(void *block)
{
  uint64_t count = 0;
  for (; block; count++) {
    void *next = *next_of(block);
    ws_os_lines_free(home_of(block));
    block = next;
  }
  return count;
}

/// Called once for each block that is still in use when the shelf's owner has ended, and with all by the
/// owner.
static void settle(shelf_t *shelf, uint64_t blocks)
{
  if (ws_add_acq_rel(&shelf->out, blocks) + blocks == 0) // [edge BLOCKS acq_rel] each use before the end
    ws_os_lines_free(shelf);
}

void ws_blocks_end(void)
{
  shelves.ended = true;
  for (uint32_t i = 0; i < SHELVES; i++) {
    shelf_t *shelf = shelves.of[i];
    shelves.of[i] = NULL;
    if (!shelf)
      continue;
    void *back = ws_xchg_acq_rel(&shelf->returned, shelf); // [edge BLOCKS acq_rel]
    settle(shelf, shelf->made - destroy_chain(shelf->mine) - destroy_chain(back));
  }
}

/// @return NULL: no memory, or the thread's end would not be seen
static shelf_t *open_shelf(uint32_t index)
{
  if (!ws_process_see_end(ws_self()))
    return NULL;
  shelf_t *shelf = ws_os_lines(sizeof(*shelf));
  if (!shelf)
    return NULL;
  *shelf = (shelf_t){.index = index};
  shelves.of[index] = shelf;
  return shelf;
}

// A fiber may have moved to another thread between two calls, and a compiler may keep the address of
// thread-local data within a function: these functions are not inlined.

/// The thread has no free block of that size.
__attribute__((noinline)) static void *take_seldom(size_t bytes, uint32_t index)
{
  if (bytes > 256 || shelves.ended)
    return make(NULL, bytes);
  shelf_t *from = shelves.of[index] ? shelves.of[index] : open_shelf(index);
  if (!from)
    return make(NULL, bytes);
  if (ws_hint_load(&from->returned)) // the exchange looks again
    from->mine = ws_xchg_acq_rel(&from->returned, NULL); // [edge BLOCKS acq_rel] what their last users wrote
  void *block = from->mine;
  if (block) {
    from->mine = *next_of(block);
    return block;
  }
  block = make(from, (size_t)64 << index);
  from->made += block != NULL;
  return block;
}

__attribute__((noinline)) void *ws_block_take(size_t bytes)
{
  __asm__ volatile("");
  bytes += sizeof(shelf_t *);
  const uint32_t index = bytes <= 64 ? 0 : bytes <= 128 ? 1 : 2;
  shelf_t *from = bytes <= 256 ? shelves.of[index] : NULL;
  void *block = from ? from->mine : NULL;
  if (WS_UNLIKELY(!block))
    return take_seldom(bytes, index);
  from->mine = *next_of(block);
  return block;
}

/// @param home  of another thread, or without one
__attribute__((noinline)) static void give_back(shelf_t *home, void *block)
{
  void *head = ws_expected_load(&home->returned);
  do {
    if (head == home) { // CLOSED
      ws_os_lines_free(home_of(block));
      settle(home, (uint64_t)-1);
      return;
    }
    *next_of(block) = head;
    // [edge BLOCKS acq_rel] the end of the block's use. Afterwards the shelf may be gone
  } while (!ws_cas_acq_rel(&home->returned, &head, block));
}

__attribute__((noinline)) void ws_block_give(void *block)
{
  __asm__ volatile("");
  shelf_t *home = *home_of(block);
  if (WS_UNLIKELY(!home)) {
    ws_os_lines_free(home_of(block));
  } else if (home == shelves.of[home->index]) {
    *next_of(block) = home->mine;
    home->mine = block;
  } else {
    give_back(home, block);
  }
}

// Steps.

ws_steps_t *ws_steps_here(void)
{
  const ws_hooks_t *hooks = ws_process_hooks();
  ws_steps_t *fibers = hooks ? hooks->steps() : NULL;
  return fibers ? fibers : &ws_self()->steps;
}

void ws_steps_call_queued(ws_steps_t *steps)
{
  while (steps->first) {
    ws_step_t *step = steps->first;
    steps->first = step->next;
    step->call(step);
  }
}

/// Call the step if fewer than @p depth run on this stack; else queue it for the innermost of them.
static void run_below(ws_step_t *step, uint32_t depth)
{
  ws_steps_t *steps = ws_steps_here();
  if (WS_LIKELY(steps->depth < depth)) {
    steps->depth++;
    step->call(step);
    ws_steps_before_wait(steps); // those that were queued meanwhile
    steps->depth--;
    return;
  }
  step->next = NULL;
  if (steps->first)
    steps->last->next = step;
  else
    steps->first = step;
  steps->last = step;
}

void ws_step_run(ws_step_t *step)
{
  run_below(step, WS_STEPS_NESTED_MAX);
}

void ws_step_next(ws_step_t *step)
{
  run_below(step, 1);
}
