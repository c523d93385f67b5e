// SPDX-License-Identifier: BSD-3-Clause
/// @file test_alarm.c
/// The heap of time limits. Memory runs out when the test says so.
#include "../../../fiber/ws_fiber_process.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

static ws_au32_t no_memory;

static void *ws_os_map_seam(size_t bytes)
{
  return ws_load_relaxed(&no_memory) ? NULL : __real_ws_os_map(bytes);
}

#define WAITS 1000u

static ws_waiter_t waits[WAITS];

/// Every entry is not earlier than the one above it, and each record holds its place.
static bool is_sound(const ws_alarm_heap_t *heap)
{
  for (uint32_t i = 0; i < heap->count; i++) {
    if (heap->entry[i].deadline_ns < heap->entry[i > 0 ? (i - 1) / 4 : 0].deadline_ns)
      return false;
    if (heap->entry[i].waiter->alarm_place != i + 1)
      return false;
  }
  return true;
}

/// Without memory an addition fails, and the heap stays as it was.
static void add_without_memory(ws_alarm_heap_t *heap, ws_waiter_t *waiter)
{
  const uint32_t count = heap->count;
  ws_store_relaxed(&no_memory, 1);
  CU_ASSERT_FALSE(ws_alarm_heap_add(heap, waiter));
  CU_ASSERT(heap->count == count && is_sound(heap) && waiter->alarm_place == 0);
  ws_store_relaxed(&no_memory, 0);
}

/// What many waits have needed goes back when few are left, even if there was no memory for a smaller heap.
TEST_CASE(test_heap_memory)
{
  ws_alarm_heap_t heap = {0};
  memset(waits, 0, sizeof waits);
  add_without_memory(&heap, &waits[0]);
  for (uint32_t i = 0; i < WAITS; i++) {
    waits[i].deadline_ns = WAITS - i;
    if (heap.count == heap.room)
      add_without_memory(&heap, &waits[i]);
    CU_ASSERT_FATAL(ws_alarm_heap_add(&heap, &waits[i]));
  }
  const uint32_t most = heap.room, a_page = (uint32_t)(ws_os_page_bytes() / sizeof *heap.entry);
  ws_store_relaxed(&no_memory, 1);
  while (heap.count > most / 16)
    ws_alarm_heap_remove(&heap, heap.entry[0].waiter);
  CU_ASSERT(heap.room == most && is_sound(&heap));
  ws_store_relaxed(&no_memory, 0);
  while (heap.count > 0) {
    ws_alarm_heap_remove(&heap, heap.entry[heap.count / 2].waiter);
    CU_ASSERT_FATAL(is_sound(&heap));
  }
  CU_ASSERT_EQUAL(heap.room, a_page);
  ws_os_unmap(heap.entry, heap.room * sizeof *heap.entry);
}

TEST_MAIN_SEAMS("alarm", SEAM(ws_os_map))
