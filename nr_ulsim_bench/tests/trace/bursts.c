// SPDX-License-Identifier: BSD-3-Clause
// bursts RINGS < EVENTS   what the process's own code makes of events: it prints each burst or phase that has
// ended (thread, begin, end, tasks pushed, function of its longest task), and writes the rings into a file.
// An event is: thread, ns, kind, small, address, function. Threads from 8 on are workers.
#include <stdint.h>
#include <stdio.h>

#include "base/ws_base.h"
#include "pool/ws_process.h"
#include "pool/ws_types.h"
#include "record/ws_burst.c"
#include "record/ws_late.h"
#include "record/ws_ledgers.h"
#include "record/ws_rings.h"
#include "record/ws_usual.h"
#include "trace/ws_probe.h"
#undef LEARNS
#include "record/ws_usual.c"
#include "record/ws_work.c"

enum { THREADS = 16 };

struct ws_rings_s ws_rings = {.count = {THREADS}};
ws_event_ring_t ws_ring_none;
_Thread_local WS_FOR_FIBERS ws_self_t ws_self_state;
static ws_event_ring_t ring[THREADS];
static struct ws_pool_s pool = {.id = 1};
static ws_ledger_room_t ledger = {.pool = {1}, .deadline_ns = {1}, .by_settings = true};
static uint64_t now_ns;

uint64_t ws_os_now_ns(void)
{
  return now_ns;
}

uint64_t ws_os_used_ns(uint64_t *sleeps)
{
  return *sleeps = 0;
}

ws_event_ring_t *ws_ring_take(void)
{
  return NULL;
}

void ws_ledger_burst(ws_ledger_room_t *its, uint64_t over_ns)
{
  (void)its, (void)over_ns;
}

void ws_scribe_late(ws_ledger_room_t *its, const ws_late_burst_t *burst)
{
  (void)its;
  const uint64_t func = ws_work_of(burst, &(ws_usual_t){0}, NULL).func;
  printf("%lu %lu %lu %lu %lu\n", burst->ring->tid.v, burst->begin, burst->end, burst->pushed, func);
}

int main(int argc, char **argv)
{
  unsigned long thread, ns, kind, small, address, func;
  pool.ledger.v = &ledger;
  for (uint32_t i = 0; i < THREADS; i++) {
    ring[i].tid.v = i + 1;
    ring[i].who.v = i < 8 ? 0 : 1 << 16 | (i - 8);
    ws_rings.ring[i].v = &ring[i];
  }
  while (scanf("%lu %lu %lu %lu %lu %lu", &thread, &ns, &kind, &small, &address, &func) == 6) {
    ws_self_state.ring = &ring[thread - 1];
    now_ns = ns;
    ws_burst_note(&pool, (ws_note_t)kind, (uint32_t)small, address, func);
  }
  FILE *file = argc > 1 ? fopen(argv[1], "wb") : NULL;
  return file && fwrite(ring, sizeof(ring), 1, file) == 1 && fclose(file) == 0 ? 0 : 1;
}
