// SPDX-License-Identifier: BSD-3-Clause
// ws-scan: one thread, node by node, and ws_scan() over a table of blocks, alone and with several scans at
// once; and the memory's bandwidth, measured as STREAM does, by as many threads.
// Use: ws-scan [key=value]...     a JSON object a line for each case, with the fastest of its passes
//      ws-scan --help             names all keys
// A line has figures, or "error". `python -m nrbench run --only scan` runs it in rounds and compares.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "scan_steps.h"
#include "scan_stream.h"
#include "words.h"

#define LINE_CHARS_MAX 4096
#define PASSES_MAX 100u
#define BLOCK_BYTES_MIN 4096u

static const char usage[] =
    "usage: ws-scan [key=value]...\n"
    "keys:  bytes=N block_bytes=N  of the table, and of each block of it; of the triad's arrays together\n"
    "       workers=N              of the pool; the thread that scans helps (default: CPUs - 1)\n"
    "       scanners=N             scans at once, with contention\n"
    "       passes=N               over all cases, each time in another order; the fastest counts\n"
    "       seed=N                 of the order\n";

typedef struct {
  uint64_t bytes, block_bytes;
  uint32_t workers, scanners, passes, seed;
} request_t;

static const word_key_t keys[] = {
    {"bytes", WORD_NUMBER(request_t, bytes, UINT64_C(1) << 40)},
    {"block_bytes", WORD_NUMBER(request_t, block_bytes, UINT64_C(1) << 30)},
    {"workers", WORD_NUMBER(request_t, workers, 1023)},
    {"scanners", WORD_NUMBER(request_t, scanners, 1000)},
    {"passes", WORD_NUMBER(request_t, passes, PASSES_MAX)},
    {"seed", WORD_NUMBER(request_t, seed, UINT32_MAX)},
};

/// One measurement: a step of the scan, or a kernel of STREAM.
typedef struct {
  const char *name;
  enum { CASE_SCAN, CASE_CONTENDED, CASE_READ, CASE_TRIAD } kind;
  scan_step_t step;
  bool pinned;
} case_t;

static const case_t cases[] = {
    {"one", CASE_SCAN, STEP_ONE, false},
    {"nodes", CASE_SCAN, STEP_NODES, false},
    {"parallel", CASE_SCAN, STEP_PARALLEL, false},
    {"hints", CASE_SCAN, STEP_HINTS, false},
    {"one", CASE_CONTENDED, STEP_ONE, false},
    {"nodes", CASE_CONTENDED, STEP_NODES, false},
    {"parallel", CASE_CONTENDED, STEP_PARALLEL, false},
    {"hints", CASE_CONTENDED, STEP_HINTS, false},
    {"read", CASE_READ, STEPS, false},
    {"read-pinned", CASE_READ, STEPS, true},
    {"triad", CASE_TRIAD, STEPS, false},
    {"triad-pinned", CASE_TRIAD, STEPS, true},
};
#define CASES (sizeof cases / sizeof cases[0])

typedef struct {
  request_t request;
  nodes_t nodes;
  table_t table;
  triad_t triad;
  ws_pool_t *pool;
  uint64_t best_ns[CASES]; ///< UINT64_MAX = not measured yet, 0 = failed
} bench_t;

static bool parse_word(const char *key, const char *value, void *target)
{
  return word_parse(keys, sizeof keys / sizeof keys[0], key, value, target);
}

static int fail(const char *error)
{
  static report_t report;
  report_error(&report, "%s", error);
  printf("{%.*s}\n", (int)report.length, report.text);
  return EXIT_FAILURE;
}

