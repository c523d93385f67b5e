// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_hooks.c
/// What patched OAI code says: which hints reach the pool, and under which ids phases reach the trace. Pools
/// are real; what they are told is caught (--wrap).
#include "../../shim/common/ws_tpool_hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/ws_trace.h"
#include "../support/ws_test.h"
#include "common/utils/threadPool/task_ans.h"
#include "common/utils/threadPool/thread-pool.h"

void __wrap_ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns);
void __wrap_ws_trace_phase_begin(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id);
void __wrap_ws_trace_phase_end(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id);

static struct {
  uint32_t calls, workers;
  uint64_t within_ns;
} told;

static char traced[512];

void __wrap_ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns)
{
  (void)pool;
  told.calls++;
  told.workers = workers;
  told.within_ns = within_ns;
}

static void note(const char *what, ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  const size_t used = strlen(traced);
  snprintf(traced + used, sizeof(traced) - used, "%s%d %u.%u %u;", what, (int)phase, frame, slot, id);
}

void __wrap_ws_trace_phase_begin(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  note("+", phase, frame, slot, id);
}

void __wrap_ws_trace_phase_end(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  note("-", phase, frame, slot, id);
}

/// Calls that @p count hints lead to.
static uint32_t hints(tpool_t *tpool, uint32_t count)
{
  told.calls = 0;
  for (uint32_t i = 0; i < count; i++)
    ws_oai_prewake(tpool, 3, 250);
  return told.calls;
}

static uint32_t hints_ahead(tpool_t *tpool, uint32_t count)
{
  told.calls = 0;
  for (uint32_t i = 0; i < count; i++)
    ws_oai_prewake_ahead(tpool, 1, 500);
  return told.calls;
}

static void nothing(void *ans)
{
  completed_task_ans(ans);
}

static void push(tpool_t *tpool)
{
  task_ans_t ans;
  init_task_ans(&ans, 1);
  pushTpool(tpool, (task_t){.func = nothing, .args = &ans});
  join_task_ans(&ans);
}

/// OAI's init wants strings that it may write to.
static tpool_t open_pool(const char *params)
{
  char copy[64], name[] = "hinted";
  snprintf(copy, sizeof(copy), "%s", params);
  tpool_t tpool;
  initNamedTpool(copy, &tpool, false, name);
  return tpool;
}

static void a_hint_reaches_the_pool(void)
{
  tpool_t tpool = open_pool("-1,-1");
  CU_ASSERT_EQUAL(hints(&tpool, 1), 1);
  CU_ASSERT_EQUAL(told.workers, 3);
  CU_ASSERT_EQUAL(told.within_ns, 250000);
  CU_ASSERT_EQUAL(hints_ahead(&tpool, 1), 1);
  CU_ASSERT_EQUAL(told.workers, 1);
  CU_ASSERT_EQUAL(told.within_ns, 500000);
  abortTpool(&tpool);
}

static void no_pool_takes_no_hint(void)
{
  tpool_t closed = open_pool("-1"), inline_only = open_pool("n"), unborn = {0};
  abortTpool(&closed);
  CU_ASSERT_EQUAL(hints(NULL, 1) + hints_ahead(NULL, 1), 0);
  CU_ASSERT_EQUAL(hints(&closed, 1) + hints_ahead(&closed, 1), 0);
  CU_ASSERT_EQUAL(hints(&unborn, 1) + hints_ahead(&unborn, 1), 0);
  CU_ASSERT_EQUAL(hints(&inline_only, 1) + hints_ahead(&inline_only, 1), 0);
}

static void who_switched_pre_wake_off_gets_no_hint(void)
{
  tpool_t by_list = open_pool("-1,spin=off");
  setenv("TPOOL_WS_SPIN", "off", 1);
  tpool_t by_environment = open_pool("-1"), both = open_pool("-1,spin=fixed:40");
  unsetenv("TPOOL_WS_SPIN");
  CU_ASSERT_EQUAL(hints(&by_list, 1) + hints_ahead(&by_list, 1), 0);
  CU_ASSERT_EQUAL(hints(&by_environment, 1) + hints_ahead(&by_environment, 1), 0);
  CU_ASSERT_EQUAL(hints(&both, 1), 1); // the list has the last word
  abortTpool(&by_list);
  abortTpool(&by_environment);
  abortTpool(&both);
}

/// OAI comes by in each uplink slot, also when nobody sends.
static void hints_without_a_push_stop_until_the_next_push(void)
{
  tpool_t tpool = open_pool("-1"), other = open_pool("-1");
  CU_ASSERT_EQUAL(hints(&tpool, 20), 8);
  CU_ASSERT_EQUAL(hints_ahead(&tpool, 1), 0); // who pushes tells for who comes before
  push(&tpool);
  CU_ASSERT_EQUAL(hints_ahead(&tpool, 1), 0);
  CU_ASSERT_EQUAL(hints(&tpool, 20), 8);
  for (uint32_t slot = 0; slot < 20; slot++) {
    push(&tpool);
    CU_ASSERT_EQUAL(hints(&tpool, 1) + hints_ahead(&tpool, 1), 2);
  }
  CU_ASSERT_EQUAL(hints(&other, 1), 1);
  abortTpool(&tpool);
  abortTpool(&other);
}

static void phases_end_under_their_first_id(void)
{
  ws_oai_phase_end(WS_OAI_DECODING, 1, 1); // a slot without any
  ws_oai_phase_begin(WS_OAI_DECODING, 7, 3, 5);
  ws_oai_phase_begin(WS_OAI_SYMBOLS, 7, 3, 6);
  ws_oai_phase_end(WS_OAI_SYMBOLS, 7, 3);
  ws_oai_phase_begin(WS_OAI_DECODING, 7, 3, 6);
  ws_oai_phase_end(WS_OAI_DECODING, 7, 3);
  ws_oai_phase_begin(WS_OAI_DECODING, 8, 0, 9);
  ws_oai_phase_end(WS_OAI_DECODING, 8, 0);
  CU_ASSERT_STRING_EQUAL(traced, "+1 7.3 5;+0 7.3 6;-0 7.3 6;+1 7.3 6;-1 7.3 5;+1 8.0 9;-1 8.0 9;");
}

TEST_MAIN("tpool_hooks", TEST_CASE(a_hint_reaches_the_pool), TEST_CASE(no_pool_takes_no_hint),
          TEST_CASE(who_switched_pre_wake_off_gets_no_hint),
          TEST_CASE(hints_without_a_push_stop_until_the_next_push),
          TEST_CASE(phases_end_under_their_first_id))
