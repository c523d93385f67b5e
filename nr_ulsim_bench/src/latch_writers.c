// SPDX-License-Identifier: BSD-3-Clause
#include "latch_writers.h"

#include <stdlib.h>
#include <sys/prctl.h>

#include "clock.h"
#include "usage.h"

typedef struct {
  _Alignas(64) latch_writers_t *all;
  uint32_t index;
  pthread_t thread;
  _Atomic uint64_t holds, hold_ns; ///< written by this writer only
} writer_t;

struct latch_writers_s {
  const latch_tables_t *tables;
  latch_writing_t how;
  uint32_t started;
  _Atomic bool stop;
  writer_t *writer;
};

/// Blocks of a table that belong to this writer: each `step`-th, from `first`.
static latch_block_t *choose(const writer_t *writer, unsigned int *random)
{
  const latch_tables_t *const tables = writer->all->tables;
  const uint32_t table = writer->index % tables->count, first = writer->index / tables->count;
  const uint32_t step = (writer->all->how.writers - table - 1) / tables->count + 1;
  const uint32_t mine = (tables->blocks - first - 1) / step + 1;
  return &tables->table[table].block[first + (uint32_t)rand_r(random) % mine * step];
}

static void pass_time(latch_hold_t how, uint64_t ns)
{
  if (how == HOLD_WORK)
    busy_work(ns);
  else if (ns > 0)
    clock_sleep_until(clock_now_ns() + ns);
}

static void add(_Atomic uint64_t *sum, uint64_t value)
{
  const uint64_t before = atomic_load_explicit(sum, memory_order_relaxed);
  atomic_store_explicit(sum, before + value, memory_order_relaxed);
}

static void *write_blocks(void *writer_arg)
{
  writer_t *const writer = writer_arg;
  const latch_writing_t *const how = &writer->all->how;
  unsigned int random = writer->index + 1;
  prctl(PR_SET_TIMERSLACK, 1); // else a sleep takes 50 µs more
  while (!atomic_load_explicit(&writer->all->stop, memory_order_relaxed)) {
    latch_block_t *const block = choose(writer, &random);
    latch_lock_exclusive(&block->latch);
    const uint64_t begin_ns = clock_now_ns();
    block->word[0]++;
    pass_time(how->hold, how->hold_ns);
    block->word[1]--;
    add(&writer->hold_ns, clock_now_ns() - begin_ns);
    add(&writer->holds, 1);
    latch_unlock_exclusive(&block->latch);
    pass_time(HOLD_SLEEP, how->gap_ns);
  }
  return NULL;
}

latch_writers_t *latch_writers_start(const latch_tables_t *tables, const latch_writing_t *how)
{
  latch_writers_t *const all = calloc(1, sizeof *all);
  if (!all)
    return NULL;
  all->tables = tables;
  all->how = *how;
  all->writer = aligned_alloc(_Alignof(writer_t), (how->writers + 1) * sizeof(writer_t));
  for (uint32_t i = 0; all->writer && i < how->writers; i++) {
    writer_t *const writer = &all->writer[i];
    *writer = (writer_t){.all = all, .index = i};
    if (pthread_create(&writer->thread, NULL, write_blocks, writer) != 0)
      break;
    all->started++;
  }
  if (all->writer && all->started == how->writers)
    return all;
  latch_writers_end(all);
  return NULL;
}

latch_written_t latch_writers_read(const latch_writers_t *writers)
{
  latch_written_t sum = {0};
  for (uint32_t i = 0; i < writers->started; i++) {
    clockid_t clock;
    sum.holds += atomic_load_explicit(&writers->writer[i].holds, memory_order_relaxed);
    sum.hold_ns += atomic_load_explicit(&writers->writer[i].hold_ns, memory_order_relaxed);
    if (pthread_getcpuclockid(writers->writer[i].thread, &clock) == 0)
      sum.cpu_s += usage_clock_s(clock);
  }
  return sum;
}

void latch_writers_end(latch_writers_t *writers)
{
  if (!writers)
    return;
  atomic_store_explicit(&writers->stop, true, memory_order_relaxed);
  for (uint32_t i = 0; i < writers->started; i++)
    pthread_join(writers->writer[i].thread, NULL);
  free(writers->writer);
  free(writers);
}
