// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stack.c
/// ws_stack.h.
#include "ws_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../os/ws_os.h"
#include "ws_switch.h"

/// Stacks of a size that a thread keeps at most; half of them move at once.
#define KEPT_MAX 32u
/// Stacks of this size and larger are not kept by threads.
#define KEPT_BYTES_MAX 262144u
/// Bytes of one mapping, about, and stacks in it at most.
#define SLAB_BYTES (4u << 20)
#define SLAB_STACKS_MAX 64u

static ws_free_stack_t *node_of(const ws_stack_t *stack)
{
  return (ws_free_stack_t *)(void *)(stack->low + ws_stack_bytes(stack)) - 1;
}

static uint32_t class_of(uint32_t bytes)
{
  uint32_t size_class = 0;
  while (((size_t)WS_STACK_BYTES_LEAST << size_class) < bytes)
    size_class++;
  return size_class;
}

/// A page may be larger than a stack.
static size_t pages_of(size_t bytes)
{
  return (bytes + ws_os_page_bytes() - 1) / ws_os_page_bytes();
}

/// The caller holds the lock.
static ws_slab_t *new_slab(uint32_t size_class)
{
  ws_slab_t *slab = calloc(1, sizeof *slab);
  if (!slab)
    return NULL;
  slab->size_class = size_class;
  slab->slot_bytes = (pages_of((size_t)WS_STACK_BYTES_LEAST << size_class) + 1) * ws_os_page_bytes();
  slab->slots = (uint32_t)(SLAB_BYTES / slab->slot_bytes);
  slab->slots = slab->slots < 1 ? 1 : slab->slots > SLAB_STACKS_MAX ? SLAB_STACKS_MAX : slab->slots;
  slab->memory = ws_os_map(slab->slots * slab->slot_bytes);
  if (!slab->memory) {
    free(slab);
    return NULL;
  }
  madvise(slab->memory, slab->slots * slab->slot_bytes, MADV_NOHUGEPAGE); // a page a stack, not 2 MiB
  slab->next = ws_fiber_process.slabs;
  ws_fiber_process.slabs = slab;
  return slab;
}

/// The caller holds the lock.
static bool guard(char *page)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  if (process->stacks - process->unguarded < process->guards_max &&
      mprotect(page, ws_os_page_bytes(), PROT_NONE) == 0)
    return true;
  if (process->unguarded++ == 0)
    fprintf(
        stderr,
        "thread_pool_ws: %llu stacks of fibers have guard pages; further ones have none, because the kernel "
        "limits mappings (sysctl vm.max_map_count): their overflow is found at the next switch\n",
        (unsigned long long)process->stacks);
  return false;
}

/// A stack that was never used. The caller holds the lock.
static bool carve(uint32_t size_class, ws_stack_t *stack)
{
  ws_shelf_t *shelf = &ws_fiber_process.shelf[size_class];
  if (!shelf->open)
    shelf->open = new_slab(size_class);
  ws_slab_t *slab = shelf->open;
  if (!slab)
    return false;
  char *slot = slab->memory + slab->used * slab->slot_bytes;
  *stack = (ws_stack_t){.size_class = size_class};
  stack->low = slot + slab->slot_bytes - ws_stack_bytes(stack);
  stack->guarded = guard(slot);
  ws_fiber_process.stacks++;
  if (++slab->used == slab->slots)
    shelf->open = NULL;
  return true;
}

static void keep(ws_fiber_thread_t *thread, ws_free_stack_t *node)
{
  const uint32_t size_class = node->stack.size_class;
  node->older = thread->kept[size_class];
  thread->kept[size_class] = node;
  thread->kept_count[size_class]++;
}

static ws_free_stack_t *unkeep(ws_fiber_thread_t *thread, uint32_t size_class)
{
  ws_free_stack_t *node = thread->kept[size_class];
  thread->kept[size_class] = node->older;
  thread->kept_count[size_class]--;
  return node;
}

/// The caller holds the lock.
static void shelve(ws_free_stack_t *node, uint64_t now_ns)
{
  ws_shelf_t *shelf = &ws_fiber_process.shelf[node->stack.size_class];
  node->freed_ns = now_ns;
  node->newer = NULL;
  node->older = shelf->newest;
  if (shelf->newest)
    shelf->newest->newer = node;
  else
    shelf->oldest = node;
  shelf->newest = node;
  shelf->free++;
}

/// The caller holds the lock.
static ws_free_stack_t *unshelve(ws_shelf_t *shelf)
{
  ws_free_stack_t *node = shelf->newest;
  if (node) {
    shelf->newest = node->older;
    if (shelf->newest)
      shelf->newest->newer = NULL;
    else
      shelf->oldest = NULL;
  } else {
    node = shelf->cold;
    if (!node)
      return NULL;
    shelf->cold = node->older;
  }
  shelf->free--;
  return node;
}

/// Move what the thread keeps of a size, down to @p left, to the shared list.
static void share(ws_fiber_thread_t *thread, uint32_t size_class, uint32_t left)
{
  const uint64_t now_ns = ws_os_now_ns();
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  while (thread->kept_count[size_class] > left)
    shelve(unkeep(thread, size_class), now_ns);
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
}

static void give_back(ws_fiber_thread_t *thread)
{
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++)
    if (thread->kept_count[i] > 0)
      share(thread, i, 0);
}

/// At its end the thread gives back what it keeps.
WS_SELDOM static void enroll(ws_fiber_thread_t *thread)
{
  ws_fiber_enroll(thread);
  thread->give_back = give_back;
}

/// The thread has kept none. @return false = there is no memory
WS_SELDOM static bool get_shared(ws_fiber_thread_t *thread, uint32_t size_class, ws_stack_t *stack)
{
  if (!thread->give_back)
    enroll(thread);
  const uint32_t more =
      ws_stack_bytes(&(ws_stack_t){.size_class = size_class}) < KEPT_BYTES_MAX ? KEPT_MAX / 2 : 0;
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  ws_shelf_t *shelf = &ws_fiber_process.shelf[size_class];
  ws_free_stack_t *node = unshelve(shelf);
  const bool found = node || carve(size_class, stack);
  if (node)
    *stack = node->stack;
  for (uint32_t i = 0; node && i < more && (node = unshelve(shelf)) != NULL; i++)
    keep(thread, node);
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  return found;
}

bool ws_stack_get(uint32_t bytes, ws_stack_t *stack)
{
  ws_fiber_thread_t *thread = ws_fiber_thread();
  const uint32_t size_class = class_of(bytes);
  if (WS_UNLIKELY(!thread->kept[size_class]))
    return get_shared(thread, size_class, stack);
  *stack = unkeep(thread, size_class)->stack;
  return true;
}

bool ws_stack_put(const ws_stack_t *stack)
{
  ws_fiber_thread_t *thread = ws_fiber_thread();
  if (WS_UNLIKELY(!thread->give_back))
    enroll(thread);
  ws_switch_forget(stack->low, ws_stack_bytes(stack));
  ws_free_stack_t *node = node_of(stack);
  const ws_stack_t copy = *stack; // it may lie in the node's place
  node->stack = copy;
  keep(thread, node);
  const uint32_t limit = ws_stack_bytes(&copy) < KEPT_BYTES_MAX ? KEPT_MAX : 0;
  if (WS_LIKELY(thread->kept_count[copy.size_class] <= limit))
    return false;
  share(thread, copy.size_class, limit / 2);
  return true;
}

bool ws_stack_guards(const ws_stack_t *stack, const void *address)
{
  return stack->guarded && (const char *)address < stack->low &&
         (const char *)address >= stack->low - ws_os_page_bytes();
}
