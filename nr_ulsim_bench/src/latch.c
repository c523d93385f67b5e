// SPDX-License-Identifier: BSD-3-Clause
// ws-latch: scans of tables whose blocks writers hold for a time, run in one of several ways; or what fibers
// of one library cost (latch_costs.cpp).
// Use: ws-latch how=NAME [key=value]...   a JSON object
//      ws-latch --help                    names all keys
// The answer has figures, or "error". `python -m nrbench run --only latch` runs it in rounds and compares.
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "clock.h"
#include "cpus.h"
#include "latch_costs.h"
#include "memory.h"
#include "words.h"
#include "ws_fiber.h"
#include "ws_node.h"
#include "ws_sync.h"

#define BLOCKS 16u // of a table; there are as many tables as workers
#define BLOCK_WORDS 16384u
#define WRITERS 4u // of a table; each holds one of its own blocks after the other
#define TIMES_MAX (1u << 21)
#define PASSES 50u

static const char usage[] =
    "usage: ws-latch how=NAME [key=value]...\n"
    "keys:  how=threads        a thread for each client\n"
    "           tasks          a plain task of the pool for each scan, which blocks its worker\n"
    "           regions        such tasks with the hint of the NUMA node on which the table lies\n"
    "           fibers         a fiber for each client, which yields when it meets a held latch\n"
    "           both           such fibers, pushed on the table's node\n"
    "           cost-ws|cost-boost   no scans: what fibers of this library cost\n"
    "       clients=N          each asks for one scan after the other\n"
    "       workers=N          threads of the pool, and tables (default: CPUs)\n"
    "       hold_us=N          a quarter of the blocks is held, each for so long; 0 = none is\n"
    "       warm_ms=N ms=N     time before the measurement, and of it\n"
    "       count=N            of cost-*: switches\n";

typedef struct {
  enum { HOW_THREADS, HOW_TASKS, HOW_REGIONS, HOW_FIBERS, HOW_BOTH, HOW_WS, HOW_BOOST } how;
  uint32_t clients, workers, count;
  uint64_t hold_us, warm_ms, ms;
} request_t;

static const word_key_t keys[] = {
    {"how",
     WORD_ONE_OF(request_t, how, "threads", "tasks", "regions", "fibers", "both", "cost-ws", "cost-boost")},
    {"clients", WORD_NUMBER(request_t, clients, 1, 100000)},
    {"workers", WORD_NUMBER(request_t, workers, 1, 1023)},
    {"hold_us", WORD_NUMBER(request_t, hold_us, 0, 1000000)},
    {"warm_ms", WORD_NUMBER(request_t, warm_ms, 0, 100000)},
    {"ms", WORD_NUMBER(request_t, ms, 1, 100000)},
    {"count", WORD_NUMBER(request_t, count, 1000, 1000000000)},
    {NULL},
};

/// A block and its reader-writer latch. The latch's waits block a thread or a plain task, and let a fiber
/// yield. A writer changes words so that the sum of all words is wrong while it holds the latch.
typedef struct {
  _Alignas(64) ws_mutex_t lock;
  ws_cond_t free, drained; ///< the writer has left; all readers have left, and the writer waits
  uint32_t readers; ///< under lock
  bool writer; ///< under lock: it holds the latch, or waits for readers to leave, and no reader comes in
  uint64_t *word;
} block_t;

typedef struct bench_s bench_t;

/// Asks for one scan after the other: a walk over all blocks of a table, from a block of its own onwards.
typedef struct {
  _Alignas(64) bench_t *bench;
  block_t *table;
  uint32_t first; ///< block
  uint32_t node; ///< hint: where the table lies; WS_NODE_ANY without regions
  uint64_t asked_ns;
  pthread_t thread;
  _Atomic uint64_t blocks; ///< scanned; written by the present scan only
} client_t;

/// Holds blocks for a time, however the scans are run.
typedef struct {
  _Alignas(64) bench_t *bench;
  block_t *table;
  uint32_t index; ///< its blocks are this one and each WRITERS-th after it
  pthread_t thread;
  _Atomic uint64_t holds, hold_ns;
} writer_t;

