// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_fifos.c
/// sim_fifos.h.
#include "sim_fifos.h"

#include "sim_heap.h"
#include "sim_stack.h"
#include "sim_work.h"

#define FIFOS_MAX 8192u

static sim_fifo_t fifos[FIFOS_MAX];
static uint32_t fifos_used;

sim_fifo_t *sim_fifos_new(uint32_t pool)
{
  if (fifos_used == FIFOS_MAX)
    return NULL;
  sim_fifo_t *fifo = &fifos[fifos_used++];
  *fifo = (sim_fifo_t){.id = fifos_used, .pool = pool};
  fifo->queue = sim_heap_memalign(64, sizeof(*fifo->queue));
  initNotifiedFIFO(fifo->queue);
  return fifo;
}

void sim_fifos_free(sim_fifo_t *fifo)
{
  sim_stack_hide(true); // a real job's FIFO would be there until the abort has left it
  while (fifo->users > 0)
    sim_sleep_until(sim_self->now_ps + SIM_FIFOS_POLL_PS);
  sim_stack_hide(false);
  sim_heap_free(fifo->queue);
  fifo->queue = NULL;
}

void sim_fifos_abort(uint32_t pool)
{
  for (uint32_t i = 0; i < fifos_used; i++) {
    sim_fifo_t *fifo = &fifos[i];
    if (!fifo->queue || fifo->pool != pool)
      continue;
    fifo->users++;
    fifo->aborted = true;
    abortNotifiedFIFO(fifo->queue);
    fifo->users--;
  }
}
