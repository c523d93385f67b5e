// SPDX-License-Identifier: BSD-3-Clause
/// @file spy.c
/// Says what patched code tells the pool, if the linker is told to put these in the way (--wrap).
#include <stdint.h>
#include <stdio.h>

void __wrap_ws_probe_phase_began(int phase, uint32_t frame, uint32_t slot, uint32_t id);
void __wrap_ws_probe_phase_ended(int phase, uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks);
void __wrap_ws_oai_prewake(void *tpool, unsigned workers);

void __wrap_ws_probe_phase_began(int phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  fprintf(stderr, "spy: begin %d %u.%u %u\n", phase, frame, slot, id);
}

void __wrap_ws_probe_phase_ended(int phase, uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks)
{
  fprintf(stderr, "spy: end %d %u.%u %u, %u tasks\n", phase, frame, slot, id, tasks);
}

void __wrap_ws_oai_prewake(void *tpool, unsigned workers)
{
  (void)tpool;
  fprintf(stderr, "spy: prewake %u\n", workers);
}