struct bench_s {
  request_t request;
  report_t report;
  block_t *block; ///< [workers][BLOCKS]
  uint64_t sum; ///< of all words of a table
  writer_t *writer;
  client_t *client;
  uint32_t writers_started, clients_started;
  ws_pool_t *pool; ///< NULL = threads
  pthread_barrier_t all_workers;
  _Atomic bool stop_scans, stop_writers, keep, failed, wrong;
  _Atomic uint32_t times;
  uint64_t *time_ns; ///< [TIMES_MAX] of scans, from the request to the result, queueing included
};

static void lock_shared(block_t *block)
{
  ws_mutex_lock(&block->lock);
  while (block->writer)
    ws_cond_wait(&block->free, &block->lock);
  block->readers++;
  ws_mutex_unlock(&block->lock);
}

static void unlock_shared(block_t *block)
{
  ws_mutex_lock(&block->lock);
  if (--block->readers == 0 && block->writer)
    ws_cond_signal(&block->drained);
  ws_mutex_unlock(&block->lock);
}

/// Each block has one writer.
static void lock_exclusive(block_t *block)
{
  ws_mutex_lock(&block->lock);
  block->writer = true;
  while (block->readers > 0)
    ws_cond_wait(&block->drained, &block->lock);
  ws_mutex_unlock(&block->lock);
}

static void unlock_exclusive(block_t *block)
{
  ws_mutex_lock(&block->lock);
  block->writer = false;
  ws_cond_broadcast(&block->free);
  ws_mutex_unlock(&block->lock);
}

/// The thread goes from CPU to CPU of the process, so that each node gets tables by its share of the CPUs.
static void make_tables(bench_t *bench)
{
  const cpu_set_t mask = cpus_mask();
  const uint32_t blocks = bench->request.workers * BLOCKS;
  bench->block = allot(blocks, sizeof *bench->block);
  uint64_t *word = allot(blocks, BLOCK_WORDS * sizeof *word);
  for (uint32_t i = 0; i < blocks; i++, word += BLOCK_WORDS) {
    cpus_pin(0, cpus_nth(&mask, i / BLOCKS));
    bench->block[i].word = word;
    for (uint64_t w = 0; w < BLOCK_WORDS; w++) {
      word[w] = ((uint64_t)(i % BLOCKS) << 32) + w;
      bench->sum += i < BLOCKS ? word[w] : 0;
    }
  }
  sched_setaffinity(0, sizeof mask, &mask);
}

static uint64_t block_sum(const block_t *block)
{
  uint64_t sum = 0;
  for (uint64_t i = 0; i < BLOCK_WORDS; i++)
    sum += block->word[i];
  return sum;
}

/// @return ns that the calling thread takes to sum up a block that nothing else uses; the least of several
/// passes over a table
static double block_ns(const bench_t *bench)
{
  double least_ns = INFINITY;
  for (uint32_t pass = 0; pass < PASSES; pass++) {
    const uint64_t begin_ns = clock_now_ns();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < BLOCKS; i++)
      sum += block_sum(&bench->block[i]);
    const double taken_ns = (double)(clock_now_ns() - begin_ns) / BLOCKS;
    if (sum == bench->sum && taken_ns < least_ns)
      least_ns = taken_ns;
  }
  return least_ns;
}

static bool is_set(const _Atomic bool *flag)
{
  return atomic_load_explicit(flag, memory_order_relaxed);
}

static uint64_t read_sum(const _Atomic uint64_t *sum)
{
  return atomic_load_explicit(sum, memory_order_relaxed);
}

/// Only one thread at a time writes it.
static void add(_Atomic uint64_t *sum, uint64_t value)
{
  atomic_store_explicit(sum, read_sum(sum) + value, memory_order_relaxed);
}

static void *write_blocks(void *writer_arg)
{
  writer_t *const writer = writer_arg;
  unsigned int random = writer->index + 1;
  prctl(PR_SET_TIMERSLACK, 1); // else a sleep takes 50 µs more
  while (!is_set(&writer->bench->stop_writers)) {
    const uint32_t place = (uint32_t)rand_r(&random) % (BLOCKS / WRITERS);
    block_t *const block = &writer->table[writer->index + place * WRITERS];
    lock_exclusive(block);
    const uint64_t begin_ns = clock_now_ns();
    block->word[0]++;
    clock_sleep_until(begin_ns + writer->bench->request.hold_us * 1000);
    block->word[1]--;
    add(&writer->hold_ns, clock_now_ns() - begin_ns);
    add(&writer->holds, 1);
    unlock_exclusive(block);
  }
  return NULL;
}

