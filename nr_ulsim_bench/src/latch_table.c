// SPDX-License-Identifier: BSD-3-Clause
#include "latch_table.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "clock.h"

#define PASSES 50

static bool make_table(latch_tables_t *tables, uint32_t index, latch_kind_t kind)
{
  latch_table_t *const table = &tables->table[index];
  const uint64_t words = tables->block_bytes / sizeof(uint64_t);
  const size_t bytes = tables->blocks * tables->block_bytes;
  table->block = aligned_alloc(_Alignof(latch_block_t), tables->blocks * sizeof *table->block);
  table->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (table->memory == MAP_FAILED)
    table->memory = NULL;
  if (!table->block || !table->memory)
    return false;
  for (uint32_t i = 0; i < tables->blocks; i++) {
    latch_init(&table->block[i].latch, kind);
    table->block[i].word = (uint64_t *)(table->memory + i * tables->block_bytes);
    for (uint64_t w = 0; w < words; w++) {
      table->block[i].word[w] = ((uint64_t)i << 32) + w;
      table->sum += table->block[i].word[w];
    }
  }
  return true;
}

bool latch_tables_make(latch_tables_t *tables, const nodes_t *nodes, latch_kind_t kind)
{
  tables->table = calloc(tables->count, sizeof *tables->table);
  bool good = tables->table;
  for (uint32_t i = 0; good && i < tables->count; i++) {
    const uint32_t node = i % nodes->count;
    tables->table[i].node = nodes->node[node].number;
    nodes_move(&nodes->node[node].cpus);
    good = make_table(tables, i, kind);
  }
  nodes_move(&nodes->all);
  return good;
}

void latch_tables_free(latch_tables_t *tables)
{
  for (uint32_t i = 0; tables->table && i < tables->count; i++) {
    latch_table_t *const table = &tables->table[i];
    for (uint32_t b = 0; table->memory && table->block && b < tables->blocks; b++)
      latch_destroy(&table->block[b].latch);
    if (table->memory)
      munmap(table->memory, tables->blocks * tables->block_bytes);
    free(table->block);
  }
  free(tables->table);
}

uint64_t latch_block_sum(const latch_block_t *block, size_t block_bytes)
{
  const uint64_t *const word = block->word;
  const uint64_t words = block_bytes / sizeof(uint64_t);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < words; i++)
    sum += word[i];
  return sum;
}

double latch_block_ns(const latch_tables_t *tables)
{
  const latch_table_t *const table = &tables->table[0];
  double least_ns = INFINITY;
  for (uint32_t pass = 0; pass < PASSES; pass++) {
    const uint64_t begin_ns = clock_now_ns();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tables->blocks; i++)
      sum += latch_block_sum(&table->block[i], tables->block_bytes);
    const double taken_ns = (double)(clock_now_ns() - begin_ns) / tables->blocks;
    if (sum == table->sum && taken_ns < least_ns)
      least_ns = taken_ns;
  }
  return least_ns;
}
