// SPDX-License-Identifier: BSD-3-Clause
// ws-scan: one thread, node by node, and ws_scan() over a table of blocks, alone and with several scans at
// once; and the memory's bandwidth, read by as many threads without a pool.
// Use: ws-scan [key=value]...     a JSON object a line for each case, with the fastest of its passes
//      ws-scan --help             names all keys
// A line has figures, or "error". `python -m nrbench run --only scan` runs it in rounds and compares.
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
#define PAGE_BYTES 4096u

static const char usage[] =
    "usage: ws-scan [key=value]...\n"
    "keys:  bytes=N block_bytes=N  of the table, and of each block of it\n"
    "       workers=N              of the pool; the thread that scans helps (default: CPUs - 1)\n"
    "       scanners=N             scans at once, with contention\n"
    "       passes=N               over all cases, each time in another order; the fastest counts\n"
    "       seed=N                 of the order\n";

typedef struct {
  uint64_t bytes, block_bytes;
  uint32_t workers, scanners, passes, seed;
} request_t;

static const word_key_t keys[] = {
    {"bytes", WORD_NUMBER(request_t, bytes, 0, INT64_C(1) << 40)},
    {"block_bytes", WORD_NUMBER(request_t, block_bytes, PAGE_BYTES, 1 << 30)},
    {"workers", WORD_NUMBER(request_t, workers, 0, 1023)},
    {"scanners", WORD_NUMBER(request_t, scanners, 1, 1000)},
    {"passes", WORD_NUMBER(request_t, passes, 1, 100)},
    {"seed", WORD_NUMBER(request_t, seed, 0, UINT32_MAX)},
    {NULL},
};

/// One measurement.
typedef struct {
  const char *name;
  enum {
    SCAN_ONE, ///< one thread, the blocks in the table's order
    SCAN_NODES, ///< one thread, which moves from node to node and scans the blocks that lie there
    SCAN_PARALLEL, ///< ws_scan() without hints
    SCAN_HINTS, ///< ws_scan()
    READ ///< threads without a pool, each with a part of the blocks
  } kind;
  bool contended; ///< several scans at once
} case_t;

static const case_t cases[] = {
    {"one", SCAN_ONE, false},          {"nodes", SCAN_NODES, false}, {"parallel", SCAN_PARALLEL, false},
    {"hints", SCAN_HINTS, false},      {"one", SCAN_ONE, true},      {"nodes", SCAN_NODES, true},
    {"parallel", SCAN_PARALLEL, true}, {"hints", SCAN_HINTS, true},  {"read", READ, false},
};
#define CASES (sizeof cases / sizeof cases[0])

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
  uint64_t sum; ///< of all words
  ws_pool_t *pool;
  uint64_t best_ns[CASES]; ///< UINT64_MAX = not measured yet, 0 = failed
} bench_t;

/// Threads that do the same at once.
typedef struct {
  const bench_t *bench;
  const case_t *what;
  uint32_t count;
} meeting_t;

/// One thread's scan of the table, or its part of a read.
typedef struct {
  _Alignas(64) meeting_t *meeting;
  uint32_t index;
  pthread_t thread;
  void **block; ///< in the order in which a scan takes them
  _Atomic uint64_t sum;
  bool failed;
} member_t;

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
  const uint64_t block_bytes = bench->request.block_bytes, words = block_bytes / sizeof(uint64_t);
  bench->blocks = (uint32_t)(bench->request.bytes / block_bytes);
  bench->block = allot(bench->blocks, sizeof *bench->block);
  char *const memory =
      mmap(NULL, bench->blocks * block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  for (uint32_t i = 0; i < bench->blocks; i++) {
    const uint32_t place = i % bench->nodes;
    const node_t *const node = &bench->node[place];
    uint64_t *const word = (uint64_t *)(memory + i * block_bytes);
    move_to(&node->cpus);
    bench->block[i] = word;
    for (uint64_t w = 0; w < words; w++)
      word[w] = ((uint64_t)i << 32) + w;
    bench->sum += ((uint64_t)i << 32) * words + words * (words - 1) / 2;
    bench->misplaced += bench->nodes > 1 && ws_node_of(word) != node->number;
  }
  move_to(&bench->cpus);
  return true;
}

