// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_shared.h
/// Life of a task, step 2 for threads without a lane: one bounded queue that any thread pushes to and takes
/// from.
///
/// Roles      Any thread pushes, any thread takes; oldest first.
/// Invariant  A cell's field turn: index = free for the push of that index; index + 1 = holds the task of
///            that push; index + capacity = free for the next lap.
/// Progress   A thread that stops between its claim and its publication hides the tasks behind it until it
///            goes on; it then wakes a worker itself, as every push does.
/// Source     Vyukov's bounded MPMC queue (1024cores.net).
#ifndef WS_SHARED_H
#define WS_SHARED_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/ws_atomic.h"
#include "../base/ws_base.h"
#include "../include/ws_pool.h"

typedef struct {
  ws_au64_t turn;
  ws_au64_t pushed_ns; ///< as in ws_cell_t
  ws_task_t task; ///< plain: owned by the thread that the field turn names
} ws_shared_cell_t;

typedef struct {
  alignas(WS_SPACING) ws_au64_t head; ///< S next index to take
  alignas(WS_SPACING) ws_au64_t tail; ///< S next index to push
  alignas(WS_SPACING) uint64_t mask; ///< I capacity - 1
  ws_shared_cell_t *cell; ///< I
} ws_shared_t;

static inline void ws_shared_init(ws_shared_t *shared, ws_shared_cell_t *cells, uint64_t capacity)
{
  ws_store_relaxed(&shared->head, 0); // relaxed: the pool is not published yet
  ws_store_relaxed(&shared->tail, 0); // relaxed: as head
  shared->mask = capacity - 1;
  shared->cell = cells;
  for (uint64_t i = 0; i < capacity; i++)
    ws_store_relaxed(&cells[i].turn, i); // relaxed: as head
}

/// @brief Claim the cell of the next index. The caller must fill it with ws_shared_publish() at once: until
/// then takers find nothing from there on.
/// @return NULL when full
static inline ws_shared_cell_t *ws_shared_claim(ws_shared_t *shared, uint64_t *index)
{
  uint64_t tail = ws_load_relaxed(&shared->tail); // relaxed: the CAS decides
  for (;;) {
    ws_shared_cell_t *cell = &shared->cell[tail & shared->mask];
    // [edge SHARED_REUSE acquire] the taker has copied the cell
    const uint64_t turn = ws_load_acquire(&cell->turn);
    if (turn == tail) {
      if (ws_cas_acq_rel(&shared->tail, &tail, tail + 1)) { // [edge SHARED_CLAIM acq_rel] one pusher an index
        *index = tail;
        return cell;
      }
    } else if ((int64_t)(turn - tail) < 0) {
      return NULL;
    } else {
      tail = ws_load_relaxed(&shared->tail); // relaxed: the CAS decides
    }
  }
}

static inline void ws_shared_publish(ws_shared_cell_t *cell, uint64_t index, const ws_task_t *task)
{
  cell->task = *task;
  ws_store_release(&cell->turn, index + 1); // [edge SHARED_PUBLISH release] the task
}

/// @return false when empty, or when the oldest task is not published yet
static inline bool ws_shared_take(ws_shared_t *shared, ws_task_t *task)
{
  uint64_t head = ws_load_relaxed(&shared->head); // relaxed: the CAS decides
  for (;;) {
    ws_shared_cell_t *cell = &shared->cell[head & shared->mask];
    const uint64_t turn = ws_load_acquire(&cell->turn); // [edge SHARED_PUBLISH acquire] the task
    if (turn == head + 1) {
      if (ws_cas_acq_rel(&shared->head, &head, head + 1)) { // [edge SHARED_CLAIM acq_rel] one taker an index
        *task = cell->task;
        // [edge SHARED_REUSE release] the copy before reuse
        ws_store_release(&cell->turn, head + shared->mask + 1);
        return true;
      }
    } else if ((int64_t)(turn - (head + 1)) < 0) {
      return false;
    } else {
      head = ws_load_relaxed(&shared->head); // relaxed: the CAS decides
    }
  }
}

/// @return whether a take would probably find a task
static inline bool ws_shared_visible(const ws_shared_t *shared)
{
  // relaxed: ordered by the caller's fence [PARK_DEKKER]
  const uint64_t head = ws_load_relaxed(&shared->head);
  const ws_shared_cell_t *cell = &shared->cell[head & shared->mask];
  return (int64_t)(ws_load_relaxed(&cell->turn) - (head + 1)) >= 0; // relaxed: as head
}

/// @return how long the oldest task has waited, about; 0 if there is none
static inline uint64_t ws_shared_waited_ns(const ws_shared_t *shared, uint64_t now_ns)
{
  const uint64_t head = ws_load_relaxed(&shared->head); // relaxed: a preference
  const ws_shared_cell_t *cell = &shared->cell[head & shared->mask];
  if (!ws_shared_visible(shared))
    return 0;
  const uint64_t pushed_ns = ws_load_relaxed(&cell->pushed_ns); // relaxed: a preference
  return (int64_t)(now_ns - pushed_ns) > 0 ? now_ns - pushed_ns : 0;
}

static inline uint64_t ws_shared_size(const ws_shared_t *shared)
{
  const uint64_t head = ws_load_relaxed(&shared->head); // relaxed: a statistic
  const uint64_t tail = ws_load_relaxed(&shared->tail); // relaxed: a statistic
  return (int64_t)(tail - head) > 0 ? tail - head : 0;
}

#endif
