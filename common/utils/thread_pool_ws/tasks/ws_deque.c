// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_deque.c
/// The rare operations of ws_deque.h: set up, grow, shrink, give memory back.
#include "ws_deque.h"

#include "../os/ws_os.h"

void ws_deque_init(ws_deque_t *deque, ws_cell_t *cells, uint64_t capacity)
{
  WS_ASSERT(capacity >= 2 && (capacity & (capacity - 1)) == 0);
  memset(deque, 0, sizeof(*deque));
  deque->rings[0] = (ws_ring_t){.mask = capacity - 1, .cell = cells};
  // Indices start at 1: the owner's take may lower bottom below top by one.
  ws_init_store(&deque->top, 1);
  ws_init_store(&deque->bottom, 1);
  ws_init_store(&deque->ring, &deque->rings[0]);
  deque->top_seen = 1;
}

static uint64_t ring_bytes(const ws_ring_t *ring)
{
  return (ring->mask + 1) * sizeof(ws_cell_t);
}

void ws_deque_free(ws_deque_t *deque)
{
  for (uint32_t level = 1; level < WS_DEQUE_LEVELS && deque->rings[level].cell; level++)
    ws_os_unmap(deque->rings[level].cell, ring_bytes(&deque->rings[level]));
}

void ws_deque_touch(ws_deque_t *deque)
{
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  if (ws_deque_size(deque) > 0)
    return;
  for (uint64_t i = 0; i <= ring->mask; i += 4096 / sizeof(ws_cell_t))
    ws_store_relaxed(&ring->cell[i].arg, NULL); // relaxed: empty, so no thief can use what it reads
  ws_store_relaxed(&ring->cell[ring->mask].arg, NULL); // relaxed: as above; the ring may end in one more page
}

/// Map the ring above the present one unless an earlier growth did. @return NULL = there is no memory, or no
/// level above
static ws_ring_t *next_ring(ws_deque_t *deque)
{
  const uint32_t level = deque->level + 1;
  if (level >= WS_DEQUE_LEVELS)
    return NULL;
  ws_ring_t *ring = &deque->rings[level];
  if (!ring->cell) {
    const uint64_t capacity = (deque->rings[0].mask + 1) << level;
    ws_cell_t *cells = ws_os_map(capacity * sizeof(ws_cell_t));
    if (!cells)
      return NULL;
    *ring = (ws_ring_t){.mask = capacity - 1, .cell = cells};
  }
  return ring;
}

/// How long the owner waits for a trim: longer than one takes, unless the trimming thread gets no CPU.
#define TRIM_NS_MAX 1000000u

/// Make sure that no thread gives back, or will give back, pages that the owner is about to use.
/// @return false = a trim is under way, and does not end
static bool keep_pages(ws_deque_t *deque)
{
  for (bool waited = false;; waited = true) {
    uint32_t loose = ws_load_acquire(&deque->loose); // [edge DEQ_LOOSE acquire] a trim that has ended
    deque->has_waited = deque->has_waited && loose == WS_LOOSE_TRIMMING;
    // [edge DEQ_LOOSE acq_rel] the thread that moves loose away from PAGES may touch the pages: the owner, or
    // one trim
    if (loose == WS_LOOSE_NONE
        || (loose == WS_LOOSE_PAGES && ws_cas_acq_rel(&deque->loose, &loose, WS_LOOSE_NONE)))
      return true;
    if (waited || deque->has_waited)
      return false;
    // asleep, so that the guard, which is of a lower class, can end its trim
    ws_os_futex_wait(&deque->loose, WS_LOOSE_TRIMMING, TRIM_NS_MAX);
    deque->has_waited = ws_expected_load(&deque->loose) == WS_LOOSE_TRIMMING;
  }
}

bool ws_deque_grow(ws_deque_t *deque)
{
  ws_ring_t *next = keep_pages(deque) ? next_ring(deque) : NULL;
  if (!next)
    return false;
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  const uint64_t bottom = ws_own_load(&deque->bottom);
  for (uint64_t i = ws_load_acquire(&deque->top); i != bottom; i++) { // [edge DEQ_REUSE acquire]
    ws_task_t task;
    ws_cell_read(&ring->cell[i & ring->mask], &task);
    ws_cell_write(&next->cell[i & next->mask], &task);
  }
  ws_store_release(&deque->ring, next); // [edge DEQ_GROW release] the copied cells before the ring
  deque->level++;
  const uint64_t bytes = 2 * (ring_bytes(next) - ring_bytes(&deque->rings[0])); // of levels 1 to this one
  if (bytes > ws_own_load(&deque->grown_bytes)) // else more was not given back since
    ws_stat_store(&deque->grown_bytes, bytes);
  return true;
}

bool ws_deque_shrink(ws_deque_t *deque)
{
  if (deque->level == 0 || ws_deque_size(deque) != 0)
    return false;
  // Empty, so no thief can succeed with a cell of the old ring: its CAS on top fails.
  ws_store_release(&deque->ring, &deque->rings[0]); // [edge DEQ_GROW release]
  deque->level = 0;
  // [edge DEQ_LOOSE release] no more writes to the bigger rings
  ws_store_release(&deque->loose, WS_LOOSE_PAGES);
  return true;
}

void ws_deque_trim(ws_deque_t *deque)
{
  uint32_t loose = WS_LOOSE_PAGES;
  if (ws_expected_load(&deque->loose) != WS_LOOSE_PAGES
      || !ws_cas_acq_rel(&deque->loose, &loose, WS_LOOSE_TRIMMING)) // [edge DEQ_LOOSE acq_rel]
    return;
  bool stays = false; // locked pages: no harm
  for (uint32_t level = 1; level < WS_DEQUE_LEVELS && deque->rings[level].cell; level++)
    stays |= ws_os_release_pages(deque->rings[level].cell, ring_bytes(&deque->rings[level])) != 0;
  if (!stays)
    ws_stat_store(&deque->grown_bytes, 0);
  ws_store_release(&deque->loose, WS_LOOSE_NONE); // [edge DEQ_LOOSE release] the next growth may write again
  ws_os_futex_wake(&deque->loose, 1);
}
