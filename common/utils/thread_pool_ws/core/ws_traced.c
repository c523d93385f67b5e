// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_traced.c
/// Phases of a slot (ws_trace.h), told by the thread that pushes their tasks.
#include "ws_traced.h"

#include "ws_trace.h"

void ws_trace_phase_begin(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  ws_self_t *self = ws_self();
  if ((uint32_t)phase >= WS_TRACE_PHASES)
    return;
  if (!self->in_phase[phase]) {
    self->in_phase[phase] = true;
    self->pushed_before[phase] = self->pushed;
  }
  ws_traced_phase_began(phase, frame, slot, id);
}

void ws_trace_phase_end(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  ws_self_t *self = ws_self();
  if ((uint32_t)phase >= WS_TRACE_PHASES || !self->in_phase[phase])
    return;
  self->in_phase[phase] = false;
  ws_traced_phase_ended(phase, frame, slot, id, (uint32_t)(self->pushed - self->pushed_before[phase]));
}
