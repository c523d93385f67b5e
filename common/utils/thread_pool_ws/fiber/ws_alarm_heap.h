// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_alarm_heap.h
/// Waits ordered by their deadlines. The deadlines lie in one array, not in the records: records are far
/// apart, each on a stack of its own, and reading them takes most of the time of a heap of thousands.
#ifndef WS_ALARM_HEAP_H
#define WS_ALARM_HEAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint64_t deadline_ns;
  struct ws_waiter_s *waiter;
} ws_alarm_entry_t;

/// Begins as {0}. Grows and shrinks by half; keeps one page.
typedef struct {
  ws_alarm_entry_t *entry; ///< the earliest first; four children each
  uint32_t count, room;
} ws_alarm_heap_t;

/// @brief Add a wait that is in no heap, with its deadline. @return false = there is no memory
bool ws_alarm_heap_add(ws_alarm_heap_t *heap, struct ws_waiter_s *waiter);

/// @brief Take out a wait that is in this heap.
void ws_alarm_heap_remove(ws_alarm_heap_t *heap, struct ws_waiter_s *waiter);

/// @return the earliest deadline; UINT64_MAX = there is none
static inline uint64_t ws_alarm_heap_first_ns(const ws_alarm_heap_t *heap)
{
  return heap->count > 0 ? heap->entry[0].deadline_ns : UINT64_MAX;
}

#endif