static uint64_t run_case(bench_t *bench, const case_t *what)
{
  const uint32_t threads = bench->request.workers + 1;
  switch (what->kind) {
    case CASE_SCAN:
      return scan_steps_run(&bench->table, bench->pool, what->step, 1);
    case CASE_CONTENDED:
      return scan_steps_run(&bench->table, bench->pool, what->step, bench->request.scanners);
    case CASE_READ:
      return stream_read(&bench->table, threads, what->pinned);
    case CASE_TRIAD:
      return triad_run(&bench->triad, what->pinned);
  }
  return 0;
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
  const case_t *const what = &cases[index];
  const uint64_t taken_ns = bench->best_ns[index];
  const uint64_t table_bytes = (uint64_t)bench->table.count * bench->table.block_bytes;
  const uint32_t scans = what->kind == CASE_CONTENDED ? bench->request.scanners : 1;
  const uint64_t bytes =
      what->kind == CASE_TRIAD ? bench->triad.length * 3 * sizeof(double) : scans * table_bytes;
  report.length = 0;
  report_text(&report, "step", what->name);
  report_count(&report, "scanners", scans);
  report_count(&report, "nodes", bench->nodes.count);
  report_count(&report, "threads", bench->request.workers + 1);
  report_count(&report, "blocks", bench->table.count);
  report_count(&report, "misplaced_blocks", bench->table.misplaced);
  report_count(&report, "bytes", bytes);
  if (taken_ns > 0) {
    report_number(&report, "ns", (double)taken_ns);
    report_number(&report, "gb_per_s", (double)bytes / (double)taken_ns);
  } else {
    report_text(&report, "error", "a result was wrong, or there was not enough memory");
  }
  printf("{%.*s}\n", (int)report.length, report.text);
}

/// With several nodes each worker is pinned, and so is this thread, to the last CPU: the steps then differ in
/// nothing but the hints.
static bool make_pool(bench_t *bench)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = bench->request.workers;
  if (bench->nodes.count > 1) {
    settings.pin_step = 1;
    nodes_pin(nodes_cpu(&bench->nodes.all, bench->request.workers));
  }
  return ws_pool_create(&bench->pool, &settings) == 0;
}

static const char *measure(bench_t *bench)
{
  const request_t *const request = &bench->request;
  if (!table_make(&bench->table, &bench->nodes, request->bytes, request->block_bytes)
      || !triad_make(&bench->triad, &bench->nodes, request->bytes, request->workers + 1))
    return "not enough memory";
  if (!make_pool(bench))
    return "the pool could not be created";
  unsigned int random = request->seed;
  for (uint32_t i = 0; i < CASES; i++)
    bench->best_ns[i] = UINT64_MAX;
  for (uint32_t pass = 0; pass < request->passes; pass++)
    run_pass(bench, &random);
  for (uint32_t i = 0; i < CASES; i++)
    print_case(bench, i);
  return NULL;
}

static bool makes_sense(const bench_t *bench)
{
  const request_t *const request = &bench->request;
  return request->block_bytes >= BLOCK_BYTES_MIN && request->block_bytes % BLOCK_BYTES_MIN == 0
         && request->bytes / request->block_bytes >= 2 * bench->nodes.count && request->scanners > 0
         && request->passes > 0;
}

int main(int argc, char **argv)
{
  static bench_t bench;
  char line[LINE_CHARS_MAX] = "", error[512];
  if (argc > 1 && argv[1][0] == '-') {
    fputs(usage, stdout);
    return strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  nodes_find(&bench.nodes);
  bench.request = (request_t){.bytes = UINT64_C(1) << 28,
                              .block_bytes = 1u << 20,
                              .workers = (uint32_t)CPU_COUNT(&bench.nodes.all) - 1,
                              .scanners = 4,
                              .passes = 3,
                              .seed = 1};
  words_join(argc, argv, line, sizeof line);
  if (!words_parse(line, parse_word, &bench.request, error, sizeof error))
    return fail(error);
  if (!makes_sense(&bench))
    return fail("request: blocks of N x 4096 bytes, two or more a node; scanners and passes above 0");
  const char *const failed = measure(&bench);
  ws_pool_destroy(bench.pool);
  triad_free(&bench.triad);
  table_free(&bench.table);
  return failed ? fail(failed) : EXIT_SUCCESS;
}
