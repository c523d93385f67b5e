// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stack_trim.c
/// ws_stack.h: the memory of stacks, given back and counted.
#include <sys/mman.h>

#include "../os/ws_os.h"
#include "ws_stack.h"

/// Pages that one system call reports on.
#define PAGES_AT_ONCE 1024u

static uint64_t bytes_in_memory(char *memory, size_t bytes)
{
  const size_t page_bytes = ws_os_page_bytes();
  unsigned char in_memory[PAGES_AT_ONCE];
  uint64_t pages = 0;
  for (size_t at = 0; at < bytes; at += PAGES_AT_ONCE * page_bytes) {
    const size_t left = bytes - at,
                 piece = left < PAGES_AT_ONCE * page_bytes ? left : PAGES_AT_ONCE * page_bytes;
    if (mincore(memory + at, piece, in_memory) != 0)
      return pages * page_bytes;
    for (size_t i = 0; i < piece / page_bytes; i++)
      pages += in_memory[i] & 1;
  }
  return pages * page_bytes;
}

/// The oldest stack that was freed before @p before_ns, off the list; NULL = none. The caller holds the lock.
static ws_free_stack_t *take_oldest(ws_shelf_t *shelf, uint64_t before_ns)
{
  ws_free_stack_t *node = shelf->oldest;
  if (!node || node->freed_ns > before_ns)
    return NULL;
  shelf->oldest = node->newer;
  if (node->newer)
    node->newer->older = NULL;
  else
    shelf->newest = NULL;
  return node;
}

/// The caller holds the lock. The topmost page, with the record of the free stack, stays.
static void trim_one(ws_shelf_t *shelf, ws_free_stack_t *node)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  const size_t bytes = ws_stack_bytes(&node->stack);
  pthread_mutex_unlock(&process->stack_lock); // the stack is on no list
  const uint64_t used = bytes_in_memory(node->stack.low, bytes);
  if (bytes > ws_os_page_bytes())
    ws_os_release_pages(node->stack.low, bytes - ws_os_page_bytes());
  pthread_mutex_lock(&process->stack_lock);
  if (used > process->used_max)
    process->used_max = used;
  node->older = shelf->cold;
  shelf->cold = node;
}

uint64_t ws_stack_trim(uint64_t now_ns)
{
  uint64_t again_ns = 0;
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++) {
    ws_shelf_t *shelf = &ws_fiber_process.shelf[i];
    ws_free_stack_t *node;
    while ((node = take_oldest(shelf, now_ns - WS_STACK_IDLE_NS)) != NULL)
      trim_one(shelf, node);
    const uint64_t due_ns = shelf->oldest ? shelf->oldest->freed_ns + WS_STACK_IDLE_NS : 0;
    if (due_ns != 0 && (again_ns == 0 || due_ns < again_ns))
      again_ns = due_ns;
  }
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  return again_ns;
}

void ws_stack_count(ws_fiber_stats_t *stats)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  pthread_mutex_lock(&process->stack_lock);
  stats->stacks = process->stacks;
  stats->stacks_unguarded = process->unguarded;
  stats->stack_bytes_used_max = process->used_max;
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++)
    stats->stacks_free += process->shelf[i].free;
  for (const ws_slab_t *slab = process->slabs; slab; slab = slab->next)
    for (uint32_t i = 0; i < slab->used; i++) {
      char *low = slab->memory + i * slab->slot_bytes + ws_os_page_bytes();
      const uint64_t used = bytes_in_memory(low, slab->slot_bytes - ws_os_page_bytes());
      if (used > stats->stack_bytes_used_max)
        stats->stack_bytes_used_max = used;
    }
  pthread_mutex_unlock(&process->stack_lock);
}
