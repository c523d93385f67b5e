// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_deque.h
/// A Chase-Lev deque: what the queue of one pushing thread is made of (ws_queue.h).
///
/// Roles      The owner pushes and takes at the bottom (newest first); any other thread steals at the top
///            (oldest first).
/// Invariant  Cells [top, bottom) hold the queued tasks. Indices only grow (64 bits: no wrap, no ABA); the
///            owner's take lowers bottom by one for a moment, and emptying the deque always moves top past
///            the last task.
/// Exclusion  push, take, grow, shrink: owner only. steal, trim: anyone, at once with all of them.
///            (X = never at the same time)     push take steal grow shrink trim
///                                  owner       X    X    -    X     X     -
///                                  thief       -    -    -    -     -     -
/// Growth     Level k has 2^k times the base capacity. A bigger ring is filled before it is published; the
///            old one stays mapped, so a thief that still reads it reads old cells and then fails its CAS.
/// Source     Chase, Lev: Dynamic circular work-stealing deque, SPAA 2005; orders of Le, Pop, Cohen, Zappa
///            Nardelli, PPoPP 2013. The takes counter is ours: it saves a thief the owner's bottom line
///            (MEMORY_MODEL.md, DEQ_TAKES).
#ifndef WS_DEQUE_H
#define WS_DEQUE_H

#include "../base/ws_atomic.h" // IWYU pragma: export
#include "../base/ws_base.h" // IWYU pragma: export
#include "../include/ws_pool.h" // IWYU pragma: export

/// One queued task. Every word atomic: a thief may read a cell that the owner is overwriting, and then fails
/// its CAS.
typedef struct {
  alignas(32) ws_aptr_t func;
  ws_aptr_t arg;
  ws_aptr_t group;
} ws_cell_t;

typedef struct {
  uint64_t mask; ///< I capacity - 1
  ws_cell_t *cell; ///< I
} ws_ring_t;

#define WS_DEQUE_LEVELS 32

/// Letters: I set at init, then read only; O the owner writes, all read; P the owner only; S any thread
/// writes.
typedef struct {
  alignas(WS_SPACING) ws_au64_t top; ///< S next index to steal
  alignas(WS_SPACING) ws_au64_t bottom; ///< O next index to push
  uint64_t top_seen; ///< P a value that top had: top is at least this. Stale only costs a look
  ws_au64_t high_water; ///< O most tasks held, to within an eighth
  uint32_t level; ///< P level of the ring in use
  bool has_waited; ///< P for the trim that is under way, which did not end: no second time
  alignas(WS_SPACING) ws_aptr_t ring; ///< O ws_ring_t in use
  ws_au64_t takes; ///< O number of takes: between two looks bottom has fallen by no more than it has grown
  ws_au32_t loose; ///< S whether rings above level 0 hold unused pages: see WS_LOOSE_*
  ws_au64_t grown_bytes; ///< O, and a trim: of the rings above level 0 that may have pages
  ws_ring_t rings[WS_DEQUE_LEVELS]; ///< O by level, up to the highest so far. Of others cell is NULL
} ws_deque_t;

/// loose: NONE --shrink--> PAGES --trim begins--> TRIMMING --trim ends--> NONE;  PAGES --grow--> NONE
enum { WS_LOOSE_NONE, WS_LOOSE_PAGES, WS_LOOSE_TRIMMING };

/// What a thief remembers of the deque that it looked at last, so that a steal need not read the owner's
/// cache line. All 0 = of none.
typedef struct {
  const ws_deque_t *deque;
  uint64_t bottom; ///< bottom was at least this when takes had the value below
  uint64_t takes;
} ws_steal_memo_t;

typedef enum { WS_STEAL_EMPTY, WS_STEAL_RETRY, WS_STEAL_GOT } ws_steal_t;

