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
#include "usage.h"
#include "words.h"
#include "ws_fiber.h"
#include "ws_sync.h"

#define PAGE_BYTES 4096u
#define STACK_BYTES (256u << 10) // of a client's thread
#define TIMES_MAX (1u << 21)
#define PASSES 50u

static const char usage[] =
    "usage: ws-latch how=NAME [key=value]...\n"
    "keys:  how=threads        a thread for each client\n"
    "           tasks          a plain task of the pool for each scan, which blocks its worker\n"
    "           fibers         a fiber for each client, which yields when it meets a held latch\n"
    "           cost-ws|cost-boost   no scans: what fibers of this library cost\n"
    "       scans=N            clients, each of which asks for one scan after the other\n"
    "       workers=N          threads of the pool (default: CPUs)\n"
    "       tables=N blocks=N block_bytes=N   tables, blocks of each; bytes a multiple of 4096\n"
    "       writers=N          threads that hold blocks, of all tables together; at most tables * blocks\n"
    "       hold=sleep|work    what a writer does meanwhile\n"
    "       hold_us=N gap_us=N how long it holds a block, and then none\n"
    "       warm_ms=N ms=N     time before the measurement, and of it\n"
    "       count=N            of cost-*: switches\n"
    "       sleepers=N spread_ms=N   of cost-*: fibers that sleep, until times so far apart\n";

typedef struct {
  enum { HOW_THREADS, HOW_TASKS, HOW_FIBERS, HOW_COSTS } how;
  enum { HOLD_SLEEP, HOLD_WORK } hold;
  uint32_t scans, workers, tables, blocks, writers;
  uint64_t block_bytes, hold_us, gap_us, warm_ms, ms;
  cost_request_t costs;
} request_t;

static const word_key_t keys[] = {
    {"how", WORD_ONE_OF(request_t, how, "threads", "tasks", "fibers", "cost-ws", "cost-boost")},
    {"scans", WORD_NUMBER(request_t, scans, 1, 100000)},
    {"workers", WORD_NUMBER(request_t, workers, 1, 1023)},
    {"tables", WORD_NUMBER(request_t, tables, 1, 1024)},
    {"blocks", WORD_NUMBER(request_t, blocks, 1, 65536)},
    {"block_bytes", WORD_NUMBER(request_t, block_bytes, PAGE_BYTES, 1 << 30)},
    {"writers", WORD_NUMBER(request_t, writers, 0, 10000)},
    {"hold", WORD_ONE_OF(request_t, hold, "sleep", "work")},
    {"hold_us", WORD_NUMBER(request_t, hold_us, 0, 1000000)},
    {"gap_us", WORD_NUMBER(request_t, gap_us, 0, 1000000)},
    {"warm_ms", WORD_NUMBER(request_t, warm_ms, 0, 100000)},
    {"ms", WORD_NUMBER(request_t, ms, 1, 100000)},
    {"count", WORD_NUMBER(request_t, costs.count, 1000, 1000000000)},
    {"sleepers", WORD_NUMBER(request_t, costs.sleepers, 1, SLEEPERS_MAX)},
    {"spread_ms", WORD_NUMBER(request_t, costs.spread_ms, 0, 100000)},
    {NULL},
};

/// The reader-writer latch of a block. Its waits block a thread or a plain task, and let a fiber yield.
/// Readers that come while a writer holds the latch, or waits for it, wait. All that wait go ahead when a
/// writer leaves.
typedef struct {
  /// Bit 63 = a writer holds the latch or waits for it; bits 32..62 = readers that wait; bits 0..31 = readers
  /// that hold the latch, or that a writer has let in.
  _Atomic uint64_t word;
  ws_mutex_t writers; ///< of the writer
  ws_sem_t enter; ///< a unit for each reader that is let in
  ws_sem_t drained; ///< a unit when the last reader has left and a writer waits
} latch_t;

#define WRITER (UINT64_C(1) << 63)
#define ONE_WAITS (UINT64_C(1) << 32)
#define ONE_IN UINT64_C(1)
#define IN_MASK (ONE_WAITS - 1)

/// Writers change words of a block so that the sum of its words is wrong while they hold the latch, and right
/// again when they leave.
typedef struct {
  _Alignas(64) latch_t latch;
  uint64_t *word;
} block_t;

