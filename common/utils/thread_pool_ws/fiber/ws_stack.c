// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stack.c
/// ws_stack.h.
#include "ws_stack.h"

#include "../os/ws_os.h"
#include "ws_slab.h"
#include "ws_switch.h"

/// Stacks of a size that a thread keeps at most; half of them move at once.
#define KEPT_MAX 32u
/// Stacks of this size and larger are not kept by threads.
#define KEPT_BYTES_MAX 262144u

static ws_free_stack_t *node_of(const ws_stack_t *stack)
{
  return (ws_free_stack_t *)(void *)(stack->low + ws_stack_bytes(stack)) - 1;
}

/// @return the class of stacks of at least @p bytes
static uint32_t class_of(uint32_t bytes)
{
  const uint32_t least = ws_fiber_process.class_least;
  const uint32_t fits =
      bytes <= WS_STACK_BYTES_LEAST ? 0 : 32 - (uint32_t)__builtin_clz((bytes - 1) / WS_STACK_BYTES_LEAST);
  return fits > least ? fits : least;
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

void ws_stack_shelve(ws_free_stack_t *node, uint64_t now_ns)
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
  if (!node)
    return NULL;
  shelf->newest = node->older;
  if (shelf->newest)
    shelf->newest->newer = NULL;
  else
    shelf->oldest = NULL;
  shelf->free--;
  return node;
}

/// Move what the thread keeps of a size, down to @p left, to the shared list.
static void share(ws_fiber_thread_t *thread, uint32_t size_class, uint32_t left)
{
  const uint64_t now_ns = ws_os_now_ns();
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  while (thread->kept_count[size_class] > left)
    ws_stack_shelve(unkeep(thread, size_class), now_ns);
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
  const bool found = node || ws_slab_open(size_class, stack);
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
  return stack->guarded && (const char *)address < stack->low
         && (const char *)address >= stack->low - WS_FIBER_GUARD_BYTES;
}
