// SPDX-License-Identifier: BSD-3-Clause
// ws-scan: a table of blocks that is spread over the NUMA nodes, scanned in one of several ways.
// Use: ws-scan how=NAME [key=value]...   a JSON object, with the fastest of its passes
//      ws-scan --help                    names all keys
// The answer has figures, or "error". `python -m nrbench run --only scan` runs it in rounds and compares.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "clock.h"
#include "cpus.h"
#include "memory.h"
#include "words.h"
#include "ws_node.h"
#include "ws_scan.h"

#define NODES_MAX 64u
#define BLOCK_BYTES (UINT64_C(1) << 20)
#define BLOCK_WORDS (BLOCK_BYTES / sizeof(uint64_t))

static const char usage[] =
    "usage: ws-scan how=NAME [key=value]...\n"
    "keys:  how=one      one thread, in the table's order\n"
    "           nodes    one thread, which moves from node to node and scans the blocks that lie there\n"
    "           parallel ws_scan() without hints\n"
    "           hints    ws_scan()\n"
    "           read     threads without a pool, each with a part of the blocks\n"
    "       bytes=N      of the table, in blocks of 1 MiB\n"
    "       workers=N    of the pool; the thread that scans helps (default: CPUs - 1)\n"
    "       passes=N     the fastest counts\n";

typedef struct {
  enum { HOW_ONE, HOW_NODES, HOW_PARALLEL, HOW_HINTS, HOW_READ } how;
  uint64_t bytes;
  uint32_t workers, passes;
} request_t;

static const word_key_t keys[] = {
    {"how", WORD_ONE_OF(request_t, how, "one", "nodes", "parallel", "hints", "read")},
    {"bytes", WORD_NUMBER(request_t, bytes, BLOCK_BYTES, INT64_C(1) << 40)},
    {"workers", WORD_NUMBER(request_t, workers, 0, 1023)},
    {"passes", WORD_NUMBER(request_t, passes, 1, 100)},
    {NULL},
};

/// Of the NUMA nodes that have a CPU of this process.
typedef struct {
  int32_t number; ///< the kernel's
  cpu_set_t cpus; ///< those of the process's mask
} node_t;

typedef struct {
  request_t request;
  cpu_set_t cpus; ///< of the process
  node_t node[NODES_MAX];
  uint32_t nodes; ///< at least 1
  void **block; ///< of the table; block i lies on node i % nodes
  uint32_t blocks;
  uint32_t misplaced; ///< blocks that the kernel finds on another node than they were written on
  uint64_t wanted; ///< sum of all words
  _Atomic uint64_t sum; ///< of this pass
  ws_pool_t *pool;
} bench_t;

/// A thread's part of a read.
typedef struct {
  bench_t *bench;
  uint32_t index;
  pthread_t thread;
} reader_t;

static void move_to(const cpu_set_t *cpus)
{
  sched_setaffinity(0, sizeof *cpus, cpus);
}

/// @param list  as the kernel writes it: 0-3,8
static cpu_set_t parse_list(const char *list)
{
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (char *end; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
    const unsigned long first = strtoul(list, &end, 10);
    const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
    for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
      CPU_SET(cpu, &cpus);
  }
  return cpus;
}

/// Without nodes in /sys there is one, with the whole mask.
static void find_nodes(bench_t *bench)
{
  bench->cpus = cpus_mask();
  for (int32_t number = 0; number < 1024 && bench->nodes < NODES_MAX; number++) {
    char path[80], list[4096] = "";
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", number);
    FILE *const file = fopen(path, "re");
    if (!file)
      continue;
    node_t *const node = &bench->node[bench->nodes];
    *node = (node_t){number, parse_list(fgets(list, sizeof list, file) ? list : "")};
    fclose(file);
    CPU_AND(&node->cpus, &node->cpus, &bench->cpus);
    bench->nodes += CPU_COUNT(&node->cpus) > 0;
  }
  if (bench->nodes == 0)
    bench->node[bench->nodes++] = (node_t){0, bench->cpus};
}

