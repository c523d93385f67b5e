// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_shared.c
/// ws_shared.h.
#include "ws_shared.h"

#include <string.h>

#include "../os/ws_os.h"

#define NONE UINT32_MAX
/// Pauses before a thread sleeps for a lock: it is held for less, unless its holder has lost the CPU.
/// Sleepers get the lock one after the other, and each handover would cost two switches.
#define LOCK_PAUSES 64u

struct ws_shared_cell_s {
  ws_task_t task;
  const ws_queue_t *pusher;
  uint64_t number; ///< of its push: rises from the oldest to the newest; 0 = the cell is free
  bool moved; ///< from the pusher's own queue: not pushed now
  uint32_t older, newer; ///< cells, NONE = there is none; newer of a free cell: the next free one
};

static void lock(ws_shared_t *shared)
{
  for (uint32_t pauses = 0; pauses < LOCK_PAUSES; pauses++) {
    if (pthread_mutex_trylock(&shared->lock) == 0)
      return;
    ws_pause();
  }
  pthread_mutex_lock(&shared->lock);
}

/// Have @p capacity cells. The holder of the lock. @return false = there is no memory
static bool resize(ws_shared_t *shared, uint32_t capacity)
{
  const uint32_t before = ws_own_load(&shared->capacity);
  ws_shared_cell_t *cells = ws_os_map(capacity * sizeof(*cells));
  if (!cells)
    return false;
  if (shared->node > 0)
    ws_os_prefer_node(cells, capacity * sizeof(*cells), shared->node - 1);
  if (before > 0) {
    memcpy(cells, shared->cell, before * sizeof(*cells));
    ws_os_unmap(shared->cell, before * sizeof(*cells));
  }
  shared->cell = cells;
  ws_stat_store(&shared->capacity, capacity);
  return true;
}

bool ws_shared_init(ws_shared_t *shared, uint32_t capacity, uint32_t node, bool reserve)
{
  ws_os_lock_init(&shared->lock);
  shared->first_capacity = capacity;
  shared->node = node;
  shared->newest = shared->vacant = NONE;
  ws_init_store(&shared->oldest, NONE);
  return !reserve || resize(shared, capacity);
}

static bool has_room(ws_shared_t *shared, bool grow)
{
  const uint32_t capacity = ws_own_load(&shared->capacity);
  if (shared->vacant != NONE || shared->used < capacity)
    return true;
  if (capacity == 0)
    return resize(shared, shared->first_capacity);
  return grow && capacity <= NONE / 2 && resize(shared, 2 * capacity);
}

bool ws_shared_begin(ws_tasks_t *tasks, ws_kind_t kind, bool grow)
{
  ws_shared_t *shared = &tasks->shared[kind];
  lock(shared);
  if (has_room(shared, grow))
    return true;
  pthread_mutex_unlock(&shared->lock);
  return false;
}

/// The holder of the lock, which has seen room.
static void append(ws_tasks_t *tasks, ws_shared_t *shared, ws_shared_cell_t pushed)
{
  const uint32_t at = shared->vacant != NONE ? shared->vacant : shared->used++;
  ws_shared_cell_t *cell = &shared->cell[at];
  if (shared->vacant != NONE)
    shared->vacant = cell->newer;
  pushed.number = ws_add_relaxed(&tasks->shared_number, 1) + 1; // relaxed: a push of the same thread is later
  pushed.older = shared->newest;
  pushed.newer = NONE;
  *cell = pushed;
  ws_add_relaxed(&tasks->shared_tasks, 1); // relaxed: before the fence of the push [PARK_DEKKER], as the list
  if (shared->newest == NONE)
    ws_stat_store(&shared->oldest, at);
  else
    shared->cell[shared->newest].newer = at;
  shared->newest = at;
  ws_stat_store(&shared->number, pushed.number);
}

void ws_shared_end(ws_tasks_t *tasks, ws_kind_t kind, const ws_task_t *task, const ws_queue_t *pusher,
                   bool moved)
{
  ws_shared_t *shared = &tasks->shared[kind];
  if (task)
    append(tasks, shared, (ws_shared_cell_t){.task = *task, .pusher = pusher, .moved = moved});
  pthread_mutex_unlock(&shared->lock);
}

