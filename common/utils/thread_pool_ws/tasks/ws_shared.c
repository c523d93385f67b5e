// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_shared.c
/// ws_shared.h.
#include "ws_shared.h"

#include "../os/ws_os.h"

#define NONE WS_INDEX_NONE
/// Pauses before a thread sleeps for a lock: it is held for less, unless its holder is preempted.
/// Sleepers get the lock one after the other, and each handover would cost two switches.
#define LOCK_PAUSES 64u

struct ws_shared_cell_s {
  ws_task_t task;
  const ws_queue_t *pusher; ///< NULL = it had no lane
  uint64_t number; ///< of its push: rises from the oldest to the newest; 0 = the cell is free
  uint32_t older, newer; ///< cells, NONE = there is none; newer of a free cell: the next free one
};

/// Take the queue's lock: spin for a moment, then sleep.
static void lock_shared(ws_shared_t *shared)
{
  for (uint32_t pauses = 0; pauses < LOCK_PAUSES; pauses++) {
    if (pthread_mutex_trylock(&shared->lock) == 0)
      return;
    ws_pause();
  }
  pthread_mutex_lock(&shared->lock);
}

/// A cell, its places in the two indices, and its part of their hash tables.
#define CELL_BYTES (sizeof(ws_shared_cell_t) + 2 * (sizeof(ws_link_t) + sizeof(uint32_t)))

