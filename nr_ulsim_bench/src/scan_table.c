// SPDX-License-Identifier: BSD-3-Clause
#include "scan_table.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "ws_node.h"

static void write_block(table_t *table, uint32_t index)
{
  uint64_t *const word = table->block[index];
  const uint64_t words = table->block_bytes / sizeof(uint64_t);
  for (uint64_t i = 0; i < words; i++)
    word[i] = ((uint64_t)index << 32) + i;
  table->sum += ((uint64_t)index << 32) * words + words * (words - 1) / 2;
}

static void write_node(table_t *table, uint32_t node, uint32_t *place)
{
  nodes_move(&table->nodes->node[node].cpus);
  for (uint32_t i = node; i < table->count; i += table->nodes->count) {
    write_block(table, i);
    table->by_node[(*place)++] = table->block[i];
    const int32_t found = ws_node_of(table->block[i]);
    table->misplaced += table->nodes->count > 1 && found != table->nodes->node[node].number;
  }
}

bool table_make(table_t *table, const nodes_t *nodes, size_t bytes, size_t block_bytes)
{
  const uint32_t count = (uint32_t)(bytes / block_bytes);
  *table = (table_t){.nodes = nodes, .count = count, .block_bytes = block_bytes};
  table->block = calloc(count, sizeof *table->block);
  table->by_node = calloc(count, sizeof *table->by_node);
  table->memory = mmap(NULL, count * block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (table->memory == MAP_FAILED)
    table->memory = NULL;
  if (!table->block || !table->by_node || !table->memory)
    return false;
  for (uint32_t i = 0; i < count; i++)
    table->block[i] = table->memory + i * block_bytes;
  uint32_t place = 0;
  for (uint32_t node = 0; node < nodes->count; node++)
    write_node(table, node, &place);
  nodes_move(&nodes->all);
  return true;
}

void table_free(table_t *table)
{
  if (table->memory)
    munmap(table->memory, table->count * table->block_bytes);
  free(table->by_node);
  free(table->block);
}

uint64_t table_block_sum(const table_t *table, const void *block)
{
  const uint64_t *const word = block;
  const uint64_t words = table->block_bytes / sizeof(uint64_t);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < words; i++)
    sum += word[i];
  return sum;
}
