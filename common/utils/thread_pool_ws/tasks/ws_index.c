// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_index.c
/// ws_index.h.
#include "ws_index.h"

#include <string.h>

/// @return where the number of the oldest cell with the key stands, or would stand
static uint32_t *place_of(const ws_index_t *index, uintptr_t key)
{
  const uint64_t hash = (uint64_t)key * 0x9E3779B97F4A7C15u >> 32; // Knuth's: addresses differ in few bits
  uint32_t *place = &index->bucket[hash * index->capacity >> 32];
  while (*place != 0 && index->link[*place - 1].key != key)
    place = &index->link[*place - 1].next;
  return place;
}

/// Let look-ups find the ring of @p oldest under the key that its link has by now, behind the cells that have
/// that key already. With key 0 no look-up finds it: it stays a ring of its own.
static void enter(ws_index_t *index, uint32_t oldest)
{
  ws_link_t *link = index->link, *own = &link[oldest];
  own->is_oldest = true;
  own->next = 0;
  if (own->key == 0)
    return;
  uint32_t *place = place_of(index, own->key);
  if (*place == 0) {
    *place = oldest + 1;
    return;
  }
  const uint32_t first = *place - 1, last = link[first].older, newest = own->older;
  own->is_oldest = false;
  own->older = last;
  link[last].newer = oldest;
  link[newest].newer = first;
  link[first].older = newest;
}

void ws_index_move(ws_index_t *index, ws_link_t *link, uint32_t *bucket, uint32_t capacity, uint32_t used)
{
  if (used > 0)
    memcpy(link, index->link, used * sizeof(*link));
  *index = (ws_index_t){.link = link, .bucket = bucket, .capacity = capacity};
  for (uint32_t cell = 0; cell < used; cell++)
    if (link[cell].is_oldest)
      enter(index, cell);
}

void ws_index_add(ws_index_t *index, uint32_t cell, uintptr_t key)
{
  index->link[cell] = (ws_link_t){.key = key, .older = cell, .newer = cell};
  enter(index, cell);
}

void ws_index_remove(ws_index_t *index, uint32_t cell)
{
  ws_link_t *link = index->link, *own = &link[cell];
  link[own->older].newer = own->newer;
  link[own->newer].older = own->older;
  if (!own->is_oldest)
    return;
  own->is_oldest = false;
  const bool is_last = own->newer == cell;
  if (!is_last) {
    link[own->newer].is_oldest = true;
    link[own->newer].key = own->key;
    link[own->newer].next = own->next;
  }
  if (own->key != 0)
    *place_of(index, own->key) = is_last ? own->next : own->newer + 1;
}

void ws_index_rename(ws_index_t *index, uintptr_t from, uintptr_t to)
{
  uint32_t *place = place_of(index, from);
  if (*place == 0)
    return;
  const uint32_t oldest = *place - 1;
  *place = index->link[oldest].next;
  index->link[oldest].key = to;
  enter(index, oldest);
}

uint32_t ws_index_oldest(const ws_index_t *index, uintptr_t key)
{
  return *place_of(index, key) - 1; // 0 becomes WS_INDEX_NONE
}

uint32_t ws_index_newer(const ws_index_t *index, uint32_t cell)
{
  const uint32_t newer = index->link[cell].newer;
  return index->link[newer].is_oldest ? WS_INDEX_NONE : newer;
}