typedef struct {
  block_t *block;
  uint64_t sum; ///< of all words
} table_t;

typedef struct bench_s bench_t;

/// Holds blocks for a time, however the scans are run.
typedef struct {
  _Alignas(64) bench_t *bench;
  uint32_t index;
  pthread_t thread;
  _Atomic uint64_t holds, hold_ns; ///< written by this writer only
} writer_t;

/// Asks for one scan after the other: a walk over all blocks of a table, from a block of its own onwards.
typedef struct {
  _Alignas(64) bench_t *bench;
  const table_t *table;
  uint32_t first; ///< block
  uint64_t asked_ns;
  pthread_t thread;
  _Atomic uint64_t blocks, waits, wait_ns, wrong; ///< written by the present scan only
  _Atomic uint64_t wait_begin_ns; ///< of the wait under way, 0 = none
  uint64_t blocks_before; ///< when times began to be kept
} client_t;

struct bench_s {
  request_t request;
  report_t report;
  table_t *table;
  writer_t *writer;
  client_t *client;
  uint32_t writers_started, clients_started;
  ws_pool_t *pool; ///< NULL = threads
  pthread_barrier_t all_workers;
  _Atomic bool stop_scans, stop_writers, keep, failed;
  _Atomic uint32_t times;
  uint64_t *time_ns; ///< [TIMES_MAX] of scans, from the request to the result, queueing included
};

/// What all have done so far.
typedef struct {
  usage_t usage;
  double writers_s; ///< CPU time
  uint64_t blocks, waits, wait_ns, wrong,
      starved; ///< of the clients; starved: got no block since times were kept
  uint64_t holds, hold_ns;
} moment_t;

/// @return false = a writer holds the latch, or waits for it
static bool latch_try_shared(latch_t *latch)
{
  uint64_t seen = atomic_load_explicit(&latch->word, memory_order_relaxed);
  while (!(seen & WRITER))
    if (atomic_compare_exchange_weak_explicit(&latch->word, &seen, seen + ONE_IN, memory_order_acquire,
                                              memory_order_relaxed))
      return true;
  return false;
}

static void latch_lock_shared(latch_t *latch)
{
  uint64_t seen = atomic_load_explicit(&latch->word, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&latch->word, &seen,
                                                seen + (seen & WRITER ? ONE_WAITS : ONE_IN),
                                                memory_order_acquire, memory_order_relaxed))
    ;
  // Another reader may take the unit that was meant for this one. Then this one takes the next: as many
  // readers are in as the word counts.
  if (seen & WRITER)
    ws_sem_wait(&latch->enter);
}

static void latch_unlock_shared(latch_t *latch)
{
  const uint64_t seen = atomic_fetch_sub_explicit(&latch->word, ONE_IN, memory_order_acq_rel);
  if (seen & WRITER && (seen & IN_MASK) == 1)
    ws_sem_post(&latch->drained, 1);
}

static void latch_lock_exclusive(latch_t *latch)
{
  ws_mutex_lock(&latch->writers);
  if (atomic_fetch_or_explicit(&latch->word, WRITER, memory_order_acq_rel) & IN_MASK)
    ws_sem_wait(&latch->drained);
}

static void latch_unlock_exclusive(latch_t *latch)
{
  uint64_t seen = atomic_load_explicit(&latch->word, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&latch->word, &seen, (seen & ~WRITER) / ONE_WAITS,
                                                memory_order_acq_rel, memory_order_relaxed))
    ;
  const uint32_t waited = (uint32_t)((seen & ~WRITER) / ONE_WAITS);
  if (waited > 0)
    ws_sem_post(&latch->enter, waited);
  ws_mutex_unlock(&latch->writers);
}

static void make_tables(bench_t *bench)
{
  const request_t *const request = &bench->request;
  const uint64_t words = request->block_bytes / sizeof(uint64_t);
  bench->table = allot(request->tables, sizeof *bench->table);
  for (uint32_t t = 0; t < request->tables; t++) {
    table_t *const table = &bench->table[t];
    table->block = allot(request->blocks, sizeof *table->block);
    uint64_t *word = allot(request->blocks, request->block_bytes);
    for (uint32_t i = 0; i < request->blocks; i++, word += words) {
      table->block[i].word = word;
      for (uint64_t w = 0; w < words; w++) {
        word[w] = ((uint64_t)i << 32) + w;
        table->sum += word[w];
      }
    }
  }
}