/// @return whether the client is to ask for another scan
static bool scan(client_t *client)
{
  bench_t *const bench = client->bench;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < BLOCKS; i++) {
    block_t *const block = &client->table[(client->first + i) % BLOCKS];
    if (is_set(&bench->stop_scans))
      return false;
    lock_shared(block);
    sum += block_sum(block);
    unlock_shared(block);
    add(&client->blocks, 1);
  }
  if (sum != bench->sum)
    bench->wrong = true;
  const uint64_t now_ns = clock_now_ns();
  if (is_set(&bench->keep)) {
    const uint32_t place = atomic_fetch_add_explicit(&bench->times, 1, memory_order_relaxed);
    if (place < TIMES_MAX)
      bench->time_ns[place] = now_ns - client->asked_ns;
  }
  client->asked_ns = now_ns;
  return true;
}

static void *scan_in_thread(void *client)
{
  while (scan(client))
    ;
  return NULL;
}

static void scan_in_fiber(void *client)
{
  while (scan(client))
    ws_yield(); // its next request is served after those of the others
}

static void ask(client_t *client);

static void scan_in_task(void *client)
{
  if (scan(client))
    ask(client);
}

static void begin_fiber(void *client_arg)
{
  client_t *const client = client_arg;
  if (ws_fiber_push(client->bench->pool, scan_in_fiber, client, NULL, NULL))
    client->bench->failed = true;
}

/// A fiber has no hint of its own: a task that has one pushes it, to the queue of a worker on that node.
static void ask(client_t *client)
{
  bench_t *const bench = client->bench;
  if (bench->request.how == HOW_FIBERS) {
    begin_fiber(client);
    return;
  }
  void (*const func)(void *) = bench->request.how == HOW_BOTH ? begin_fiber : scan_in_task;
  if (ws_pool_push(bench->pool, (ws_task_t){.func = func, .arg = client, .node = client->node}))
    bench->failed = true;
}

/// One of these runs on each worker, and makes the first requests of the worker's share of the clients. If
/// all requests came from one thread, a worker would serve the first client again and again from its own
/// queue, before it takes another from that thread's.
static void begin_share(void *bench_arg)
{
  bench_t *const bench = bench_arg;
  pthread_barrier_wait(&bench->all_workers);
  for (uint32_t i = (uint32_t)ws_worker_index(); i < bench->request.clients; i += bench->request.workers)
    ask(&bench->client[i]);
  pthread_barrier_wait(&bench->all_workers);
}

/// Oldest first: a scan that a client asks for waits behind those of the others.
static bool begin_in_pool(bench_t *bench)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = bench->request.workers;
  settings.fifo = true;
  if (ws_pool_create(&bench->pool, &settings) < 0)
    return false;
  pthread_barrier_init(&bench->all_workers, NULL, bench->request.workers + 1);
  for (uint32_t i = 0; i < bench->request.workers; i++)
    if (ws_pool_push(bench->pool, (ws_task_t){.func = begin_share, .arg = bench}) != 0)
      abort(); // the others wait for it
  pthread_barrier_wait(&bench->all_workers);
  pthread_barrier_wait(&bench->all_workers);
  return true;
}

static bool begin_in_threads(bench_t *bench)
{
  for (uint32_t *i = &bench->clients_started; *i < bench->request.clients; ++*i)
    if (pthread_create(&bench->client[*i].thread, NULL, scan_in_thread, &bench->client[*i]) != 0)
      return false;
  return true;
}