/// @brief Set up an empty deque.
/// @param cells  capacity zeroed cells, capacity a power of two, at least 2; stay the caller's
void ws_deque_init(ws_deque_t *deque, ws_cell_t *cells, uint64_t capacity);
/// Unmap the rings above level 0.
void ws_deque_free(ws_deque_t *deque);
/// @brief First touch of the ring in use, on the caller's node, so that pushes find its pages there. Does
/// nothing while the deque holds tasks.
/// @threads  owner
void ws_deque_touch(ws_deque_t *deque);
/// @brief Double the capacity; waits up to 1 ms while pages are being given back, once for each trim.
/// @return false when there is no memory, the last level is in use, or those pages are not back yet
bool ws_deque_grow(ws_deque_t *deque);
/// @brief Return to the first ring if the deque is empty; its bigger rings become loose.
/// @return whether it did
bool ws_deque_shrink(ws_deque_t *deque);
/// @brief Give loose pages back to the kernel, if there are any and no other trim is under way. An owner that
/// waits for the trim is woken.
/// @threads  any
void ws_deque_trim(ws_deque_t *deque);

/// @brief Write a cell that no thread reads as a task yet.
static inline void ws_cell_write(ws_cell_t *cell, const ws_task_t *task)
{
  ws_store_relaxed(&cell->func, (void *)(uintptr_t)task->func); // relaxed: [edge DEQ_PUBLISH release] follows
  ws_store_relaxed(&cell->arg, task->arg); // relaxed: as func
  ws_store_relaxed(&cell->group, task->group); // relaxed: as func
}

/// @brief Read a cell, which may change meanwhile: the caller checks afterwards whether the task is its. The
/// task is of normal kind, as all in deques.
static inline void ws_cell_read(const ws_cell_t *cell, ws_task_t *task)
{
  // relaxed: bottom or takes was acquired before; a torn read is thrown away when the CAS on top fails
  task->func = (void (*)(void *))(uintptr_t)ws_load_relaxed(&cell->func);
  task->arg = ws_load_relaxed(&cell->arg); // relaxed: as func
  task->group = ws_load_relaxed(&cell->group); // relaxed: as func
  task->priority = WS_PRIORITY_NORMAL;
  task->node = WS_NODE_ANY;
}

/// @return tasks in the deque, approximately: exact for the owner while no thread steals
static inline uint64_t ws_deque_size(const ws_deque_t *deque)
{
  // relaxed: a hint, or ordered by the caller's fence [PARK_DEKKER]
  const uint64_t top = ws_load_relaxed(&deque->top);
  const uint64_t bottom = ws_load_relaxed(&deque->bottom); // relaxed: as top
  return (int64_t)(bottom - top) > 0 ? bottom - top : 0;
}

/// @return whether there is room for @p count more tasks, as the owner sees it: a thief only makes more
static inline bool ws_deque_has_room(ws_deque_t *deque, uint64_t count)
{
  const uint64_t bottom = ws_own_load(&deque->bottom);
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  if (WS_LIKELY(bottom - deque->top_seen + count <= ring->mask + 1))
    return true;
  // [edge DEQ_REUSE acquire] a cell is read before it is overwritten
  deque->top_seen = ws_load_acquire(&deque->top);
  return bottom - deque->top_seen + count <= ring->mask + 1;
}

/// @brief Push @p count tasks; the caller has seen room for them.
static inline void ws_deque_push(ws_deque_t *deque, const ws_task_t *tasks, uint64_t count)
{
  const uint64_t bottom = ws_own_load(&deque->bottom);
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  for (uint64_t i = 0; i < count; i++)
    ws_cell_write(&ring->cell[(bottom + i) & ring->mask], &tasks[i]);
  // [edge DEQ_PUBLISH release] cells, and what the tasks will read
  ws_store_release(&deque->bottom, bottom + count);
  const uint64_t most = ws_own_load(&deque->high_water);
  if (WS_UNLIKELY(bottom + count - deque->top_seen > most + most / 8)) {
    deque->top_seen = ws_load_acquire(&deque->top); // [edge DEQ_REUSE acquire]
    if (bottom + count - deque->top_seen > most)
      ws_stat_store(&deque->high_water, bottom + count - deque->top_seen);
  }
}

