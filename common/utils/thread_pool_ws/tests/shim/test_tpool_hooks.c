// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_hooks.c
/// Calls of patched OAI code: which hints take effect, and that phases reach the trace. Pools
/// are real; what is said is caught (--wrap).
#include "../../shim/common/ws_tpool_hooks.h"

#include "../../include/ws_trace_slot.h"
#include "../support/ws_test.h"
#include "common/utils/threadPool/thread-pool.h"

static struct {
  uint32_t calls, workers;
  const void *site;
} told;

static char traced[512];

TEST_WRAP(void, ws_tpool_lead_arm, (const void *site, uint32_t workers))
{
  told.calls++;
  told.workers = workers;
  told.site = site;
}

static char *traced_end(void)
{
  return traced + strlen(traced);
}

TEST_WRAP(void, ws_trace_phase_begin, (ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id))
{
  snprintf(traced_end(), 64, "+%d %u.%u %u;", (int)phase, frame, slot, id);
}

TEST_WRAP(void, ws_trace_phase_end, (ws_trace_phase_t phase))
{
  snprintf(traced_end(), 64, "-%d;", (int)phase);
}

/// @return whether a hint reaches those that learn leads
static uint32_t hint(tpool_t *tpool)
{
  told.calls = 0;
  ws_oai_prewake(tpool, 3);
  return told.calls;
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

TEST_CASE(a_hint_is_about_its_place)
{
  tpool_t tpool = open_pool("-1,-1");
  CU_ASSERT_EQUAL(hint(&tpool), 1);
  CU_ASSERT_EQUAL(told.workers, 3);
  const void *there = told.site;
  ws_oai_prewake(&tpool, 1);
  CU_ASSERT_EQUAL(told.workers, 1);
  CU_ASSERT_PTR_NOT_EQUAL(told.site, there);
  abortTpool(&tpool);
}

TEST_CASE(no_pool_takes_no_hint)
{
  tpool_t closed = open_pool("-1"), inline_only = open_pool("n"), unborn = {0};
  abortTpool(&closed);
  CU_ASSERT_EQUAL(hint(NULL) + hint(&closed) + hint(&unborn) + hint(&inline_only), 0);
}

TEST_CASE(who_switched_pre_wake_off_gets_no_hint)
{
  tpool_t by_list = open_pool("-1,spin=off");
  setenv("TPOOL_WS_SPIN", "off", 1);
  tpool_t by_environment = open_pool("-1"), both = open_pool("-1,spin=fixed:40");
  unsetenv("TPOOL_WS_SPIN");
  CU_ASSERT_EQUAL(hint(&by_list) + hint(&by_environment), 0);
  CU_ASSERT_EQUAL(hint(&both), 1); // the list takes precedence
  abortTpool(&by_list);
  abortTpool(&by_environment);
  abortTpool(&both);
}

TEST_CASE(phases_reach_the_trace)
{
  ws_oai_phase_end(WS_OAI_DECODING); // a slot without any: the trace ignores it
  ws_oai_phase_begin(WS_OAI_DECODING, 7, 3, 5);
  ws_oai_phase_begin(WS_OAI_SYMBOLS, 1023, 19, 6);
  ws_oai_phase_end(WS_OAI_SYMBOLS);
  ws_oai_phase_end(WS_OAI_DECODING);
  CU_ASSERT_STRING_EQUAL(traced, "-1;+1 7.3 5;+0 1023.19 6;-0;-1;");
}

TEST_MAIN("tpool_hooks")
