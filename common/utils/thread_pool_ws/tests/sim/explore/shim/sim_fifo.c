// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_fifo.c
/// Scenarios of shape A, where results come through FIFOs. How a burst's results are fetched
/// (sim_burst_t.end, outermost jobs only): GROUP by the pool's pull; TAG so, and each element is pushed once
/// more; EVENT by the pull that does not wait; POOL by the FIFO's own pull; NOTHING there are no results. Of
/// jobs that a job pushes to another pool some are fetched by the FIFO's own pull.
#include "sim_fault.h"
#include "sim_random.h"
#include "sim_shape.h"

/// Share of the jobs that end so shortly before the abort, and stop in their delivery until it comes.
#define STOP_STALLS 0.15
#define STOP_PS (5 * SIM_PS_PER_MS)

#define FIFOS_MAX 8192u

/// A response FIFO. It lies in memory of its own, which is freed right after its last pull, as a stack's is.
typedef struct {
  notifiedFIFO_t *queue;
  uint32_t id;
  uint32_t pool; ///< index
  uint32_t users; ///< threads that abort it at present
  bool aborted;
} sim_fifo_t;

/// A thread that polls may be real-time: the workers get its CPU in between.
#define POLL_PS (100 * SIM_PS_PER_US)

static sim_fifo_t fifos[FIFOS_MAX];
static uint32_t fifos_used;

/// @return NULL: there are too many
static sim_fifo_t *new_fifo(uint32_t pool)
{
  if (fifos_used == FIFOS_MAX)
    return NULL;
  sim_fifo_t *fifo = &fifos[fifos_used++];
  *fifo = (sim_fifo_t){.id = fifos_used, .pool = pool};
  fifo->queue = sim_heap_memalign(64, sizeof(*fifo->queue));
  initNotifiedFIFO(fifo->queue);
  return fifo;
}

/// Its owner pulls no more. Waits for threads that abort it.
static void free_fifo(sim_fifo_t *fifo)
{
  sim_stack_hide(true); // a real job's FIFO would be there until the abort has left it
  while (fifo->users > 0)
    sim_sleep_until(sim_self->now_ps + POLL_PS);
  sim_stack_hide(false);
  sim_heap_free(fifo->queue);
  fifo->queue = NULL;
}

/// The pool is aborted: abort those of its FIFOs that are there.
static void abort_fifos(uint32_t pool)
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

/// What became of each record's element.
static struct {
  notifiedFIFO_elt_t *element;
  sim_fifo_t *fifo; ///< NULL = none
  bool pulled;
} result[SIM_RECORDS_MAX];

static void make(uint32_t index)
{
  make_tpool(index, index == 1);
}

/// Wake the threads that wait for results of the pool: none come any more.
static void abort_pool(uint32_t index)
{
  const int ended = abortTpool(&tpool[index]);
  if (ended < 0)
    sim_finding("an abort returned %d", ended);
  abort_fifos(index);
}

static void stop(uint32_t index)
{
  sim_record_aborting[index] = true;
  sim_shim_abort(index, abort_pool);
}

/// When the abort comes some results are just being handed over.
static void before_delivery(void)
{
  const sim_ps_t left_ps = sim_stop_ps - sim_self->now_ps;
  if (left_ps > 0 && left_ps < STOP_PS && sim_fault_happens(STOP_STALLS))
    sim_fault_stall_later(sim_self, 1 + (uint32_t)sim_random_below(8),
                          left_ps + (sim_ps_t)sim_random_below(300 * SIM_PS_PER_US));
  else
    sim_task_before_call();
}

static void job(void *data)
{
  sim_task_run(*(sim_record_t **)data, NULL);
  before_delivery();
}

static void push_element(notifiedFIFO_elt_t *element, uint32_t number, sim_fifo_t *fifo)
{
  *(sim_record_t **)NotifiedFifoData(element) = &sim_record[number];
  element->key = number;
  result[number].element = element;
  result[number].fifo = fifo;
  sim_task_before_call();
  pushTpool(&tpool[sim_record[number].pool], element);
  sim_record_answer(&sim_record[number], true);
}

/// @return the first of the records; SIM_RECORD_NONE: there are none left
static uint32_t take_records(const sim_burst_t *burst, uint32_t index, uint32_t depth, uint32_t count,
                             const sim_fifo_t *fifo)
{
  const uint32_t carried = fifo ? fifo->id : 0;
  return sim_record_take(&(sim_record_t){.pool = index, .depth = depth, .burst = burst, .carried = carried},
                         count);
}

static notifiedFIFO_elt_t *poll_result(sim_fifo_t *fifo, uint32_t index)
{
  for (;;) {
    notifiedFIFO_elt_t *element = tryPullTpool(fifo->queue, &tpool[index]);
    if (element || fifo->aborted)
      return element;
    sim_sleep_until(sim_self->now_ps + POLL_PS);
  }
}