/// @brief The owner's newest task, without taking it: to see whose it is. A thief may take it meanwhile.
/// @return false = there is none
static inline bool ws_deque_peek(const ws_deque_t *deque, ws_task_t *task)
{
  const uint64_t bottom = ws_own_load(&deque->bottom);
  const uint64_t top = ws_load_relaxed(&deque->top); // relaxed: only a guess, checked by take or steal
  if ((int64_t)(bottom - top) <= 0)
    return false;
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  ws_cell_read(&ring->cell[(bottom - 1) & ring->mask], task);
  return true;
}

/// @brief The owner takes its newest task. @return false = there is none, or a thief has taken the last: what
/// was read is void
static inline bool ws_deque_take(ws_deque_t *deque, ws_task_t *task)
{
  const uint64_t bottom = ws_own_load(&deque->bottom) - 1;
  uint64_t top = ws_load_relaxed(&deque->top); // relaxed: top only grows, so empty here is empty
  if ((int64_t)(bottom - top) < 0)
    return false;
  // [edge DEQ_PUBLISH release] a thread that reads it may take an older cell
  ws_store_release(&deque->bottom, bottom);
  // Bottom first: a thief that has seen this count must not find the bottom of before when it makes its memo.
  const uint64_t takes = ws_own_load(&deque->takes);
  ws_store_release(&deque->takes, takes + 1); // [edge DEQ_TAKES release] the lower bottom
  // Without the fence the owner can read the old top while a thief reads the old bottom: both take the last
  // task.
  ws_fence_seq_cst(); // [edge DEQ_LAST fence] bottom (and takes) before top
  top = ws_load_relaxed(&deque->top); // relaxed: after the fence
  if ((int64_t)(bottom - top) < 0) { // a thief was quicker
    ws_store_release(&deque->bottom, bottom + 1); // [edge DEQ_PUBLISH release] nothing new, but the same word
    return false;
  }
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  ws_cell_read(&ring->cell[bottom & ring->mask], task);
  if (bottom != top)
    return true;
  // [edge DEQ_LAST acq_rel] the last task: one of us
  const bool won = ws_cas_seq_cst(&deque->top, &top, top + 1);
  ws_store_release(&deque->bottom, bottom + 1); // [edge DEQ_PUBLISH release]
  return won;
}

/// @brief The owner takes its oldest task if that has the function @p func. It needs no fence between top and
/// bottom as a thief does: the owner itself writes bottom. @return false = there is none, or not of @p func:
/// what was read is void
static inline bool ws_deque_take_oldest_of(ws_deque_t *deque, void (*func)(void *arg), ws_task_t *task)
{
  const uint64_t bottom = ws_own_load(&deque->bottom);
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  uint64_t top = ws_expected_load(&deque->top);
  while ((int64_t)(bottom - top) > 0) {
    ws_cell_read(&ring->cell[top & ring->mask], task);
    if (task->func != func)
      return false;
    // [edge DEQ_LAST acq_rel] one of us
    if (WS_LIKELY(ws_cas_seq_cst(&deque->top, &top, top + 1)))
      return true;
  }
  return false;
}

/// @return whether the thief knows of a task in @p deque, probably, without looking at the owner's line
static inline bool ws_memo_holds(const ws_steal_memo_t *memo, const ws_deque_t *deque)
{
  return memo->deque == deque
         && (int64_t)(memo->bottom - ws_load_relaxed(&deque->top)) > 0; // relaxed: a guess, the steal decides
}