static uint64_t block_sum(const block_t *block, uint64_t bytes)
{
  const uint64_t *const word = block->word;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < bytes / sizeof *word; i++)
    sum += word[i];
  return sum;
}

/// @return ns that the calling thread takes to sum up a block that nothing else uses; the least of several
/// passes over a table
static double block_ns(const bench_t *bench)
{
  const request_t *const request = &bench->request;
  double least_ns = INFINITY;
  for (uint32_t pass = 0; pass < PASSES; pass++) {
    const uint64_t begin_ns = clock_now_ns();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < request->blocks; i++)
      sum += block_sum(&bench->table->block[i], request->block_bytes);
    const double taken_ns = (double)(clock_now_ns() - begin_ns) / request->blocks;
    if (sum == bench->table->sum && taken_ns < least_ns)
      least_ns = taken_ns;
  }
  return least_ns;
}

static uint64_t read_sum(const _Atomic uint64_t *sum)
{
  return atomic_load_explicit(sum, memory_order_relaxed);
}

/// Only one thread writes it.
static void add(_Atomic uint64_t *sum, uint64_t value)
{
  atomic_store_explicit(sum, read_sum(sum) + value, memory_order_relaxed);
}

/// Writer w has blocks of its own in table w % tables: each `step`-th, from `first`. They are taken in an
/// order drawn by chance.
static block_t *choose(const writer_t *writer, unsigned int *random)
{
  const request_t *const request = &writer->bench->request;
  const uint32_t table = writer->index % request->tables, first = writer->index / request->tables;
  const uint32_t step = (request->writers - table - 1) / request->tables + 1;
  const uint32_t mine = (request->blocks - first - 1) / step + 1;
  return &writer->bench->table[table].block[first + (uint32_t)rand_r(random) % mine * step];
}

static void *write_blocks(void *writer_arg)
{
  writer_t *const writer = writer_arg;
  const request_t *const request = &writer->bench->request;
  unsigned int random = writer->index + 1;
  prctl(PR_SET_TIMERSLACK, 1); // else a sleep takes 50 µs more
  while (!atomic_load_explicit(&writer->bench->stop_writers, memory_order_relaxed)) {
    block_t *const block = choose(writer, &random);
    latch_lock_exclusive(&block->latch);
    const uint64_t begin_ns = clock_now_ns();
    block->word[0]++;
    if (request->hold == HOLD_WORK)
      busy_work(request->hold_us * 1000);
    else
      clock_sleep_until(begin_ns + request->hold_us * 1000);
    block->word[1]--;
    add(&writer->hold_ns, clock_now_ns() - begin_ns);
    add(&writer->holds, 1);
    latch_unlock_exclusive(&block->latch);
    if (request->gap_us > 0)
      clock_sleep_until(clock_now_ns() + request->gap_us * 1000);
  }
  return NULL;
}

static uint64_t scan_block(client_t *client, block_t *block)
{
  if (!latch_try_shared(&block->latch)) {
    const uint64_t begin_ns = clock_now_ns();
    atomic_store_explicit(&client->wait_begin_ns, begin_ns, memory_order_relaxed);
    latch_lock_shared(&block->latch);
    atomic_store_explicit(&client->wait_begin_ns, 0, memory_order_relaxed);
    add(&client->wait_ns, clock_now_ns() - begin_ns);
    add(&client->waits, 1);
  }
  const uint64_t sum = block_sum(block, client->bench->request.block_bytes);
  latch_unlock_shared(&block->latch);
  add(&client->blocks, 1);
  return sum;
}