/// A thread on each node writes the node's blocks, so that the kernel puts them there.
static bool make_table(bench_t *bench)
{
  bench->blocks = (uint32_t)(bench->request.bytes / BLOCK_BYTES);
  bench->block = allot(bench->blocks, sizeof *bench->block);
  char *const memory =
      mmap(NULL, bench->blocks * BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  for (uint32_t i = 0; i < bench->blocks; i++) {
    const node_t *const node = &bench->node[i % bench->nodes];
    uint64_t *const word = (uint64_t *)(memory + i * BLOCK_BYTES);
    move_to(&node->cpus);
    bench->block[i] = word;
    for (uint64_t w = 0; w < BLOCK_WORDS; w++)
      word[w] = ((uint64_t)i << 32) + w;
    bench->wanted += ((uint64_t)i << 32) * BLOCK_WORDS + BLOCK_WORDS * (BLOCK_WORDS - 1) / 2;
    bench->misplaced += bench->nodes > 1 && ws_node_of(word) != node->number;
  }
  move_to(&bench->cpus);
  return true;
}

static void scan_block(void *bench, void *block, uint32_t index)
{
  const uint64_t *const word = block;
  uint64_t sum = 0;
  (void)index;
  for (uint64_t i = 0; i < BLOCK_WORDS; i++)
    sum += word[i];
  atomic_fetch_add_explicit(&((bench_t *)bench)->sum, sum, memory_order_relaxed);
}

/// Each `step`-th block from `first` on.
static void scan_each(bench_t *bench, uint32_t first, uint32_t step)
{
  for (uint32_t i = first; i < bench->blocks; i += step)
    scan_block(bench, bench->block[i], i);
}

static void scan_node_by_node(bench_t *bench)
{
  for (uint32_t n = 0; n < bench->nodes; n++) {
    if (bench->nodes > 1)
      move_to(&bench->node[n].cpus);
    scan_each(bench, n, bench->nodes);
  }
}

static void *read_part(void *reader_arg)
{
  const reader_t *const reader = reader_arg;
  bench_t *const bench = reader->bench;
  const uint64_t blocks = bench->blocks, readers = bench->request.workers + 1;
  for (uint64_t i = blocks * reader->index / readers; i < blocks * (reader->index + 1) / readers; i++)
    scan_block(bench, bench->block[i], (uint32_t)i);
  return NULL;
}

/// Starting the threads takes a thousandth of what they take. The caller is one of them.
static bool read_in_threads(bench_t *bench)
{
  const uint32_t threads = bench->request.workers;
  reader_t *const reader = allot(threads + 1, sizeof *reader);
  uint32_t started = 0;
  for (; started < threads; started++) {
    reader[started] = (reader_t){.bench = bench, .index = started};
    if (pthread_create(&reader[started].thread, NULL, read_part, &reader[started]) != 0)
      break;
  }
  reader[threads] = (reader_t){.bench = bench, .index = threads};
  read_part(&reader[threads]);
  for (uint32_t i = 0; i < started; i++)
    pthread_join(reader[i].thread, NULL);
  return started == threads;
}

static bool scan(bench_t *bench)
{
  const ws_scan_t how = {.block = bench->block,
                         .count = bench->blocks,
                         .scan = scan_block,
                         .arg = bench,
                         .no_hints = bench->request.how == HOW_PARALLEL};
  switch (bench->request.how) {
    case HOW_ONE:
      scan_each(bench, 0, 1);
      return true;
    case HOW_NODES:
      scan_node_by_node(bench);
      return true;
    case HOW_READ:
      return read_in_threads(bench);
    default:
      return ws_scan(bench->pool, &how) == 0;
  }
}

static void measure(bench_t *bench, report_t *report)
{
  uint64_t best_ns = UINT64_MAX;
  for (uint32_t pass = 0; pass < bench->request.passes; pass++) {
    bench->sum = 0;
    const uint64_t begin_ns = clock_now_ns();
    const bool good = scan(bench);
    const uint64_t taken_ns = clock_now_ns() - begin_ns;
    best_ns = taken_ns < best_ns ? taken_ns : best_ns;
    if (!good || bench->sum != bench->wanted) {
      report_error(report, "a sum was wrong, or a scan failed");
      return;
    }
  }
  report_count(report, "nodes", bench->nodes);
  report_count(report, "threads", bench->request.workers + 1);
  report_count(report, "misplaced_blocks", bench->misplaced);
  report_number(report, "gb_per_s", (double)(bench->blocks * BLOCK_BYTES) / (double)best_ns);
}

/// With several nodes each worker is pinned, and so is this thread, to the last CPU: the ways then differ in
/// nothing but the hints.
static bool make_pool(bench_t *bench)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = bench->request.workers;
  settings.pin_step = bench->nodes > 1;
  const int32_t own = ws_settings_cpu(&settings, settings.workers);
  if (ws_pool_create(&bench->pool, &settings) < 0)
    return false;
  if (own >= 0)
    cpus_pin(0, (uint32_t)own);
  return true;
}

int main(int argc, char **argv)
{
  static bench_t bench;
  static report_t report;
  request_t *const request = &bench.request;
  *request = (request_t){.bytes = UINT64_C(1) << 28, .workers = cpus_count() - 1, .passes = 3};
  words_take(argc, argv, usage, keys, request);
  find_nodes(&bench);
  const bool pooled = request->how == HOW_PARALLEL || request->how == HOW_HINTS;
  if (make_table(&bench) && (!pooled || make_pool(&bench)))
    measure(&bench, &report);
  else
    report_error(&report, "not enough memory, or the pool could not be created");
  if (bench.pool)
    ws_pool_destroy(bench.pool);
  return report_print(&report) ? EXIT_SUCCESS : EXIT_FAILURE;
}
