// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_index.h
/// An index of the cells of a pool-wide queue (ws_shared.h) by a key. The cells of one key form a ring, from
/// the oldest to the newest. A hash table has the oldest cell of each key. So a wait finds its tasks among
/// any number of others in the time of one look-up, and a cell comes and goes without a search in its ring.
/// A wait that looks at each cell instead exceeds the bound of tests/sim/explore/checks/sim_cost.c in 9 % of
/// random programs of joins.
/// Before ws_index_move() has set the arrays, no other function may be called.
/// @threads  the holder of the queue's lock, for all functions
#ifndef WS_INDEX_H
#define WS_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define WS_INDEX_NONE UINT32_MAX

/// The place of a cell in a ring.
typedef struct {
  uintptr_t key; ///< of the oldest; 0 = no look-up finds the ring
  uint32_t older, newer; ///< cells; of the oldest and the newest: each other
  uint32_t next; ///< of the oldest: 1 + the oldest cell of another key with the same hash; 0 = there is none
  bool is_oldest;
} ws_link_t;

typedef struct {
  ws_link_t *link; ///< [capacity] of each cell
  uint32_t *bucket; ///< [capacity] 1 + the oldest cell of the first key with that hash; 0 = there is none
  uint32_t capacity;
} ws_index_t;

/// @brief Use these arrays from now on, of which the caller has zeroed @p bucket. The old ones stay the
/// caller's. Takes the links of the first @p used cells along, all that were ever added; 0 = the index is
/// empty, and its old arrays may be gone.
void ws_index_move(ws_index_t *index, ws_link_t *link, uint32_t *bucket, uint32_t capacity, uint32_t used);

/// @brief A cell becomes the newest of its key. @param key  0 = none
void ws_index_add(ws_index_t *index, uint32_t cell, uintptr_t key);

/// @brief Take a cell that was added out of its ring.
void ws_index_remove(ws_index_t *index, uint32_t cell);

/// @brief The cells of a key, if there are any, get another one, and are newer than those that have it.
/// @param from  not 0. @param to  0 = none: no look-up finds them any more
void ws_index_rename(ws_index_t *index, uintptr_t from, uintptr_t to);

/// @return the oldest cell with a key, which is not 0; WS_INDEX_NONE = there is none
uint32_t ws_index_oldest(const ws_index_t *index, uintptr_t key);

/// @return the next newer cell of the same key; WS_INDEX_NONE = there is none
uint32_t ws_index_newer(const ws_index_t *index, uint32_t cell);

#endif