/// @return NULL: the FIFO was aborted
static notifiedFIFO_elt_t *pull(sim_fifo_t *fifo, uint32_t index, sim_end_t end)
{
  sim_frame_t frame = {
      .in = end <= SIM_END_TAG ? SIM_IN_WAIT : SIM_IN_AWAIT, .goal = fifo->id, .outer = *sim_stack()};
  *sim_stack() = &frame;
  sim_task_before_call();
  notifiedFIFO_elt_t *element = end == SIM_END_EVENT  ? poll_result(fifo, index)
                                : end == SIM_END_POOL ? pullNotifiedFIFO(fifo->queue)
                                                      : pullTpool(fifo->queue, &tpool[index]);
  *sim_stack() = frame.outer;
  if (!element && !fifo->aborted)
    sim_finding("a pull returned nothing, and its FIFO is not aborted");
  return element;
}

/// @return its record
static uint32_t take_result(notifiedFIFO_elt_t *element, const sim_fifo_t *fifo)
{
  const uint32_t number = (uint32_t)element->key;
  if (number >= sim_records || result[number].element != element || result[number].fifo != fifo)
    sim_finding("a pull returned an element of another FIFO");
  if (result[number].pulled || sim_record[number].state != SIM_RECORD_DONE)
    sim_finding("the result of task %u came %s", number, result[number].pulled ? "twice" : "too early");
  result[number].pulled = true;
  return number;
}

/// @return false: there is no record left
static bool push_again(notifiedFIFO_elt_t *element, const sim_record_t *record, sim_fifo_t *fifo)
{
  const uint32_t next = take_records(record->burst, record->pool, record->depth, 1, fifo);
  if (next == SIM_RECORD_NONE)
    return false;
  sim_record[next].waits_for = fifo; // it is the second time
  push_element(element, next, fifo);
  return true;
}

static void fetch(sim_fifo_t *fifo, uint32_t index, sim_end_t end, uint32_t count)
{
  for (uint32_t left = count; left > 0;) {
    notifiedFIFO_elt_t *element = pull(fifo, index, end);
    if (!element)
      return;
    const sim_record_t *record = &sim_record[take_result(element, fifo)];
    const bool again = end == SIM_END_TAG && record->depth == record->burst->depth && !record->waits_for;
    if (again && push_again(element, record, fifo))
      continue;
    delNotifiedFIFO_elt(element);
    left--;
  }
}

/// A job that waits and does not help would leave its pool with one worker less.
static sim_end_t end_of(const sim_burst_t *burst, uint32_t depth)
{
  if (depth == burst->depth)
    return burst->end;
  if (burst->kind == SIM_TASK_SPAWN)
    return SIM_END_NOTHING;
  if (burst->kind == SIM_TASK_CROSS && burst->end >= SIM_END_EVENT)
    return SIM_END_POOL;
  return SIM_END_GROUP;
}

static void burst(const sim_burst_t *burst, uint32_t index, uint32_t depth)
{
  const uint32_t count = depth == burst->depth ? burst->count : burst->fan;
  const sim_end_t end = end_of(burst, depth);
  if (!sim_shim_is_made(index) || sim_records + count > SIM_RECORDS_MAX)
    return;
  sim_fifo_t *fifo = end == SIM_END_NOTHING ? NULL : new_fifo(index);
  if (!fifo && end != SIM_END_NOTHING)
    return;
  const uint32_t first = take_records(burst, index, depth, count, fifo);
  for (uint32_t i = first; i < first + count; i++) {
    notifiedFIFO_t *queue = fifo ? fifo->queue : NULL;
    push_element(newNotifiedFIFO_elt(sizeof(sim_record_t *), i, queue, job), i, fifo);
  }
  if (!fifo)
    return;
  fetch(fifo, index, end, count);
  free_fifo(fifo);
}

/// Each element from that of record @p first on was pulled once, or freed by the thread that dropped it.
static void check_elements(uint32_t first)
{
  for (uint32_t i = first; i < sim_records; i++) {
    const sim_fifo_t *fifo = result[i].fifo;
    const bool is_lost = fifo && fifo->aborted; // what is pushed to an aborted FIFO stays where it is
    if (result[i].pulled || is_lost)
      continue;
    if (fifo && !sim_record_aborting[sim_record[i].pool])
      sim_finding("the result of task %u did not come", i);
    if (sim_heap_is_live(result[i].element))
      sim_finding("the element of task %u was dropped, and not freed", i);
  }
}

static void end(void)
{
  check_elements(sim_shim_end());
}

const sim_front_t sim_front_here = {
    .make = make,
    .stop = stop,
    .destroy = sim_shim_destroy,
    .hint = hint,
    .burst = burst,
    .look = sim_shim_look,
    .end = end,
};