static void scan_block(void *member_arg, void *block, uint32_t index)
{
  member_t *const member = member_arg;
  const uint64_t *const word = block;
  const uint64_t words = member->meeting->bench->request.block_bytes / sizeof *word;
  uint64_t sum = 0;
  (void)index;
  for (uint64_t i = 0; i < words; i++)
    sum += word[i];
  atomic_fetch_add_explicit(&member->sum, sum, memory_order_relaxed);
}

/// Each scanner begins elsewhere, so that one does not find in the cache what another has just read.
static uint32_t first_of(const member_t *member, uint32_t blocks)
{
  return (uint32_t)((uint64_t)blocks * member->index / member->meeting->count);
}

static uint32_t end_of(const member_t *member, uint32_t blocks)
{
  return (uint32_t)((uint64_t)blocks * (member->index + 1) / member->meeting->count);
}

static void scan_node_by_node(member_t *member)
{
  const bench_t *const bench = member->meeting->bench;
  const cpu_set_t before = cpus_mask();
  for (uint32_t n = 0; n < bench->nodes; n++) {
    const uint32_t node = (member->index + n) % bench->nodes;
    const uint32_t blocks = (bench->blocks - node + bench->nodes - 1) / bench->nodes;
    const uint32_t first = first_of(member, blocks);
    if (bench->nodes > 1)
      move_to(&bench->node[node].cpus);
    for (uint32_t i = 0; i < blocks; i++)
      scan_block(member, bench->block[node + (first + i) % blocks * bench->nodes], i);
  }
  move_to(&before);
}

static void take_part(member_t *member)
{
  const meeting_t *const meeting = member->meeting;
  const bench_t *const bench = meeting->bench;
  const ws_scan_t how = {.block = member->block,
                         .count = bench->blocks,
                         .scan = scan_block,
                         .arg = member,
                         .no_hints = meeting->what->kind == SCAN_PARALLEL};
  switch (meeting->what->kind) {
    case SCAN_ONE:
      for (uint32_t i = 0; i < bench->blocks; i++)
        scan_block(member, member->block[i], i);
      break;
    case SCAN_NODES:
      scan_node_by_node(member);
      break;
    case SCAN_PARALLEL:
    case SCAN_HINTS:
      member->failed = ws_scan(bench->pool, &how) < 0;
      break;
    case READ:
      for (uint32_t i = first_of(member, bench->blocks); i < end_of(member, bench->blocks); i++)
        scan_block(member, bench->block[i], i);
  }
}

static void *take_part_in_thread(void *member_arg)
{
  member_t *const member = member_arg;
  move_to(&member->meeting->bench->cpus);
  take_part(member);
  return NULL;
}

/// Starting the threads takes a thousandth of what they take. One thread alone is the caller itself.
static uint64_t time_meeting(meeting_t *meeting, member_t *member)
{
  const uint64_t begin_ns = clock_now_ns();
  if (meeting->count == 1) {
    take_part(member);
    return clock_now_ns() - begin_ns;
  }
  for (uint32_t i = 0; i < meeting->count; i++)
    if (pthread_create(&member[i].thread, NULL, take_part_in_thread, &member[i]) != 0)
      member[i].failed = true;
  for (uint32_t i = 0; i < meeting->count; i++)
    if (!member[i].failed)
      pthread_join(member[i].thread, NULL);
  return clock_now_ns() - begin_ns;
}

