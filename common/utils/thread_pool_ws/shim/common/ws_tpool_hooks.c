// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_hooks.c
/// ws_tpool_hooks.h: passes the calls of patched code to the trace and to the learner of leads.
#include "ws_tpool_hooks.h"

#include <assert.h>
#include <stdint.h>

#include "ws_tpool_lead.h"
#include "ws_trace_slot.h"

static_assert(WS_OAI_SYMBOLS == (int)WS_TRACE_SYMBOL_PROCESSING, "");
static_assert(WS_OAI_DECODING == (int)WS_TRACE_ULSCH_DECODING, "");

void ws_oai_phase_begin(int phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  ws_trace_phase_begin((ws_trace_phase_t)phase, frame, slot, id);
}

void ws_oai_phase_end(int phase)
{
  ws_trace_phase_end((ws_trace_phase_t)phase);
}

void ws_oai_prewake(void *tpool, unsigned workers)
{
  const ws_tpool_t *ws = tpool ? ws_tpool_of(tpool) : NULL;
  if (ws && ws->hints) // a short cut: the pool that gets the pushes decides
    ws_tpool_lead_arm(__builtin_return_address(0), workers);
}
