// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_alarm_heap.c
/// ws_alarm_heap.h: a heap of four children. A record holds its entry's place, for its removal.
#include "ws_alarm_heap.h"

#include <string.h>

#include "../os/ws_os.h"
#include "ws_fiber_types.h"

#define CHILDREN 4u
/// Less than one entry of so many: the heap is too large.
#define SHRINKS_BELOW 8u

static void put(ws_alarm_heap_t *heap, uint32_t at, ws_alarm_entry_t entry)
{
  heap->entry[at] = entry;
  entry.waiter->alarm_place = at + 1;
}

/// Fill the hole @p at with @p entry, or with entries above it that are later.
static void fill_upwards(ws_alarm_heap_t *heap, uint32_t at, ws_alarm_entry_t entry)
{
  while (at > 0) {
    const uint32_t above = (at - 1) / CHILDREN;
    if (heap->entry[above].deadline_ns <= entry.deadline_ns)
      break;
    put(heap, at, heap->entry[above]);
    at = above;
  }
  put(heap, at, entry);
}

/// @return the earliest entry of the children from @p first on
static uint32_t earliest_from(const ws_alarm_heap_t *heap, uint32_t first)
{
  const uint32_t end = heap->count - first < CHILDREN ? heap->count : first + CHILDREN;
  uint32_t earliest = first;
  for (uint32_t i = first + 1; i < end; i++)
    if (heap->entry[i].deadline_ns < heap->entry[earliest].deadline_ns)
      earliest = i;
  return earliest;
}

/// Fill the hole @p at with @p entry, or with entries below it that are earlier.
static void fill_downwards(ws_alarm_heap_t *heap, uint32_t at, ws_alarm_entry_t entry)
{
  for (uint32_t first; (first = CHILDREN * at + 1) < heap->count;) {
    const uint32_t below = earliest_from(heap, first);
    if (heap->entry[below].deadline_ns >= entry.deadline_ns)
      break;
    put(heap, at, heap->entry[below]);
    at = below;
  }
  put(heap, at, entry);
}

/// Move the entries to memory of another size. @return false = there is none; nothing has changed
static bool resize(ws_alarm_heap_t *heap, size_t bytes)
{
  ws_alarm_entry_t *entry = ws_os_map(bytes);
  if (!entry)
    return false;
  if (heap->entry)
    memcpy(entry, heap->entry, heap->count * sizeof *entry);
  ws_os_unmap(heap->entry, heap->room * sizeof *entry);
  heap->entry = entry;
  heap->room = (uint32_t)(bytes / sizeof *entry);
  return true;
}

static bool grow(ws_alarm_heap_t *heap)
{
  const size_t before = heap->room * sizeof *heap->entry;
  if (heap->room > UINT32_MAX / (2 * CHILDREN))
    return false;
  return resize(heap, before > 0 ? 2 * before : ws_os_page_bytes());
}

/// Most of the room is empty.
static void shrink(ws_alarm_heap_t *heap)
{
  const size_t bytes = heap->room * sizeof *heap->entry;
  if (bytes > ws_os_page_bytes())
    resize(heap, bytes / 2); // if there is no memory for that, a later one tries again
}

bool ws_alarm_heap_add(ws_alarm_heap_t *heap, ws_waiter_t *waiter)
{
  if (heap->count == heap->room && !grow(heap))
    return false;
  fill_upwards(heap, heap->count++, (ws_alarm_entry_t){waiter->deadline_ns, waiter});
  return true;
}

void ws_alarm_heap_remove(ws_alarm_heap_t *heap, ws_waiter_t *waiter)
{
  const uint32_t hole = waiter->alarm_place - 1;
  const ws_alarm_entry_t last = heap->entry[--heap->count];
  waiter->alarm_place = 0;
  if (last.waiter != waiter) {
    if (last.deadline_ns < waiter->deadline_ns)
      fill_upwards(heap, hole, last);
    else
      fill_downwards(heap, hole, last);
  }
  if (heap->count < heap->room / SHRINKS_BELOW && heap->count % SHRINKS_BELOW == 0)
    shrink(heap);
}
