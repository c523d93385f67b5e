// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_traced_phase.c
/// The events of a phase; apart from the count of its tasks, so that a test can look between the two.
#include "ws_traced.h"

void ws_traced_phase_began(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  if (phase == WS_TRACE_SYMBOL_PROCESSING)
    WS_PROBE(symbol_processing_begin, frame, slot, id);
  else
    WS_PROBE(ulsch_decoding_begin, frame, slot, id);
}

void ws_traced_phase_ended(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks)
{
  if (phase == WS_TRACE_SYMBOL_PROCESSING)
    WS_PROBE(symbol_processing_end, frame, slot, id, tasks);
  else
    WS_PROBE(ulsch_decoding_end, frame, slot, id, tasks);
}