/// Have @p capacity cells, more than before: tasks stay in theirs. The holder of the lock, or the creator.
/// @return false = there is no memory: nothing has changed
static bool resize(ws_shared_t *shared, uint32_t capacity)
{
  const uint32_t before = ws_own_load(&shared->capacity);
  ws_shared_cell_t *cells = ws_os_map(capacity * CELL_BYTES), *old = shared->cell;
  if (!cells)
    return false;
  if (shared->node > 0)
    ws_os_prefer_node(cells, capacity * CELL_BYTES, shared->node - 1);
  ws_link_t *links = (ws_link_t *)(void *)(cells + capacity);
  uint32_t *buckets = (uint32_t *)(void *)(links + 2 * (size_t)capacity);
  ws_index_move(&shared->by_group, links, buckets, capacity, before);
  ws_index_move(&shared->by_wait, links + capacity, buckets + capacity, capacity, before);
  if (before > 0) {
    memcpy(cells, old, before * sizeof(*cells));
    ws_os_unmap(old, before * CELL_BYTES);
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

bool ws_shared_begin(ws_tasks_t *tasks, ws_kind_t kind, bool grow)
{
  ws_shared_t *shared = &tasks->shared[kind];
  lock_shared(shared);
  const uint32_t capacity = ws_own_load(&shared->capacity);
  const bool grows = capacity == 0 || (grow && capacity <= NONE / 2);
  if (shared->vacant != NONE || shared->used < capacity
      || (grows && resize(shared, capacity == 0 ? shared->first_capacity : 2 * capacity)))
    return true;
  pthread_mutex_unlock(&shared->lock);
  return false;
}

/// @return the key of the tasks that carry the group, or a tag of it; a weak tag has another, in bit 1
static uintptr_t key_of(const ws_group_t *group)
{
  return (uintptr_t)group | 1; // not 0, also without a group
}

void ws_shared_end(ws_tasks_t *tasks, ws_kind_t kind, const ws_task_t *task, const ws_queue_t *pusher,
                   ws_wait_t *since)
{
  ws_shared_t *shared = &tasks->shared[kind];
  const uintptr_t key = key_of(task->group);
  const uint64_t number = ws_own_load(&shared->pushes) + 1;
  const uint32_t at = shared->vacant != NONE ? shared->vacant : shared->used++;
  ws_shared_cell_t *cell = &shared->cell[at];
  if (shared->vacant != NONE)
    shared->vacant = cell->newer;
  *cell = (ws_shared_cell_t){*task, pusher, number, .older = shared->newest, .newer = NONE};
  ws_index_add(&shared->by_group, at, key);
  ws_index_add(&shared->by_wait, at, (uintptr_t)since);
  ws_add_relaxed(&tasks->shared_tasks, 1); // relaxed: before the fence of the push [PARK_DEKKER], as the list
  if (shared->newest == NONE)
    ws_stat_store(&shared->oldest, at);
  else
    shared->cell[shared->newest].newer = at;
  shared->newest = at;
  ws_stat_store(&shared->pushes, number);
  if (since)
    since->kinds |= 1u << kind;
  pthread_mutex_unlock(&shared->lock);
}

void ws_shared_forget(ws_tasks_t *tasks, ws_wait_t *wait)
{
  ws_wait_t *since = ws_wait_since(wait->outer);
  for (ws_kind_t kind = 0; wait->kinds >> kind != 0; kind++) {
    if (!(wait->kinds >> kind & 1))
      continue;
    ws_shared_t *shared = &tasks->shared[kind];
    lock_shared(shared);
    if (ws_own_load(&shared->oldest) != NONE) // else it may have no memory
      ws_index_rename(&shared->by_wait, (uintptr_t)wait, (uintptr_t)since);
    pthread_mutex_unlock(&shared->lock);
  }
  if (since) {
    since->kinds |= wait->kinds;
    since->has_looked = false; // it may find these
  }
}

/// Take the task of a cell, which is vacant then. If a grown queue becomes empty, tasks->loose is set. The
/// holder of the lock.
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
  ws_index_remove(&shared->by_group, at);
  ws_index_remove(&shared->by_wait, at);
  cell->number = 0;
  cell->newer = shared->vacant;
  shared->vacant = at;
  ws_sub_relaxed(&tasks->shared_tasks, 1); // relaxed: only saves looks
  if (shared->newest == NONE && ws_own_load(&shared->capacity) > shared->first_capacity
      && !ws_hint_load(&tasks->loose)) // the trim that clears it takes the lock later
    ws_xchg_acq_rel(&tasks->loose, 1); // [edge TRIM_DUE acq_rel] the queue is empty
}

/// @return whether a wait may take the task. With a time limit, and a queue, it takes only what its own
/// thread has pushed, or a thread that had no lane: maybe itself
static bool may_take(const ws_wait_t *wait, const ws_shared_cell_t *cell)
{
  return !wait->is_timed || !wait->queue || !cell->pusher || cell->pusher == wait->queue;
}

/// @return the oldest cell with the group, or with @p weak a weak tag of it, that the wait may take; NONE.
/// Begins behind those that it has passed over before (wait->passed), and notes what it passes over
static uint32_t oldest_of(const ws_shared_t *shared, ws_wait_t *wait, ws_kind_t kind, bool weak)
{
  uint32_t *passed = &wait->passed[kind][weak];
  const uint64_t number = *passed > 0 && *passed <= shared->used ? shared->cell[*passed - 1].number : 0;
  if (number == 0 || 2 * number > wait->looked[kind])
    *passed = 0; // the cell has another task by now, or is gone
  uint32_t at = *passed > 0 ? ws_index_newer(&shared->by_group, *passed - 1)
                            : ws_index_oldest(&shared->by_group, key_of(wait->group) ^ (weak ? 2 : 0));
  for (; at != NONE && !may_take(wait, &shared->cell[at]); at = ws_index_newer(&shared->by_group, at))
    *passed = at + 1;
  return at;
}

/// @return the older of two cells; NONE = no cell
static uint32_t older_of(const ws_shared_t *shared, uint32_t one, uint32_t other)
{
  const bool takes_one =
      other == NONE || (one != NONE && shared->cell[one].number < shared->cell[other].number);
  return takes_one ? one : other;
}

/// The holder of the lock. Notes the look (wait->looked). @return the oldest cell that the wait may take;
/// NONE
static uint32_t find_oldest(const ws_shared_t *shared, ws_wait_t *wait, ws_kind_t kind)
{
  uint32_t at = ws_index_oldest(&shared->by_wait, (uintptr_t)wait);
  at = older_of(shared, at, oldest_of(shared, wait, kind, false));
  if (wait->weak)
    at = older_of(shared, at, oldest_of(shared, wait, kind, true));
  wait->looked[kind] = 2 * ws_own_load(&shared->pushes) + (at != NONE);
  return at;
}

bool ws_shared_take(ws_tasks_t *tasks, ws_kind_t kind, ws_wait_t *wait, ws_task_t *task)
{
  ws_shared_t *shared = &tasks->shared[kind];
  if (wait && !wait->has_looked) {
    memset(wait->looked, 0, sizeof(wait->looked));
    memset(wait->passed, 0, sizeof(wait->passed));
    wait->has_looked = true;
  }
  if (!ws_shared_holds(tasks, kind) || (wait && 2 * ws_hint_load(&shared->pushes) == wait->looked[kind]))
    return false;
  lock_shared(shared);
  uint32_t at = ws_own_load(&shared->oldest);
  if (wait && at != NONE) // else it may have no memory
    at = find_oldest(shared, wait, kind);
  if (at != NONE)
    take_at(tasks, shared, at, task);
  pthread_mutex_unlock(&shared->lock);
  return at != NONE;
}

void ws_shared_sift(ws_tasks_t *tasks, ws_wanted_t *takes, void *arg)
{
  for (ws_kind_t kind = 0; kind < tasks->kinds && ws_shared_count(tasks) > 0; kind++) {
    ws_shared_t *shared = &tasks->shared[kind];
    ws_task_t task;
    lock_shared(shared);
    for (uint32_t at = ws_own_load(&shared->oldest), next; at != NONE; at = next) {
      next = shared->cell[at].newer;
      if (takes(&shared->cell[at].task, at, arg))
        take_at(tasks, shared, at, &task);
    }
    pthread_mutex_unlock(&shared->lock);
  }
}

void ws_shared_trim(ws_shared_t *shared)
{
  ws_shared_cell_t *cells = NULL;
  lock_shared(shared);
  const uint32_t capacity = ws_own_load(&shared->capacity);
  if (ws_own_load(&shared->oldest) == NONE && capacity > shared->first_capacity) {
    cells = shared->cell;
    shared->used = 0;
    shared->vacant = NONE;
    ws_stat_store(&shared->capacity, 0);
  }
  pthread_mutex_unlock(&shared->lock);
  ws_os_unmap(cells, capacity * CELL_BYTES); // without the lock: it may take milliseconds
}

uint64_t ws_shared_grown_bytes(const ws_tasks_t *tasks, ws_kind_t kind)
{
  const uint64_t capacity = ws_hint_load(&tasks->shared[kind].capacity);
  return capacity > 0 ? (capacity - tasks->shared[kind].first_capacity) * CELL_BYTES : 0;
}

void ws_shared_free(ws_shared_t *shared)
{
  const uint32_t capacity = ws_own_load(&shared->capacity);
  if (capacity > 0)
    ws_os_unmap(shared->cell, capacity * CELL_BYTES);
  pthread_mutex_destroy(&shared->lock);
}