/// @return whether the client is to ask for another scan
static bool scan(client_t *client)
{
  bench_t *const bench = client->bench;
  const uint32_t blocks = bench->request.blocks;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < blocks; i++) {
    if (atomic_load_explicit(&bench->stop_scans, memory_order_relaxed))
      return false;
    sum += scan_block(client, &client->table->block[(client->first + i) % blocks]);
  }
  add(&client->wrong, sum != client->table->sum);
  const uint64_t now_ns = clock_now_ns();
  if (atomic_load_explicit(&bench->keep, memory_order_relaxed)) {
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

static void ask(client_t *client)
{
  bench_t *const bench = client->bench;
  const int error = bench->request.how == HOW_FIBERS
                        ? ws_fiber_push(bench->pool, scan_in_fiber, client, NULL, NULL)
                        : ws_pool_push(bench->pool, (ws_task_t){.func = scan_in_task, .arg = client});
  if (error)
    atomic_store_explicit(&bench->failed, true, memory_order_relaxed);
}

/// One of these runs on each worker, and makes the first requests of the worker's share of the clients. If
/// all requests came from one thread, a worker would serve the first client again and again from its own
/// queue, before it takes another from that thread's.
static void begin_share(void *bench_arg)
{
  bench_t *const bench = bench_arg;
  const request_t *const request = &bench->request;
  pthread_barrier_wait(&bench->all_workers);
  for (uint32_t i = (uint32_t)ws_worker_index(); i < request->scans; i += request->workers)
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
  bench->clients_started = bench->request.scans;
  pthread_barrier_wait(&bench->all_workers);
  pthread_barrier_wait(&bench->all_workers);
  return true;
}

static bool start_threads(bench_t *bench)
{
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  uint32_t *const started = &bench->clients_started;
  while (*started < bench->request.scans
         && pthread_create(&bench->client[*started].thread, &attributes, scan_in_thread,
                           &bench->client[*started])
                == 0)
    (*started)++;
  pthread_attr_destroy(&attributes);
  return *started == bench->request.scans;
}

/// @return false = threads or a pool could not be made
static bool start_all(bench_t *bench)
{
  const request_t *const request = &bench->request;
  bench->writer = allot(request->writers, sizeof *bench->writer);
  bench->client = allot(request->scans, sizeof *bench->client);
  bench->time_ns = allot(TIMES_MAX, sizeof *bench->time_ns);
  for (; bench->writers_started < request->writers; bench->writers_started++) {
    writer_t *const writer = &bench->writer[bench->writers_started];
    *writer = (writer_t){.bench = bench, .index = bench->writers_started};
    if (pthread_create(&writer->thread, NULL, write_blocks, writer) != 0)
      return false;
  }
  for (uint32_t i = 0; i < request->scans; i++)
    bench->client[i] = (client_t){.bench = bench,
                                  .table = &bench->table[i % request->tables],
                                  .first = (uint32_t)((uint64_t)request->blocks * i / request->scans),
                                  .asked_ns = clock_now_ns()};
  return request->how == HOW_THREADS ? start_threads(bench) : begin_in_pool(bench);
}

/// The waits under way are in wait_ns, too.
static moment_t look(const bench_t *bench)
{
  moment_t sum = {.usage = usage_now(USAGE_PROCESS)};
  const uint64_t now_ns = clock_now_ns();
  for (uint32_t i = 0; i < bench->clients_started; i++) {
    const client_t *const client = &bench->client[i];
    const uint64_t begin_ns = read_sum(&client->wait_begin_ns);
    sum.wait_ns += begin_ns > 0 && begin_ns < now_ns ? now_ns - begin_ns : 0;
    sum.blocks += read_sum(&client->blocks);
    sum.waits += read_sum(&client->waits);
    sum.wait_ns += read_sum(&client->wait_ns);
    sum.wrong += read_sum(&client->wrong);
    sum.starved += client->blocks_before == read_sum(&client->blocks);
  }
  for (uint32_t i = 0; i < bench->writers_started; i++) {
    clockid_t clock;
    sum.holds += read_sum(&bench->writer[i].holds);
    sum.hold_ns += read_sum(&bench->writer[i].hold_ns);
    if (pthread_getcpuclockid(bench->writer[i].thread, &clock) == 0)
      sum.writers_s += usage_clock_s(clock);
  }
  return sum;
}

static void report_span(report_t *report, const moment_t *begin, const moment_t *end)
{
  const double wall_s = end->usage.wall_s - begin->usage.wall_s;
  const uint64_t blocks = end->blocks - begin->blocks, waits = end->waits - begin->waits;
  const uint64_t holds = end->holds - begin->holds;
  const double hold_ns = (double)(end->hold_ns - begin->hold_ns);
  const double wait_ns = (double)(end->wait_ns - begin->wait_ns);
  report_number(report, "cpu_s", end->usage.cpu_s - begin->usage.cpu_s - (end->writers_s - begin->writers_s));
  report_count(report, "block_count", blocks);
  report_number(report, "blocks_per_s", (double)blocks / wall_s);
  report_count(report, "starved", end->starved);
  report_count(report, "waits", waits);
  report_number(report, "waits_under_way", wait_ns * 1e-9 / wall_s);
  report_number(report, "wait_us", waits ? wait_ns * 1e-3 / (double)waits : 0);
  report_count(report, "holds", holds);
  report_number(report, "hold_us", holds ? hold_ns * 1e-3 / (double)holds : 0);
}

static void stop_scans(bench_t *bench)
{
  atomic_store_explicit(&bench->stop_scans, true, memory_order_relaxed);
  for (uint32_t i = 0; !bench->pool && i < bench->clients_started; i++)
    pthread_join(bench->client[i].thread, NULL);
  if (bench->pool)
    ws_pool_wait(bench->pool);
}

/// What all do between warm_ms and warm_ms + ms.
static void measure(bench_t *bench)
{
  report_t *const report = &bench->report;
  const uint64_t begin_ns = clock_now_ns() + bench->request.warm_ms * 1000000;
  clock_sleep_until(begin_ns);
  for (uint32_t i = 0; i < bench->clients_started; i++)
    bench->client[i].blocks_before = read_sum(&bench->client[i].blocks);
  atomic_store_explicit(&bench->keep, true, memory_order_relaxed);
  const moment_t begin = look(bench);
  clock_sleep_until(begin_ns + bench->request.ms * 1000000);
  const moment_t end = look(bench);
  atomic_store_explicit(&bench->keep, false, memory_order_relaxed);
  stop_scans(bench);
  report_span(report, &begin, &end);
  const uint32_t times = bench->times < TIMES_MAX ? bench->times : TIMES_MAX;
  if (times > 0)
    report_percentiles(report, "scan", bench->time_ns, times);
  const uint64_t wrong = look(bench).wrong;
  if (wrong > 0)
    report_error(report, "%llu sums were wrong: a latch let a reader in while a writer held it",
                 (unsigned long long)wrong);
  else if (bench->failed)
    report_error(report, "a push failed");
}

static void run(bench_t *bench)
{
  make_tables(bench);
  report_count(&bench->report, "workers", bench->request.workers);
  report_number(&bench->report, "work_us", block_ns(bench) * 1e-3);
  if (start_all(bench)) {
    measure(bench);
  } else {
    report_error(&bench->report, "threads or a pool could not be made");
    stop_scans(bench);
  }
  if (bench->pool)
    ws_pool_destroy(bench->pool);
  atomic_store_explicit(&bench->stop_writers, true, memory_order_relaxed);
  for (uint32_t i = 0; i < bench->writers_started; i++)
    pthread_join(bench->writer[i].thread, NULL);
}

int main(int argc, char **argv)
{
  static bench_t bench;
  request_t *const request = &bench.request;
  *request = (request_t){.how = HOW_FIBERS,
                         .scans = 64,
                         .workers = cpus_count(),
                         .tables = 2,
                         .blocks = 16,
                         .block_bytes = 131072,
                         .writers = 8,
                         .hold_us = 1000,
                         .warm_ms = 300,
                         .ms = 1000,
                         .costs = {.count = 1000000, .sleepers = 10000, .spread_ms = 1000}};
  words_take(argc, argv, usage, keys, request);
  if (request->how >= HOW_COSTS)
    costs_measure(&bench.report, (cost_of_t)(request->how - HOW_COSTS), &request->costs);
  else if (request->writers > (uint64_t)request->tables * request->blocks)
    report_error(&bench.report, "request: at least a block for each writer");
  else if (request->block_bytes % PAGE_BYTES != 0)
    report_error(&bench.report, "request: block_bytes is a multiple of %u", PAGE_BYTES);
  else
    run(&bench);
  return report_print(&bench.report) ? EXIT_SUCCESS : EXIT_FAILURE;
}
