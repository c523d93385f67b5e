// SPDX-License-Identifier: BSD-3-Clause
#include "latch_run.h"

#include "clock.h"
#include "usage.h"

/// What all have done so far.
typedef struct {
  usage_t usage;
  latch_scanned_t scanned;
  latch_written_t written;
} moment_t;

static moment_t look(const latch_scans_t *scans, const latch_writers_t *writers)
{
  return (moment_t){usage_now(USAGE_PROCESS), latch_scans_read(scans), latch_writers_read(writers)};
}

static void report_span(report_t *report, const moment_t *begin, const moment_t *end)
{
  const double wall_s = end->usage.wall_s - begin->usage.wall_s;
  const uint64_t blocks = end->scanned.blocks - begin->scanned.blocks;
  const uint64_t waits = end->scanned.waits - begin->scanned.waits;
  const uint64_t holds = end->written.holds - begin->written.holds;
  const double hold_ns = (double)(end->written.hold_ns - begin->written.hold_ns);
  const double wait_ns = (double)(end->scanned.wait_ns - begin->scanned.wait_ns);
  const double writers_s = end->written.cpu_s - begin->written.cpu_s;
  report_number(report, "wall_s", wall_s);
  report_number(report, "cpu_s", end->usage.cpu_s - begin->usage.cpu_s - writers_s);
  report_number(report, "writers_cpu_s", writers_s);
  report_count(report, "ctx_switches", end->usage.ctx_switches - begin->usage.ctx_switches);
  report_count(report, "block_count", blocks);
  report_number(report, "blocks_per_s", (double)blocks / wall_s);
  report_count(report, "starved", end->scanned.starved);
  report_count(report, "waits", waits);
  report_number(report, "waits_under_way", wait_ns * 1e-9 / wall_s);
  report_number(report, "wait_us", waits ? wait_ns * 1e-3 / (double)waits : 0);
  report_count(report, "holds", holds);
  report_number(report, "hold_us", holds ? hold_ns * 1e-3 / (double)holds : 0);
}

static void report_times(report_t *report, latch_scans_t *scans)
{
  uint32_t count;
  uint64_t *const times = latch_scans_times(scans, &count);
  report_count(report, "scan_count", count);
  if (count > 0)
    report_percentiles(report, "scan", times, count);
}

static void measure(report_t *report, const latch_request_t *request, latch_scans_t *scans,
                    const latch_writers_t *writers)
{
  const uint64_t begin_ns = clock_now_ns() + (uint64_t)request->warm_ms * 1000000;
  clock_sleep_until(begin_ns);
  latch_scans_keep(scans, true);
  const moment_t begin = look(scans, writers);
  clock_sleep_until(begin_ns + (uint64_t)request->ms * 1000000);
  const moment_t end = look(scans, writers);
  latch_scans_keep(scans, false);
  const bool pushed = latch_scans_stop(scans);
  report_span(report, &begin, &end);
  report_times(report, scans);
  const uint64_t wrong = latch_scans_read(scans).wrong;
  if (wrong > 0)
    report_error(report, "%llu sums were wrong: a latch let a reader in while a writer held it",
                 (unsigned long long)wrong);
  else if (!pushed)
    report_error(report, "a push failed");
}

static void run_on(report_t *report, const latch_request_t *request, latch_tables_t *tables,
                   const nodes_t *nodes)
{
  latch_writing_t writing = request->writing;
  writing.hold_ns = (uint64_t)request->hold_us * 1000;
  writing.gap_ns = (uint64_t)request->gap_us * 1000;
  report_count(report, "workers", request->scanning.workers);
  report_count(report, "nodes", nodes->count);
  report_number(report, "work_us", latch_block_ns(tables) * 1e-3);
  latch_writers_t *const writers = latch_writers_start(tables, &writing);
  latch_scans_t *const scans = writers ? latch_scans_start(tables, nodes, &request->scanning) : NULL;
  if (scans)
    measure(report, request, scans, writers);
  else
    report_error(report, "no memory, or threads or a pool could not be made");
  latch_scans_free(scans);
  latch_writers_end(writers);
}

void latch_run(report_t *report, const latch_request_t *request)
{
  static nodes_t nodes;
  nodes_find(&nodes);
  const latch_how_t how = request->scanning.how;
  const latch_kind_t kind = how == HOW_THREADS || how == HOW_TASKS ? LATCH_PTHREAD : LATCH_OWN;
  latch_tables_t tables = {
      .count = request->tables, .blocks = request->blocks, .block_bytes = request->block_bytes};
  if (latch_tables_make(&tables, &nodes, kind))
    run_on(report, request, &tables, &nodes);
  else
    report_error(report, "not enough memory");
  latch_tables_free(&tables);
}