/// @brief Begin to steal: read the oldest task without taking it. ws_deque_steal_commit decides.
/// @param memo  in and out: what the thief remembers, from now on of this deque; all 0 = nothing
/// @param index  out: its index. @return false = there is no task
static inline bool ws_deque_steal_peek(ws_deque_t *deque, ws_steal_memo_t *memo, ws_task_t *task,
                                       uint64_t *index)
{
  // [edge DEQ_REUSE acquire] not older than what other thieves took
  const uint64_t top = ws_load_acquire(&deque->top);
  ws_fence_seq_cst_loads(); // [edge DEQ_LAST fence] top before bottom (or takes)
  const uint64_t takes = ws_load_acquire(&deque->takes); // [edge DEQ_TAKES acquire] read before bottom
  // Each take since the memo was made has lowered bottom by one at most, and pushes raise it: a lower bound.
  uint64_t bottom = memo->deque == deque ? memo->bottom - (takes - memo->takes) : top;
  if ((int64_t)(bottom - top) <= 0)
    bottom = ws_load_acquire(&deque->bottom); // [edge DEQ_PUBLISH acquire] cells below it
  *memo = (ws_steal_memo_t){.deque = deque, .bottom = bottom, .takes = takes};
  if ((int64_t)(bottom - top) <= 0)
    return false;
  // [edge DEQ_GROW acquire] its cells hold all of [top, bottom)
  const ws_ring_t *ring = ws_load_acquire(&deque->ring);
  ws_cell_read(&ring->cell[top & ring->mask], task);
  *index = top;
  return true;
}

/// @brief The caller will steal up to @p count tasks: have their cells come at once, not one after the other.
static inline void ws_deque_prefetch(const ws_deque_t *deque, uint32_t count)
{
  const ws_ring_t *ring = ws_load_acquire(&deque->ring); // [edge DEQ_GROW acquire] its cells
  const uint64_t top = ws_hint_load(&deque->top);
  for (uint32_t i = 0; i < count; i += 2) // two cells a line
    ws_prefetch(&ring->cell[(top + i) & ring->mask]);
}

/// @brief Take the task that ws_deque_steal_peek read. @return false if another thread has taken it: what was
/// read is void
static inline bool ws_deque_steal_commit(ws_deque_t *deque, uint64_t index)
{
  // [edge DEQ_LAST acq_rel] [edge DEQ_REUSE release] cell is read
  return ws_cas_seq_cst(&deque->top, &index, index + 1);
}

/// @brief Steal the oldest task.
static inline ws_steal_t ws_deque_steal(ws_deque_t *deque, ws_steal_memo_t *memo, ws_task_t *task)
{
  uint64_t index;
  if (!ws_deque_steal_peek(deque, memo, task, &index))
    return WS_STEAL_EMPTY;
  return ws_deque_steal_commit(deque, index) ? WS_STEAL_GOT : WS_STEAL_RETRY;
}

/// Tries of a thief. Each one that fails is a task that another thread has got, so the pool moves on. But the
/// thief would not come back to its own goal: an owner whose fiber yields without end may be quicker each
/// time.
#define WS_STEAL_TRIES 16u

/// @param index  of the task in its deque; for ws_shared_sift() the number of its cell
/// @return whether the caller wants the task; a steal of it may still fail
typedef bool ws_wanted_t(const ws_task_t *task, uint64_t index, void *arg);

/// @brief Steal the oldest task if it is wanted: again while other threads are quicker, but not without end.
/// @param wants  NULL = any is
/// @return WS_STEAL_EMPTY = there is none, or it is not wanted; WS_STEAL_RETRY = others were quicker each
/// time, and tasks may be left: the caller looks once more before it sleeps
static inline ws_steal_t ws_deque_steal_wanted(ws_deque_t *deque, ws_steal_memo_t *memo, ws_wanted_t *wants,
                                               void *arg, ws_task_t *task)
{
  uint64_t index;
  for (uint32_t tries = 0; tries < WS_STEAL_TRIES; tries++) {
    if (!ws_deque_steal_peek(deque, memo, task, &index) || (wants && !wants(task, index, arg)))
      return WS_STEAL_EMPTY;
    if (ws_deque_steal_commit(deque, index))
      return WS_STEAL_GOT;
  }
  return WS_STEAL_RETRY;
}

/// @return whether it has stolen the oldest task
static inline bool ws_deque_steal_one(ws_deque_t *deque, ws_steal_memo_t *memo, ws_task_t *task)
{
  return ws_deque_steal_wanted(deque, memo, NULL, NULL, task) == WS_STEAL_GOT;
}

#endif
