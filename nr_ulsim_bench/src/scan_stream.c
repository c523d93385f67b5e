// SPDX-License-Identifier: BSD-3-Clause
#include "scan_stream.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "scan_together.h"

/// One thread's sum, on its own cache line.
typedef struct {
  _Alignas(64) uint64_t value;
} sum_t;

typedef struct {
  const table_t *table;
  uint32_t threads;
  bool pinned;
  sum_t *sum;
} read_t;

/// Threads are dealt to the nodes in turn.
static uint32_t cpu_of(const nodes_t *nodes, uint32_t index)
{
  return nodes_cpu(&nodes->node[index % nodes->count].cpus, index / nodes->count);
}

static void read_unpinned(void *read_arg, uint32_t index)
{
  const read_t *const read = read_arg;
  const table_t *const table = read->table;
  const uint32_t end = (uint32_t)((uint64_t)table->count * (index + 1) / read->threads);
  for (uint32_t i = (uint32_t)((uint64_t)table->count * index / read->threads); i < end; i++)
    read->sum[index].value += table_block_sum(table, table->block[i]);
}

/// Thread t is on node t % nodes, as is block b on node b % nodes.
static void read_pinned(void *read_arg, uint32_t index)
{
  const read_t *const read = read_arg;
  const table_t *const table = read->table;
  const uint32_t nodes = table->nodes->count, node = index % nodes;
  const uint32_t readers = (read->threads - node + nodes - 1) / nodes; // threads on this node
  const uint32_t blocks = (table->count - node + nodes - 1) / nodes; // blocks on this node
  const uint32_t rank = index / nodes;
  const uint32_t end = (uint32_t)((uint64_t)blocks * (rank + 1) / readers);
  for (uint32_t i = (uint32_t)((uint64_t)blocks * rank / readers); i < end; i++)
    read->sum[index].value += table_block_sum(table, table->block[node + i * nodes]);
}

uint64_t stream_read(const table_t *table, uint32_t threads, bool pinned)
{
  pinned = pinned && threads >= table->nodes->count; // else nothing would read some of the nodes
  sum_t *const sum = aligned_alloc(sizeof *sum, threads * sizeof *sum);
  if (!sum)
    return 0;
  for (uint32_t i = 0; i < threads; i++)
    sum[i].value = 0;
  read_t read = {.table = table, .threads = threads, .sum = sum};
  const uint64_t taken_ns =
      together(threads, table->nodes, pinned ? cpu_of : NULL, pinned ? read_pinned : read_unpinned, &read);
  uint64_t all = 0;
  for (uint32_t i = 0; i < threads; i++)
    all += sum[i].value;
  free(sum);
  return all == table->sum ? taken_ns : 0;
}

static void triad_write(void *triad_arg, uint32_t index)
{
  const triad_t *const triad = triad_arg;
  double *const a = triad->memory, *const b = a + triad->length, *const c = b + triad->length;
  for (uint64_t i = triad->length * index / triad->threads; i < triad->length * (index + 1) / triad->threads;
       i++) {
    a[i] = 0;
    b[i] = 1;
    c[i] = 2;
  }
}

static void triad_compute(void *triad_arg, uint32_t index)
{
  const triad_t *const triad = triad_arg;
  double *restrict const a = triad->memory;
  const double *restrict const b = a + triad->length, *restrict const c = b + triad->length;
  const uint64_t end = triad->length * (index + 1) / triad->threads;
  for (uint64_t i = triad->length * index / triad->threads; i < end; i++)
    a[i] = b[i] + 3 * c[i];
}

bool triad_make(triad_t *triad, const nodes_t *nodes, size_t bytes, uint32_t threads)
{
  const uint64_t length = bytes / (3 * sizeof(double));
  *triad = (triad_t){.length = length, .threads = threads, .nodes = nodes};
  triad->memory =
      mmap(NULL, 3 * length * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (triad->memory == MAP_FAILED) {
    triad->memory = NULL;
    return false;
  }
  return together(threads, nodes, cpu_of, triad_write, triad) > 0;
}

uint64_t triad_run(triad_t *triad, bool pinned)
{
  const uint64_t taken_ns =
      together(triad->threads, triad->nodes, pinned ? cpu_of : NULL, triad_compute, triad);
  return triad->memory[0] == 7 && triad->memory[triad->length - 1] == 7 ? taken_ns : 0;
}

void triad_free(triad_t *triad)
{
  if (triad->memory)
    munmap(triad->memory, 3 * triad->length * sizeof(double));
}
