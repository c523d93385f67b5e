// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_slab.c
/// ws_slab.h.
#include "ws_slab.h"

#include <stdio.h>
#include <stdlib.h>

#include "../os/ws_os.h"
#include "ws_pages.h"

/// Bytes of one mapping, about, and stacks in it at most: a slab's word has a bit for each.
#define SLAB_BYTES (4u << 20)
#define SLAB_STACKS_MAX 64u

static ws_slab_t **list_of(const ws_slab_t *slab, uint32_t list)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  return list == WS_SLABS_ALL ? &process->slabs : &process->shelf[slab->size_class].room;
}

static void link_to(ws_slab_t *slab, uint32_t list)
{
  ws_slab_t **first = list_of(slab, list);
  slab->before[list] = NULL;
  slab->next[list] = *first;
  if (*first)
    (*first)->before[list] = slab;
  *first = slab;
}

static void unlink_from(ws_slab_t *slab, uint32_t list)
{
  if (slab->before[list])
    slab->before[list]->next[list] = slab->next[list];
  else
    *list_of(slab, list) = slab->next[list];
  if (slab->next[list])
    slab->next[list]->before[list] = slab->before[list];
}

static uint64_t all_used(const ws_slab_t *slab)
{
  return UINT64_MAX >> (SLAB_STACKS_MAX - slab->slots);
}

static ws_slab_t *make(uint32_t size_class)
{
  ws_slab_t *slab = calloc(1, sizeof *slab);
  if (!slab)
    return NULL;
  slab->size_class = size_class;
  slab->slot_bytes = ((size_t)WS_STACK_BYTES_LEAST << size_class) + WS_FIBER_GUARD_BYTES;
  slab->slots = (uint32_t)(SLAB_BYTES / slab->slot_bytes);
  slab->slots = slab->slots < 1 ? 1 : slab->slots > SLAB_STACKS_MAX ? SLAB_STACKS_MAX : slab->slots;
  slab->memory = ws_pages_reserve(slab->slots * slab->slot_bytes);
  if (!slab->memory) {
    free(slab);
    return NULL;
  }
  link_to(slab, WS_SLABS_ALL);
  link_to(slab, WS_SLABS_ROOM);
  return slab;
}

/// Unmap the slab unless it is needed. Lets go of the lock meanwhile.
static void discard(ws_slab_t *slab)
{
  if (slab->used != 0 || slab->pins > 0)
    return;
  unlink_from(slab, WS_SLABS_ALL);
  unlink_from(slab, WS_SLABS_ROOM);
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  ws_os_unmap(slab->memory, slab->slots * slab->slot_bytes);
  free(slab);
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
}

/// A stack without a guard has the guard's place as well: its overflow meets no other stack there.
static bool open_without_guard(char *slot, size_t bytes)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  if (!ws_pages_open(slot, bytes))
    return false;
  process->unguarded++;
  if (!process->warned)
    fprintf(
        stderr,
        "thread_pool_ws: %llu stacks of fibers have guard pages; further ones have none, because the kernel "
        "limits mappings (sysctl vm.max_map_count): their overflow is found at the next switch\n",
        (unsigned long long)process->stacks);
  process->warned = true;
  return true;
}

static bool open_at(char *slot, const ws_slab_t *slab, ws_stack_t *stack)
{
  const ws_fiber_process_t *process = &ws_fiber_process;
  stack->low = slot + WS_FIBER_GUARD_BYTES;
  stack->guarded = process->stacks - process->unguarded < process->guards_max
                   && ws_pages_open(stack->low, ws_stack_bytes(stack));
  return stack->guarded || open_without_guard(slot, slab->slot_bytes);
}

bool ws_slab_open(uint32_t size_class, ws_stack_t *stack)
{
  ws_slab_t *slab = ws_fiber_process.shelf[size_class].room;
  if (!slab)
    slab = make(size_class);
  if (!slab)
    return false;
  const uint32_t slot = (uint32_t)__builtin_ctzll(~slab->used);
  *stack = (ws_stack_t){.slab = slab, .size_class = size_class};
  if (!open_at(slab->memory + slot * slab->slot_bytes, slab, stack)) {
    discard(slab);
    return false;
  }
  slab->used |= UINT64_C(1) << slot;
  if (slab->used == all_used(slab))
    unlink_from(slab, WS_SLABS_ROOM);
  ws_fiber_process.stacks++;
  return true;
}

bool ws_slab_close(const ws_stack_t *stack)
{
  ws_fiber_process_t *process = &ws_fiber_process;
  ws_slab_t *slab = stack->slab;
  char *place = stack->low - WS_FIBER_GUARD_BYTES;
  pthread_mutex_unlock(&process->stack_lock); // the place stays in use, and so does the slab
  const bool closed = stack->guarded ? ws_pages_close(stack->low, ws_stack_bytes(stack))
                                     : ws_pages_close(place, slab->slot_bytes);
  pthread_mutex_lock(&process->stack_lock);
  if (!closed)
    return false;
  if (slab->used == all_used(slab))
    link_to(slab, WS_SLABS_ROOM);
  slab->used &= ~(UINT64_C(1) << (size_t)(place - slab->memory) / slab->slot_bytes);
  process->stacks--;
  process->unguarded -= !stack->guarded;
  discard(slab);
  return true;
}

ws_slab_t *ws_slab_pin(ws_slab_t *slab)
{
  if (slab)
    slab->pins++;
  return slab;
}

void ws_slab_unpin(ws_slab_t *slab)
{
  slab->pins--;
  discard(slab);
}
