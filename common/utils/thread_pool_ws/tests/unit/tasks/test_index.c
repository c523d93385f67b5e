// SPDX-License-Identifier: BSD-3-Clause
/// @file test_index.c
/// An index against a plain list of keys: random steps, few keys, and all keys in one bucket.
#include "../../../tasks/ws_index.c"
#include "../../support/ws_test.h"

enum { CELLS = 48, KEYS = 5 };

static ws_link_t link_of[2 * CELLS], links[CELLS];
static uint32_t bucket_of[2 * CELLS], buckets[CELLS];
static struct {
  uint32_t cell[CELLS], count; ///< from the oldest to the newest
} list[KEYS]; ///< list[0]: cells without a key, in no order

static uintptr_t key_of(uint32_t key)
{
  return (uintptr_t)key << 12;
}

static void check(const ws_index_t *index)
{
  for (uint32_t key = 1; key < KEYS; key++) {
    uint32_t at = ws_index_oldest(index, key_of(key));
    for (uint32_t i = 0; i < list[key].count; i++, at = ws_index_newer(index, at))
      if (at != list[key].cell[i]) {
        CU_FAIL("a cell of the key is not the next one");
        return;
      }
    CU_ASSERT_EQUAL(at, WS_INDEX_NONE);
  }
}

static void add(ws_index_t *index, uint32_t cell, uint32_t key)
{
  ws_index_add(index, cell, key_of(key));
  list[key].cell[list[key].count++] = cell;
}

static void remove_at(ws_index_t *index, uint32_t key, uint32_t at)
{
  ws_index_remove(index, list[key].cell[at]);
  list[key].count--;
  for (uint32_t i = at; i < list[key].count; i++)
    list[key].cell[i] = list[key].cell[i + 1];
}

static void rename_key(ws_index_t *index, uint32_t from, uint32_t to)
{
  ws_index_rename(index, key_of(from), key_of(to));
  for (uint32_t i = 0; i < list[from].count; i++)
    list[to].cell[list[to].count++] = list[from].cell[i];
  list[from].count = 0;
}

/// @param capacity  of the hash table
static void play(uint32_t capacity, uint32_t seed)
{
  ws_index_t index = {0};
  uint32_t cells = 0, free_cell[CELLS], frees = 0;
  memset(list, 0, sizeof(list));
  memset(buckets, 0, sizeof(buckets));
  ws_index_move(&index, links, buckets, capacity, 0);
  for (uint32_t step = 0; step < 400; step++) {
    seed = seed * 1664525u + 1013904223u;
    const uint32_t key = (seed >> 16) % KEYS, what = (seed >> 24) % 8;
    if (what < 4 && cells - frees < CELLS) {
      add(&index, frees > 0 ? free_cell[--frees] : cells++, key);
    } else if (what < 7 && list[key].count > 0) {
      const uint32_t at = (seed >> 8) % list[key].count;
      free_cell[frees++] = list[key].cell[at];
      remove_at(&index, key, at);
    } else if (what == 7 && key > 0) {
      rename_key(&index, key, (key + (seed >> 8)) % KEYS == key ? 0 : (key + (seed >> 8)) % KEYS);
    }
    check(&index);
  }
  memset(bucket_of, 0, sizeof(bucket_of));
  ws_index_move(&index, link_of, bucket_of, 2 * CELLS, cells);
  check(&index);
}

TEST_CASE(it_is_as_a_list_of_each_key)
{
  for (uint32_t seed = 0; seed < 50; seed++)
    play(CELLS, seed);
}

TEST_CASE(keys_of_one_bucket_are_kept_apart)
{
  for (uint32_t seed = 0; seed < 50; seed++)
    play(1, seed);
}

TEST_MAIN("index")
