// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stack_trim.c
/// ws_stack.h: the memory of stacks, given back and counted.
#include <sys/mman.h>

#include "../os/ws_os.h"
#include "ws_slab.h"
#include "ws_stack.h"

/// Pages that one system call reports on.
#define PAGES_AT_ONCE 1024u
/// Stacks that are closed by one call: waits with a time limit end between two calls.
#define CLOSED_AT_ONCE 16u

/// Of places one after the other, each of @p slot_bytes. @return most bytes of a place that are in memory
static uint64_t most_in_memory(char *memory, size_t bytes, size_t slot_bytes)
{
  const size_t page_bytes = ws_os_page_bytes(), pages = bytes / page_bytes;
  unsigned char in_memory[PAGES_AT_ONCE];
  uint64_t most = 0, used = 0;
  size_t left_in_slot = 0, seen = PAGES_AT_ONCE;
  for (size_t at = 0; at < pages; at++, left_in_slot--, seen++) {
    if (seen == PAGES_AT_ONCE) {
      const size_t count = pages - at < PAGES_AT_ONCE ? pages - at : PAGES_AT_ONCE;
      if (mincore(memory + at * page_bytes, count * page_bytes, in_memory) != 0)
        return most;
      seen = 0;
    }
    if (left_in_slot == 0) {
      left_in_slot = slot_bytes / page_bytes;
      used = 0;
    }
    used += in_memory[seen] & 1;
    most = used > most ? used : most;
  }
  return most * page_bytes;
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

static void note_used(uint64_t used)
{
  if (used > ws_fiber_process.used_max)
    ws_fiber_process.used_max = used;
}

/// Close a stack that is on no list. The caller holds the lock. If the kernel refuses, the stack gives back
/// all pages but the topmost, which has its record, and is tried again later.
static void close_one(ws_free_stack_t *node, uint64_t now_ns)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  const ws_stack_t stack = node->stack;
  const size_t bytes = ws_stack_bytes(&stack);
  pthread_mutex_unlock(&process->stack_lock);
  const uint64_t used = most_in_memory(stack.low, bytes, bytes);
  pthread_mutex_lock(&process->stack_lock);
  note_used(used);
  process->shelf[stack.size_class].free--;
  if (ws_slab_close(&stack))
    return;
  if (bytes > ws_os_page_bytes())
    ws_os_release_pages(stack.low, bytes - ws_os_page_bytes());
  ws_stack_shelve(node, now_ns);
}

uint64_t ws_stack_trim(uint64_t now_ns)
{
  uint64_t again_ns = 0;
  uint32_t left = CLOSED_AT_ONCE;
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++) {
    ws_shelf_t *shelf = &ws_fiber_process.shelf[i];
    ws_free_stack_t *node;
    for (; left > 0 && (node = take_oldest(shelf, now_ns - WS_STACK_IDLE_NS)) != NULL; left--)
      close_one(node, now_ns);
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
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++)
    stats->stacks_free += process->shelf[i].free;
  for (ws_slab_t *slab = ws_slab_pin(process->slabs), *next; slab; slab = next) {
    pthread_mutex_unlock(&process->stack_lock);
    const uint64_t used = most_in_memory(slab->memory, slab->slots * slab->slot_bytes, slab->slot_bytes);
    pthread_mutex_lock(&process->stack_lock);
    note_used(used);
    next = ws_slab_pin(slab->next[WS_SLABS_ALL]);
    ws_slab_unpin(slab);
  }
  stats->stack_bytes_used_max = process->used_max;
  pthread_mutex_unlock(&process->stack_lock);
}
