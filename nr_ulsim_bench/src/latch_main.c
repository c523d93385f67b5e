// SPDX-License-Identifier: BSD-3-Clause
// ws-latch: scans of tables whose blocks writers hold for a time, run in one of several ways; or what fibers
// of one library cost.
// Use: ws-latch how=NAME [key=value]...   a JSON object
//      ws-latch --help                    names all keys
// The answer has figures, or "error". `python -m nrbench run --only latch` runs it in rounds and compares.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "latch_costs.h"
#include "latch_run.h"
#include "words.h"

#define LINE_CHARS_MAX 4096

static const char usage[] =
    "usage: ws-latch how=NAME [key=value]...\n"
    "keys:  how=threads        a thread for each client, pthread_rwlock_t\n"
    "           tasks          a plain task of the pool for each scan, pthread_rwlock_t\n"
    "           tasks-same     a plain task, with the latch of the fibers\n"
    "           fibers         a fiber for each client, which yields when it meets a held latch\n"
    "           hints          as fibers, with the NUMA node of the table as a hint\n"
    "           cost-ws|cost-jump|cost-boost   no scans: what fibers of this library cost\n"
    "       scans=N            clients, each of which asks for one scan after the other\n"
    "       workers=N          threads of the pool (default: CPUs)\n"
    "       tables=N blocks=N block_bytes=N   tables, blocks of each; bytes a multiple of 4096\n"
    "       writers=N          threads that hold blocks, of all tables together; at most tables * blocks\n"
    "       hold=sleep|work    what a writer does meanwhile\n"
    "       hold_us=N gap_us=N how long it holds a block, and then none\n"
    "       warm_ms=N ms=N     time before the measurement, and of it\n"
    "       count=N            of cost-*: switches\n"
    "       sleepers=N spread_ms=N   of cost-*: fibers that sleep, until times so far apart\n";

typedef struct {
  uint32_t how;
  latch_request_t scans;
  cost_request_t costs;
} request_t;

enum { HOW_COSTS = HOW_HINTS + 1 };

static const word_key_t keys[] = {
    {"how", WORD_ONE_OF(request_t, how, "threads", "tasks", "tasks-same", "fibers", "hints", "cost-ws",
                        "cost-jump", "cost-boost")},
    {"scans", WORD_NUMBER(request_t, scans.scanning.scans, 100000)},
    {"workers", WORD_NUMBER(request_t, scans.scanning.workers, 1023)},
    {"tables", WORD_NUMBER(request_t, scans.tables, 1024)},
    {"blocks", WORD_NUMBER(request_t, scans.blocks, 65536)},
    {"block_bytes", WORD_NUMBER(request_t, scans.block_bytes, 1u << 30)},
    {"writers", WORD_NUMBER(request_t, scans.writing.writers, 10000)},
    {"hold", WORD_ONE_OF(request_t, scans.writing.hold, "sleep", "work")},
    {"hold_us", WORD_NUMBER(request_t, scans.hold_us, 1000000)},
    {"gap_us", WORD_NUMBER(request_t, scans.gap_us, 1000000)},
    {"warm_ms", WORD_NUMBER(request_t, scans.warm_ms, 100000)},
    {"ms", WORD_NUMBER(request_t, scans.ms, 100000)},
    {"count", WORD_NUMBER(request_t, costs.count, 1000000000)},
    {"sleepers", WORD_NUMBER(request_t, costs.sleepers, 100000)},
    {"spread_ms", WORD_NUMBER(request_t, costs.spread_ms, 100000)},
};

static bool parse_word(const char *key, const char *value, void *target)
{
  return word_parse(keys, sizeof keys / sizeof keys[0], key, value, target);
}

static void answer(report_t *report, request_t *request)
{
  latch_request_t *const scans = &request->scans;
  if (request->how >= HOW_COSTS) {
    request->costs.of = (cost_of_t)(request->how - HOW_COSTS);
    if (request->costs.count < 1000 || request->costs.sleepers == 0)
      report_error(report, "request: count is at least 1000, sleepers at least 1");
    else
      costs_measure(report, &request->costs);
    return;
  }
  scans->scanning.how = (latch_how_t)request->how;
  if (scans->scanning.scans == 0 || scans->scanning.workers == 0 || scans->tables == 0 || scans->ms == 0)
    report_error(report, "request: scans, workers, tables and ms are above 0");
  else if (scans->blocks == 0 || scans->writing.writers > (uint64_t)scans->tables * scans->blocks)
    report_error(report, "request: at least one block a table, and a block for each writer");
  else if (scans->block_bytes == 0 || scans->block_bytes % 4096 != 0)
    report_error(report, "request: block_bytes is a multiple of 4096, above 0");
  else
    latch_run(report, scans);
}

int main(int argc, char **argv)
{
  static report_t report;
  char line[LINE_CHARS_MAX] = "", error[512];
  cpu_set_t mask;
  const int status = words_usage(argc, argv, true, usage);
  if (status >= 0)
    return status;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  request_t request = {.how = HOW_FIBERS, .costs = {.count = 1000000, .sleepers = 10000, .spread_ms = 1000}};
  request.scans = (latch_request_t){
      .tables = 2, .blocks = 16, .block_bytes = 131072, .hold_us = 1000, .warm_ms = 300, .ms = 1000};
  request.scans.scanning = (latch_scanning_t){.scans = 64, .workers = (uint32_t)CPU_COUNT(&mask)};
  request.scans.writing.writers = 8;
  words_join(argc, argv, line, sizeof line);
  if (words_parse(line, parse_word, &request, error, sizeof error))
    answer(&report, &request);
  else
    report_error(&report, "%s", error);
  printf("{%.*s}\n", (int)report.length, report.text);
  return strncmp(report.text, "\"error\"", 7) == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