/// @return false = threads or a pool could not be made
static bool start_all(bench_t *bench)
{
  const request_t *const request = &bench->request;
  const uint32_t writers = request->hold_us ? request->workers * WRITERS : 0;
  bench->writer = allot(writers, sizeof *bench->writer);
  bench->client = allot(request->clients, sizeof *bench->client);
  bench->time_ns = allot(TIMES_MAX, sizeof *bench->time_ns);
  for (uint32_t i = 0; i < writers; i++, bench->writers_started++) {
    bench->writer[i] =
        (writer_t){.bench = bench, .table = &bench->block[i / WRITERS * BLOCKS], .index = i % WRITERS};
    if (pthread_create(&bench->writer[i].thread, NULL, write_blocks, &bench->writer[i]) != 0)
      return false;
  }
  const bool regions = request->how == HOW_REGIONS || request->how == HOW_BOTH;
  for (uint32_t i = 0; i < request->clients; i++) {
    block_t *const table = &bench->block[i % request->workers * BLOCKS];
    bench->client[i] = (client_t){.bench = bench,
                                  .table = table,
                                  .first = (uint32_t)((uint64_t)BLOCKS * i / request->clients),
                                  .node = regions ? ws_node_hint(ws_node_of(table->word)) : WS_NODE_ANY,
                                  .asked_ns = clock_now_ns()};
  }
  return request->how == HOW_THREADS ? begin_in_threads(bench) : begin_in_pool(bench);
}

static uint64_t scanned_blocks(const bench_t *bench)
{
  uint64_t sum = 0;
  for (uint32_t i = 0; i < bench->request.clients; i++)
    sum += read_sum(&bench->client[i].blocks);
  return sum;
}

static void stop_scans(bench_t *bench)
{
  bench->stop_scans = true;
  for (uint32_t i = 0; i < bench->clients_started; i++)
    pthread_join(bench->client[i].thread, NULL);
  if (bench->pool)
    ws_pool_wait(bench->pool);
}

static void stop_writers(bench_t *bench)
{
  uint64_t holds = 0, hold_ns = 0;
  bench->stop_writers = true;
  for (uint32_t i = 0; i < bench->writers_started; i++) {
    pthread_join(bench->writer[i].thread, NULL);
    holds += bench->writer[i].holds;
    hold_ns += bench->writer[i].hold_ns;
  }
  report_number(&bench->report, "hold_us", holds ? (double)hold_ns * 1e-3 / (double)holds : 0);
}

/// What all do between warm_ms and warm_ms + ms.
static void measure(bench_t *bench)
{
  clock_sleep_until(clock_now_ns() + bench->request.warm_ms * 1000000);
  bench->keep = true;
  const uint64_t begin_ns = clock_now_ns(), before = scanned_blocks(bench);
  clock_sleep_until(begin_ns + bench->request.ms * 1000000);
  const uint64_t end_ns = clock_now_ns(), blocks = scanned_blocks(bench) - before;
  bench->keep = false;
  report_number(&bench->report, "blocks_per_s", (double)blocks * 1e9 / (double)(end_ns - begin_ns));
}

static void run(bench_t *bench)
{
  report_t *const report = &bench->report;
  make_tables(bench);
  report_count(report, "workers", bench->request.workers);
  report_count(report, "nodes", ws_node_count());
  report_number(report, "work_us", block_ns(bench) * 1e-3);
  const bool good = start_all(bench);
  if (good)
    measure(bench);
  stop_scans(bench);
  stop_writers(bench);
  if (bench->pool)
    ws_pool_destroy(bench->pool);
  const uint32_t times = bench->times < TIMES_MAX ? bench->times : TIMES_MAX;
  if (times > 0)
    report_percentiles(report, "scan", bench->time_ns, times);
  if (bench->wrong)
    report_error(report, "a sum was wrong: a latch let a reader in while a writer held it");
  else if (!good || bench->failed)
    report_error(report, "threads or a pool could not be made, or a push failed");
}

int main(int argc, char **argv)
{
  static bench_t bench;
  request_t *const request = &bench.request;
  *request = (request_t){.how = HOW_FIBERS,
                         .clients = 64,
                         .workers = cpus_count(),
                         .hold_us = 1000,
                         .warm_ms = 300,
                         .ms = 1000,
                         .count = 1000000};
  words_take(argc, argv, usage, keys, request);
  if (request->how < HOW_WS)
    run(&bench);
  else if (request->how == HOW_WS)
    costs_ws(&bench.report, request->count);
  else if (costs_boost)
    costs_boost(&bench.report, request->count);
  else
    report_error(&bench.report, "not built; get it: Debian libboost-fiber-dev");
  return report_print(&bench.report) ? EXIT_SUCCESS : EXIT_FAILURE;
}
