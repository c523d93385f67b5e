// SPDX-License-Identifier: BSD-3-Clause
/// @file test_provider.c
/// The way from the core to LTTng's provider: a program in which a table of events is there (as with
/// LD_PRELOAD) gets each event, with its fields. This program has such a table itself. Needs no LTTng.
#include <stdio.h>

#include "../../../include/ws_trace.h"
#include "../../../include/ws_trace_slot.h"
#include "../../../trace/ws_probe.h"
#include "../../support/ws_test.h"

enum {
  STARTS,
  STOPS,
  PUSHES,
  BEGINS,
  ENDS,
  COMPLETES,
  JOINS,
  JOINED,
  PHASES,
  PHASE_ENDS,
  RUNS_AS,
  IDLE,
  WRONG,
  KINDS
};
static ws_au32_t counts[KINDS];
static uint32_t phase_tasks;
static uintptr_t begun_func;

static void note(uint32_t what, bool is_right)
{
  ws_add_relaxed(&counts[is_right ? what : WRONG], 1);
}

static bool records(void)
{
  return true;
}

/// A function of the table, which counts its calls as @p what if the fields are right. Not each looks at all
/// fields.
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define EVENT(name, what, is_right, ...)                                                                     \
  static void name(__VA_ARGS__)                                                                              \
  {                                                                                                          \
    note(what, is_right);                                                                                    \
  }

EVENT(pool_start, STARTS, pool > 0 && name && workers == 1 && cpus > 0 && worker_cpus > 0, uint32_t pool,
      const char *name, uint32_t workers, uint32_t cpus, uint32_t worker_cpus)
EVENT(pool_stop, STOPS, pool > 0, uint32_t pool)
EVENT(push, PUSHES, pool > 0 && func, uint32_t pool, int32_t worker, uintptr_t func, uintptr_t arg,
      uintptr_t group)
EVENT(run_begin, BEGINS, (begun_func = func), uint32_t pool, int32_t worker, uintptr_t func, uintptr_t arg,
      uintptr_t group)
EVENT(run_as, RUNS_AS, func, uintptr_t func, uintptr_t arg)
EVENT(run_end, ENDS, pool > 0, uint32_t pool, int32_t worker, uintptr_t arg)
EVENT(of_worker, IDLE, true, uint32_t pool, int32_t worker, int32_t other)
EVENT(complete, COMPLETES, group &&units > 0, uintptr_t group, uint32_t units)
EVENT(join_begin, JOINS, group, uint32_t pool, int32_t worker, uintptr_t group)
EVENT(join_end, JOINED, group, uint32_t pool, int32_t worker, uintptr_t group)
EVENT(park, IDLE, pool > 0, uint32_t pool, int32_t worker)
EVENT(unpark, IDLE, pool > 0, uint32_t pool, int32_t worker, uint32_t by_timer)
EVENT(prewake, IDLE, pool > 0, uint32_t pool, int32_t worker, uint32_t workers, uint64_t rise_ns,
      uint64_t burst_ns)
EVENT(late, IDLE, pool > 0 && cause, uint32_t pool, int32_t worker, const char *cause, uint64_t late_ns)
EVENT(phase_begin, PHASES, frame == 1 && slot == 2 && id == 3, uint32_t frame, uint32_t slot, uint32_t id)
EVENT(phase_end, PHASE_ENDS, frame == 1 && slot == 2 && id == 3 && (phase_tasks = tasks), uint32_t frame,
      uint32_t slot, uint32_t id, uint32_t tasks)

extern const ws_provider_t WS_PROVIDER_TABLE;
const ws_provider_t WS_PROVIDER_TABLE = {
    .records = records,
    .pool_start = pool_start,
    .pool_stop = pool_stop,
    .push = push,
    .run_begin = run_begin,
    .run_as = run_as,
    .run_end = run_end,
    .wake = of_worker,
    .steal = of_worker,
    .complete = complete,
    .join_begin = join_begin,
    .join_end = join_end,
    .park = park,
    .unpark = unpark,
    .stopped_producer = of_worker,
    .prewake = prewake,
    .late = late,
    .symbol_processing_begin = phase_begin,
    .ulsch_decoding_begin = phase_begin,
    .symbol_processing_end = phase_end,
    .ulsch_decoding_end = phase_end,
};

static uint32_t counted(uint32_t what)
{
  return ws_load_relaxed(&counts[what]);
}

static void each_event_reaches_the_table(void)
{
#ifndef WS_LTTNG
  printf("(skipped: a build without LTTng) ");
  return;
#endif
  ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 1, 2, 3); // before there is a pool
  CU_ASSERT_EQUAL(counted(PHASES), 1);
  ws_au64_t ran = {0};
  ws_group_t group;
  ws_group_init(&group, 10);
  ws_pool_t *pool = test_pool(1);
  for (uint32_t i = 0; i < 10; i++)
    test_push(pool, test_count_task, &ran, &group);
  ws_group_wait(&group, NULL);
  ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
  test_destroy(pool);
  CU_ASSERT_TRUE(counted(STARTS) == 1 && counted(STOPS) == 1);
  CU_ASSERT_TRUE(counted(PUSHES) == 10 && counted(BEGINS) == 10 && counted(ENDS) == 10);
  CU_ASSERT_TRUE(counted(COMPLETES) > 0 && counted(COMPLETES) <= 10);
  CU_ASSERT_TRUE(counted(JOINS) == 1 && counted(JOINED) == 1 && counted(PHASE_ENDS) == 1);
  CU_ASSERT_EQUAL(phase_tasks, 10);
  CU_ASSERT_EQUAL(begun_func, (uintptr_t)test_count_task);
  ws_trace_run_as(test_empty_task, NULL);
  CU_ASSERT_EQUAL(counted(RUNS_AS), 1);
  CU_ASSERT_EQUAL(counted(WRONG), 0);
}

TEST_MAIN("provider", TEST_CASE(each_event_reaches_the_table))