/// @return ns; 0 = a sum was wrong, or ws_scan() failed
static uint64_t run_case(const bench_t *bench, const case_t *what)
{
  const bool scans = what->kind < READ;
  meeting_t meeting = {.bench = bench, .what = what};
  meeting.count = !scans ? bench->request.workers + 1 : what->contended ? bench->request.scanners : 1;
  member_t *const member = allot(meeting.count, sizeof *member);
  void **const order = allot(meeting.count * (size_t)bench->blocks, sizeof *order);
  for (uint32_t m = 0; m < meeting.count; m++) {
    member[m] = (member_t){.meeting = &meeting, .index = m, .block = order + m * (size_t)bench->blocks};
    const uint32_t first = first_of(&member[m], bench->blocks);
    for (uint32_t i = 0; scans && i < bench->blocks; i++)
      member[m].block[i] = bench->block[(first + i) % bench->blocks];
  }
  const uint64_t taken_ns = time_meeting(&meeting, member);
  bool good = true;
  uint64_t sum = 0;
  for (uint32_t m = 0; m < meeting.count; m++) {
    good = good && !member[m].failed && (!scans || member[m].sum == bench->sum);
    sum += member[m].sum;
  }
  free(order);
  free(member);
  return good && (scans || sum == bench->sum) ? taken_ns : 0;
}

static void run_pass(bench_t *bench, unsigned int *random)
{
  uint32_t order[CASES];
  for (uint32_t i = 0; i < CASES; i++) {
    const uint32_t j = (uint32_t)rand_r(random) % (i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  for (uint32_t i = 0; i < CASES; i++) {
    uint64_t *const best_ns = &bench->best_ns[order[i]];
    const uint64_t taken_ns = run_case(bench, &cases[order[i]]);
    *best_ns = taken_ns < *best_ns ? taken_ns : *best_ns;
  }
}

static void print_case(const bench_t *bench, uint32_t index)
{
  static report_t report;
  const uint32_t scans = cases[index].contended ? bench->request.scanners : 1;
  const uint64_t taken_ns = bench->best_ns[index];
  const uint64_t bytes = scans * bench->blocks * bench->request.block_bytes;
  report_text(&report, "step", cases[index].name);
  report_count(&report, "scanners", scans);
  report_count(&report, "nodes", bench->nodes);
  report_count(&report, "threads", bench->request.workers + 1);
  report_count(&report, "misplaced_blocks", bench->misplaced);
  report_count(&report, "bytes", bytes);
  if (taken_ns > 0) {
    report_number(&report, "ns", (double)taken_ns);
    report_number(&report, "gb_per_s", (double)bytes / (double)taken_ns);
  } else {
    report_text(&report, "error", "a result was wrong, or ws_scan() failed");
  }
  report_print(&report);
}

/// With several nodes each worker is pinned, and so is this thread, to the last CPU: the steps then differ in
/// nothing but the hints.
static bool make_pool(bench_t *bench)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = bench->request.workers;
  if (bench->nodes > 1) {
    settings.pin_step = 1;
    cpus_pin(0, cpus_nth(&bench->cpus, bench->request.workers));
  }
  return ws_pool_create(&bench->pool, &settings) == 0;
}

int main(int argc, char **argv)
{
  static bench_t bench;
  static report_t report;
  request_t *const request = &bench.request;
  *request = (request_t){.bytes = UINT64_C(1) << 28,
                         .block_bytes = 1u << 20,
                         .workers = cpus_count() - 1,
                         .scanners = 4,
                         .passes = 3,
                         .seed = 1};
  words_take(argc, argv, usage, keys, request);
  find_nodes(&bench);
  if (request->block_bytes % PAGE_BYTES != 0 || request->bytes / request->block_bytes < 2 * bench.nodes)
    report_error(&report, "request: blocks of N x %u bytes, two or more a node", PAGE_BYTES);
  else if (!make_table(&bench) || !make_pool(&bench))
    report_error(&report, "not enough memory, or the pool could not be created");
  if (report.length) {
    report_print(&report);
    return EXIT_FAILURE;
  }
  unsigned int random = request->seed;
  for (uint32_t i = 0; i < CASES; i++)
    bench.best_ns[i] = UINT64_MAX;
  for (uint32_t pass = 0; pass < request->passes; pass++)
    run_pass(&bench, &random);
  for (uint32_t i = 0; i < CASES; i++)
    print_case(&bench, i);
  ws_pool_destroy(bench.pool);
  return EXIT_SUCCESS;
}
