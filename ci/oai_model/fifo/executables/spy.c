// SPDX-License-Identifier: BSD-3-Clause
/// @file spy.c
/// Says what patched code tells the pool, if the linker is told to put these in the way (--wrap).
#include <stdint.h>
#include <stdio.h>

void __wrap_ws_trace_phase_begin(int phase, uint32_t frame, uint32_t slot, uint32_t id);
void __wrap_ws_trace_phase_end(int phase, uint32_t frame, uint32_t slot, uint32_t id);
void __wrap_ws_pool_prewake(void *pool, uint32_t workers, uint64_t within_ns);

void __wrap_ws_trace_phase_begin(int phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  fprintf(stderr, "spy: begin %d %u.%u %u\n", phase, frame, slot, id);
}

void __wrap_ws_trace_phase_end(int phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  fprintf(stderr, "spy: end %d %u.%u %u\n", phase, frame, slot, id);
}

void __wrap_ws_pool_prewake(void *pool, uint32_t workers, uint64_t within_ns)
{
  (void)pool;
  fprintf(stderr, "spy: prewake %u %llu\n", workers, (unsigned long long)within_ns);
}
