// SPDX-License-Identifier: BSD-3-Clause
/// @file slot.c
/// The slots of a radio: each 0.5 ms a burst of 12 tasks of 6 us, then one of 22 tasks of 28 us. Both must be
/// done before the next slot. See README.md.
///     slot [--slots N]
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ws_key.h"
#include "ws_pool.h"

#define SYMBOLS 12u
#define SYMBOL_NS 6000u
#define SEGMENTS 22u
#define SEGMENT_NS 28000u
#define REPORTS 2u ///< of low priority, in each slot
#define REPORT_NS 20000u
#define SLOT_NS 500000u
#define SLOTS_MAX 1000000u

static uint64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void compute(void *duration_ns_arg)
{
  const uint64_t end_ns = now_ns() + *(const uint64_t *)duration_ns_arg;
  while (now_ns() < end_ns)
    ;
}

static const uint64_t symbol_ns = SYMBOL_NS, segment_ns = SEGMENT_NS, report_ns = REPORT_NS;

/// A segment is skipped if it has not begun when its slot is over.
typedef struct {
  ws_keyed_t task;
  uint64_t decoded, cancelled;
} segment_t;

static void decode(void *segment_arg)
{
  compute((void *)&segment_ns);
  ((segment_t *)segment_arg)->decoded++;
}

static void give_up(void *segment_arg)
{
  ((segment_t *)segment_arg)->cancelled++;
}

/// A way to run the slots, and what came of it.
typedef struct {
  const char *name;
  uint32_t workers; ///< 0: no pool, the slot's thread does all
  ws_spin_t spin;
  uint32_t slots, late;
  uint64_t *slot_ns; ///< of each slot
  segment_t segment[SEGMENTS];
  ws_key_t key;
  ws_pool_t *pool;
} run_t;

static void push(run_t *run, const uint64_t *duration_ns, ws_group_t *group, ws_priority_t priority)
{
  const ws_task_t task = {.func = compute, .arg = (void *)duration_ns, .group = group, .priority = priority};
  if (ws_pool_push(run->pool, task) < 0 && group)
    ws_group_complete(group, 1); // refused: it will not run
}

static void process_symbols(run_t *run)
{
  ws_group_t symbols;
  ws_group_init(&symbols, SYMBOLS);
  for (uint32_t i = 0; i < SYMBOLS; i++)
    push(run, &symbol_ns, &symbols, WS_PRIORITY_HIGH);
  ws_group_wait(&symbols, run->pool);
}

static void decode_segments(run_t *run, uint64_t deadline_ns)
{
  ws_group_t segments;
  ws_group_init(&segments, SEGMENTS);
  for (uint32_t i = 0; i < SEGMENTS; i++) {
    segment_t *segment = &run->segment[i];
    segment->task = (ws_keyed_t){
        .key = &run->key, .func = decode, .on_cancel = give_up, .arg = segment, .group = &segments};
    if (ws_pool_push_keyed(run->pool, &segment->task) < 0)
      ws_group_complete(&segments, 1);
  }
  if (ws_group_wait_until(&segments, run->pool, deadline_ns) == -ETIMEDOUT) {
    ws_pool_cancel(run->pool, &run->key);
    ws_group_wait(&segments, run->pool); // for those that had begun
  }
}

static void run_slots(run_t *run)
{
  uint64_t begin_ns = now_ns() + SLOT_NS;
  for (uint32_t slot = 0; slot < run->slots; slot++) {
    const struct timespec at = {(time_t)(begin_ns / 1000000000u), (long)(begin_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
      ;
    process_symbols(run);
    for (uint32_t i = 0; i < REPORTS; i++) // runs in the rest of the slot
      push(run, &report_ns, NULL, WS_PRIORITY_LOW);
    decode_segments(run, begin_ns + SLOT_NS);
    run->slot_ns[slot] = now_ns() - begin_ns;
    run->late += run->slot_ns[slot] > SLOT_NS;
    begin_ns += SLOT_NS;
    while (begin_ns < now_ns()) // the thread was kept from its CPU: a radio loses these slots
      begin_ns += SLOT_NS;
  }
}

static int compare(const void *left_arg, const void *right_arg)
{
  const uint64_t left = *(const uint64_t *)left_arg, right = *(const uint64_t *)right_arg;
  return (left > right) - (left < right);
}

/// @return whether each segment was either decoded or cancelled, once in each slot
static bool print_row(run_t *run)
{
  uint64_t decoded = 0, cancelled = 0;
  for (uint32_t i = 0; i < SEGMENTS; i++) {
    decoded += run->segment[i].decoded;
    cancelled += run->segment[i].cancelled;
  }
  ws_prewake_stats_t prewake;
  ws_pool_prewake_stats(run->pool, &prewake);
  qsort(run->slot_ns, run->slots, sizeof(run->slot_ns[0]), compare);
  printf("%-12s %7u %8.1f %8.1f %7u %10" PRIu64 " %9" PRIu64 "\n", run->name, run->workers,
         (double)run->slot_ns[run->slots / 2] / 1e3, (double)run->slot_ns[run->slots * 99ull / 100] / 1e3,
         run->late, cancelled, prewake.hits);
  return decoded + cancelled == (uint64_t)SEGMENTS * run->slots;
}

static bool run_and_print(const char *name, uint32_t workers_max, ws_spin_t spin, uint32_t slots)
{
  run_t run = {.name = name, .spin = spin, .slots = slots};
  ws_settings_t settings;
  ws_settings_default(&settings);
  run.workers = settings.workers = settings.workers < workers_max ? settings.workers : workers_max;
  settings.spin = spin;
  run.slot_ns = calloc(slots, sizeof(run.slot_ns[0]));
  if (!run.slot_ns || ws_pool_create(&run.pool, &settings) < 0) {
    fprintf(stderr, "slot: the pool could not be made\n");
    free(run.slot_ns);
    return false;
  }
  ws_key_init(&run.key);
  run_slots(&run);
  const bool whole = print_row(&run);
  ws_pool_destroy(run.pool);
  free(run.slot_ns);
  return whole;
}

int main(int argc, char **argv)
{
  char *end = "";
  const unsigned long slots = argc == 3 ? strtoul(argv[2], &end, 10) : 2000;
  if ((argc != 1 && argc != 3) || (argc == 3 && strcmp(argv[1], "--slots") != 0) || *end || slots < 1
      || slots > SLOTS_MAX) {
    fprintf(stderr, "usage: slot [--slots N], N from 1 to %u\n", SLOTS_MAX);
    return 2;
  }
  printf("%-12s %7s %8s %8s %7s %10s %9s\n", "", "workers", "p50 us", "p99 us", "late", "cancelled",
         "prewoken");
  bool whole = run_and_print("serial", 0, WS_SPIN_OFF, (uint32_t)slots);
  whole &= run_and_print("pool, off", UINT32_MAX, WS_SPIN_OFF, (uint32_t)slots);
  whole &= run_and_print("pool, auto", UINT32_MAX, WS_SPIN_AUTO, (uint32_t)slots);
  if (!whole)
    fprintf(stderr, "slot: a segment was neither decoded nor cancelled\n");
  return whole ? 0 : 1;
}
