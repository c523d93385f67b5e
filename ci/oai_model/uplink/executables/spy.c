// SPDX-License-Identifier: BSD-3-Clause
/// @file spy.c
/// Says what patched code tells the pool, if the linker is told to put these in the way (--wrap).
#include <stdint.h>
#include <stdio.h>

void __wrap_ws_trace_phase_begin(int phase, uint32_t frame, uint32_t slot, uint32_t id);
void __wrap_ws_trace_phase_end(int phase, uint32_t frame, uint32_t slot, uint32_t id);
void __wrap_ws_oai_prewake(void *tpool, unsigned workers);

void __wrap_ws_trace_phase_begin(int phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  fprintf(stderr, "spy: begin %d %u.%u %u\n", phase, frame, slot, id);
}

void __wrap_ws_trace_phase_end(int phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  fprintf(stderr, "spy: end %d %u.%u %u\n", phase, frame, slot, id);
}

void __wrap_ws_oai_prewake(void *tpool, unsigned workers)
{
  (void)tpool;
  fprintf(stderr, "spy: prewake %u\n", workers);
}