/// Take the task of a cell. The holder of the lock.
static void take_at(ws_tasks_t *tasks, ws_shared_t *shared, uint32_t at, ws_task_t *task)
{
  ws_shared_cell_t *cell = &shared->cell[at];
  *task = cell->task;
  if (cell->older == NONE)
    ws_stat_store(&shared->oldest, cell->newer);
  else
    shared->cell[cell->older].newer = cell->newer;
  if (cell->newer == NONE)
    shared->newest = cell->older;
  else
    shared->cell[cell->newer].older = cell->older;
  cell->number = 0;
  cell->newer = shared->vacant;
  shared->vacant = at;
  ws_sub_relaxed(&tasks->shared_tasks, 1); // relaxed: only saves looks
}

/// @return the oldest cell that the wait has not read
static uint32_t first_unseen(const ws_shared_t *shared, const ws_seen_t *seen)
{
  const uint32_t oldest = ws_own_load(&shared->oldest);
  if (oldest == NONE || shared->cell[oldest].number >= seen->number)
    return oldest;
  if (shared->cell[seen->next].number == seen->number)
    return seen->next;
  uint32_t first = NONE; // others have taken that one: there are fewer new cells than seen ones
  for (uint32_t at = shared->newest; shared->cell[at].number >= seen->number; at = shared->cell[at].older)
    first = at;
  return first;
}

/// The wait reads a cell. @return the cell that it reads next
static uint32_t note_seen(const ws_shared_t *shared, uint32_t at, ws_seen_t *seen)
{
  const uint32_t next = shared->cell[at].newer;
  seen->next = next == NONE ? 0 : next;
  seen->number = next == NONE ? shared->cell[at].number + 1 : shared->cell[next].number;
  return next;
}

/// With a time limit it takes of its group, too, only what its own thread has pushed, or a thread that had no
/// lane: maybe itself.
static bool is_wanted(const ws_wait_t *wait, const ws_shared_cell_t *cell)
{
  const bool own = wait->queue && cell->pusher == wait->queue;
  const bool own_only = wait->queue && wait->is_timed;
  return (own && !cell->moved && cell->number > wait->number)
         || ((own || !cell->pusher || !own_only) && ws_group_is(cell->task.group, wait->group, wait->weak));
}

bool ws_shared_take(ws_tasks_t *tasks, ws_kind_t kind, ws_wait_t *wait, ws_task_t *task)
{
  ws_shared_t *shared = &tasks->shared[kind];
  ws_seen_t none = {0}, *seen = &none;
  if (wait) {
    if (!wait->has_seen)
      memset(wait->seen, 0, sizeof(wait->seen));
    wait->has_seen = true;
    seen = &wait->seen[kind];
  }
  if (!ws_shared_holds(tasks, kind) || ws_hint_load(&shared->number) < seen->number)
    return false;
  bool found = false;
  lock(shared);
  for (uint32_t at = first_unseen(shared, seen), next; at != NONE && !found; at = next) {
    next = note_seen(shared, at, seen);
    found = !wait || is_wanted(wait, &shared->cell[at]);
    if (found)
      take_at(tasks, shared, at, task);
  }
  pthread_mutex_unlock(&shared->lock);
  return found;
}

void ws_shared_sift(ws_tasks_t *tasks, ws_takes_t *takes, void *arg)
{
  for (ws_kind_t kind = 0; kind < tasks->kinds && ws_shared_count(tasks) > 0; kind++) {
    ws_shared_t *shared = &tasks->shared[kind];
    ws_task_t task;
    lock(shared);
    for (uint32_t at = ws_own_load(&shared->oldest), next; at != NONE; at = next) {
      next = shared->cell[at].newer;
      if (takes(&shared->cell[at].task, arg))
        take_at(tasks, shared, at, &task);
    }
    pthread_mutex_unlock(&shared->lock);
  }
}

uint64_t ws_shared_grown_bytes(const ws_tasks_t *tasks, ws_kind_t kind)
{
  const uint64_t capacity = ws_hint_load(&tasks->shared[kind].capacity);
  return capacity > 0 ? (capacity - tasks->shared[kind].first_capacity) * sizeof(ws_shared_cell_t) : 0;
}

void ws_shared_free(ws_shared_t *shared)
{
  const uint32_t capacity = ws_own_load(&shared->capacity);
  if (capacity > 0)
    ws_os_unmap(shared->cell, capacity * sizeof(*shared->cell));
  pthread_mutex_destroy(&shared->lock);
}
