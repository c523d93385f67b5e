// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_shared.h
/// Life of a task, step 2 for threads without a lane: one bounded queue that any thread pushes to and takes
/// from.
///
/// Roles      Any thread pushes, any thread takes; oldest first. A thread that waits takes tasks of its group
///            from the middle, too.
/// Invariant  A cell's field turn: index = free for the push of that index; index + 1 = filled by that push;
///            index + capacity = free for the next lap. Its field taken: index + 1 = the task of the push of
///            that index has been taken, which the thread has that moved taken from index + 1 - capacity. A
///            task that was taken from the middle leaves its cell filled, until head passes it.
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
#include "ws_deque.h"

typedef struct {
  ws_au64_t turn;
  ws_au64_t taken;
  ws_cell_t cell; ///< every word atomic: who reads a cell that is overwritten fails to take its task
} ws_shared_cell_t;

typedef struct {
  alignas(WS_SPACING) ws_au64_t head; ///< S next index to take
  alignas(WS_SPACING) ws_au64_t tail; ///< S next index to push
  alignas(WS_SPACING) uint64_t mask; ///< I capacity - 1
  ws_shared_cell_t *cell; ///< I
} ws_shared_t;

static inline void ws_shared_init(ws_shared_t *shared, ws_shared_cell_t *cells, uint64_t capacity)
{
  ws_init_store(&shared->head, 0);
  ws_init_store(&shared->tail, 0);
  shared->mask = capacity - 1;
  shared->cell = cells;
  for (uint64_t i = 0; i < capacity; i++) {
    ws_init_store(&cells[i].turn, i);
    ws_init_store(&cells[i].taken, i + 1 - capacity);
  }
}

/// @brief Claim the cell of the next index. The caller must fill it with ws_shared_publish() at once: until
/// then takers find nothing from there on.
/// @return NULL when full
static inline ws_shared_cell_t *ws_shared_claim(ws_shared_t *shared, uint64_t *index)
{
  uint64_t tail = ws_expected_load(&shared->tail);
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
      tail = ws_expected_load(&shared->tail);
    }
  }
}

static inline void ws_shared_publish(ws_shared_cell_t *cell, uint64_t index, const ws_task_t *task)
{
  ws_cell_write(&cell->cell, task);
  // relaxed: as the cell
  ws_store_relaxed(&cell->cell.kind, (uint32_t)task->priority | (uint64_t)task->node << 32);
  ws_store_release(&cell->turn, index + 1); // [edge SHARED_PUBLISH release] the task
}

static inline void ws_shared_read(const ws_shared_cell_t *cell, ws_task_t *task)
{
  const uint64_t kind = ws_load_relaxed(&cell->cell.kind); // relaxed: turn was acquired before
  ws_cell_read(&cell->cell, task);
  task->priority = (ws_priority_t)(uint32_t)kind;
  task->node = (uint32_t)(kind >> 32);
}

/// @brief Take the task that lies in the cell of @p index, which the caller has read. @return false if
/// another thread has taken it: what was read is void
static inline bool ws_shared_take_at(ws_shared_t *shared, uint64_t index)
{
  uint64_t before = index - shared->mask; // index + 1 - capacity
  // [edge SHARED_TAKEN acq_rel] one taker a task; the copy before the cell is freed
  return ws_cas_acq_rel(&shared->cell[index & shared->mask].taken, &before, index + 1);
}

typedef enum { WS_SHARED_GONE, WS_SHARED_THERE, WS_SHARED_COMES } ws_shared_peek_t;

/// @brief Read the task of @p index, which is below tail, without taking it. ws_shared_take_at() decides.
/// @return COMES = it is not published yet; GONE = the cell is free, or filled by a later push
static inline ws_shared_peek_t ws_shared_peek(const ws_shared_t *shared, uint64_t index, ws_task_t *task)
{
  const ws_shared_cell_t *cell = &shared->cell[index & shared->mask];
  const uint64_t turn = ws_load_acquire(&cell->turn); // [edge SHARED_PUBLISH acquire] the task
  if (turn != index + 1)
    return (int64_t)(turn - (index + 1)) < 0 ? WS_SHARED_COMES : WS_SHARED_GONE;
  ws_shared_read(cell, task);
  return WS_SHARED_THERE;
}

/// @brief Free the oldest cells whose tasks have been taken from the middle.
static inline void ws_shared_pass(ws_shared_t *shared)
{
  uint64_t head = ws_expected_load(&shared->head);
  for (;; head++) {
    ws_shared_cell_t *cell = &shared->cell[head & shared->mask];
    if (ws_load_acquire(&cell->turn) != head + 1 // [edge SHARED_PUBLISH acquire] taken is not older
        || ws_load_acquire(&cell->taken) != head + 1 // [edge SHARED_TAKEN acquire] the copy
        || !ws_cas_acq_rel(&shared->head, &head, head + 1)) // [edge SHARED_CLAIM acq_rel] one thread an index
      return;
    // [edge SHARED_REUSE release] the copy before reuse
    ws_store_release(&cell->turn, head + shared->mask + 1);
  }
}

/// @return false when empty, or when the oldest task is not published yet
static inline bool ws_shared_take(ws_shared_t *shared, ws_task_t *task)
{
  uint64_t head = ws_expected_load(&shared->head);
  for (;;) {
    ws_shared_cell_t *cell = &shared->cell[head & shared->mask];
    const uint64_t turn = ws_load_acquire(&cell->turn); // [edge SHARED_PUBLISH acquire] the task
    if (turn == head + 1) {
      if (ws_cas_acq_rel(&shared->head, &head, head + 1)) { // [edge SHARED_CLAIM acq_rel] one taker an index
        ws_shared_read(cell, task);
        const bool taken = ws_shared_take_at(shared, head);
        if (WS_UNLIKELY(!taken))
          ws_load_acquire(&cell->taken); // [edge SHARED_TAKEN acquire] the other thread's copy
        // [edge SHARED_REUSE release] the copy before reuse
        ws_store_release(&cell->turn, head + shared->mask + 1);
        if (WS_LIKELY(taken)) {
          ws_shared_pass(shared); // the next ones may have been taken while this one was the oldest
          return true;
        }
        head = ws_expected_load(&shared->head);
      }
    } else if ((int64_t)(turn - (head + 1)) < 0) {
      return false;
    } else {
      head = ws_expected_load(&shared->head);
    }
  }
}

/// @return whether a take would probably find a task. It may find cells only whose tasks have been taken from
/// the middle, and then frees them
static inline bool ws_shared_visible(const ws_shared_t *shared)
{
  // relaxed: ordered by the caller's fence [PARK_DEKKER]
  const uint64_t head = ws_load_relaxed(&shared->head);
  const ws_shared_cell_t *cell = &shared->cell[head & shared->mask];
  return (int64_t)(ws_load_relaxed(&cell->turn) - (head + 1)) >= 0; // relaxed: as head
}

static inline uint64_t ws_shared_size(const ws_shared_t *shared)
{
  const uint64_t head = ws_stat_load(&shared->head);
  const uint64_t tail = ws_stat_load(&shared->tail);
  return (int64_t)(tail - head) > 0 ? tail - head : 0;
}

#endif
