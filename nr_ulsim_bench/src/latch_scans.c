// SPDX-License-Identifier: BSD-3-Clause
#include "latch_scans.h"

#include <stdlib.h>

#include "clock.h"
#include "ws_fiber.h"
#include "ws_node.h"

#define TIMES_MAX (1u << 21)
#define STACK_BYTES (256u << 10)

typedef struct {
  _Alignas(64) latch_scans_t *all;
  const latch_table_t *table;
  uint32_t first; ///< block
  uint64_t asked_ns;
  pthread_t thread;
  _Atomic uint64_t blocks, waits, wait_ns, wrong; ///< written by the present scan only
  _Atomic uint64_t wait_begin_ns; ///< of the wait under way, 0 = none
  uint64_t blocks_before; ///< when times began to be kept
} client_t;

struct latch_scans_s {
  const latch_tables_t *tables;
  latch_scanning_t how;
  ws_pool_t *pool; ///< NULL = threads
  client_t *client;
  uint32_t started; ///< clients
  pthread_barrier_t all_workers;
  _Atomic bool stop, keep, failed;
  _Atomic uint32_t times;
  uint64_t *time_ns; ///< [TIMES_MAX]
};

static void add(_Atomic uint64_t *sum, uint64_t value)
{
  const uint64_t before = atomic_load_explicit(sum, memory_order_relaxed);
  atomic_store_explicit(sum, before + value, memory_order_relaxed);
}

static uint64_t scan_block(client_t *client, latch_block_t *block)
{
  if (!latch_try_shared(&block->latch)) {
    const uint64_t begin_ns = clock_now_ns();
    atomic_store_explicit(&client->wait_begin_ns, begin_ns, memory_order_relaxed);
    latch_lock_shared(&block->latch);
    atomic_store_explicit(&client->wait_begin_ns, 0, memory_order_relaxed);
    add(&client->wait_ns, clock_now_ns() - begin_ns);
    add(&client->waits, 1);
  }
  const uint64_t sum = latch_block_sum(block, client->all->tables->block_bytes);
  latch_unlock_shared(&block->latch);
  add(&client->blocks, 1);
  return sum;
}

static void keep_time(latch_scans_t *all, uint64_t ns)
{
  if (!atomic_load_explicit(&all->keep, memory_order_relaxed))
    return;
  const uint32_t place = atomic_fetch_add_explicit(&all->times, 1, memory_order_relaxed);
  if (place < TIMES_MAX)
    all->time_ns[place] = ns;
}

/// @return whether the client is to ask for another scan
static bool scan(client_t *client)
{
  latch_scans_t *const all = client->all;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < all->tables->blocks; i++) {
    if (atomic_load_explicit(&all->stop, memory_order_relaxed))
      return false;
    sum += scan_block(client, &client->table->block[(client->first + i) % all->tables->blocks]);
  }
  add(&client->wrong, sum != client->table->sum);
  const uint64_t now_ns = clock_now_ns();
  keep_time(all, now_ns - client->asked_ns);
  client->asked_ns = now_ns;
  return true;
}

static void *scan_in_thread(void *client)
{
  while (scan(client))
    ;
  return NULL;
}

static void scan_in_task(void *client);

static void scan_in_fiber(void *client)
{
  while (scan(client))
    ws_yield(); // its next request is served after those of the others
}

static int ask(client_t *client)
{
  const latch_how_t how = client->all->how.how;
  if (how != HOW_FIBERS && how != HOW_HINTS)
    return ws_pool_push(client->all->pool, (ws_task_t){.func = scan_in_task, .arg = client});
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  options.node = how == HOW_HINTS ? ws_node_hint(client->table->node) : WS_NODE_ANY;
  return ws_fiber_push(client->all->pool, scan_in_fiber, client, NULL, &options);
}

static void scan_in_task(void *client_arg)
{
  client_t *const client = client_arg;
  if (scan(client) && ask(client) != 0)
    atomic_store_explicit(&client->all->failed, true, memory_order_relaxed);
}

/// One of these runs on each worker, and makes the first requests of the worker's share of the clients. If
/// all requests came from one thread, a worker would serve the first client again and again from its own
/// queue, before it takes another from that thread's.
static void begin_share(void *all_arg)
{
  latch_scans_t *const all = all_arg;
  pthread_barrier_wait(&all->all_workers);
  for (uint32_t i = (uint32_t)ws_worker_index(); i < all->how.scans; i += all->how.workers)
    if (ask(&all->client[i]) != 0)
      atomic_store_explicit(&all->failed, true, memory_order_relaxed);
  pthread_barrier_wait(&all->all_workers);
}

/// @return whether all workers have begun
static bool begin_in_pool(latch_scans_t *all)
{
  const ws_task_t task = {.func = begin_share, .arg = all};
  bool good = true;
  for (uint32_t i = 0; good && i < all->how.workers; i++)
    good = ws_pool_push(all->pool, task) == 0;
  if (!good)
    abort(); // the others wait for it
  pthread_barrier_wait(&all->all_workers);
  pthread_barrier_wait(&all->all_workers);
  return !atomic_load_explicit(&all->failed, memory_order_relaxed);
}

/// Oldest first: a scan that a client asks for waits behind those of the others. With several nodes each
/// worker is pinned, with and without hints.
static bool make_pool(latch_scans_t *all, const nodes_t *nodes)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = all->how.workers;
  settings.fifo = true;
  settings.pin_step = nodes->count > 1;
  if (ws_pool_create(&all->pool, &settings) < 0)
    return false;
  pthread_barrier_init(&all->all_workers, NULL, all->how.workers + 1);
  return true;
}

static void make_client(latch_scans_t *all, uint32_t index)
{
  const latch_tables_t *const tables = all->tables;
  client_t *const client = &all->client[index];
  *client = (client_t){.all = all, .table = &tables->table[index % tables->count]};
  client->first = (uint32_t)((uint64_t)tables->blocks * index / all->how.scans);
  client->asked_ns = clock_now_ns();
}

static bool start_thread(client_t *client)
{
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  const bool good = pthread_create(&client->thread, &attributes, scan_in_thread, client) == 0;
  pthread_attr_destroy(&attributes);
  return good;
}

latch_scans_t *latch_scans_start(const latch_tables_t *tables, const nodes_t *nodes,
                                 const latch_scanning_t *how)
{
  latch_scans_t *const all = calloc(1, sizeof *all);
  if (!all)
    return NULL;
  all->tables = tables;
  all->how = *how;
  all->client = aligned_alloc(_Alignof(client_t), how->scans * sizeof *all->client);
  all->time_ns = calloc(TIMES_MAX, sizeof *all->time_ns);
  bool good = all->client && all->time_ns && (how->how == HOW_THREADS || make_pool(all, nodes));
  for (uint32_t i = 0; good && i < how->scans; i++)
    make_client(all, i);
  if (good && all->pool) {
    all->started = how->scans;
    good = begin_in_pool(all);
  }
  while (good && all->started < how->scans) {
    good = start_thread(&all->client[all->started]);
    all->started += good;
  }
  if (good)
    return all;
  latch_scans_stop(all);
  latch_scans_free(all);
  return NULL;
}

latch_scanned_t latch_scans_read(const latch_scans_t *scans)
{
  latch_scanned_t sum = {0};
  const uint64_t now_ns = clock_now_ns();
  for (uint32_t i = 0; i < scans->started; i++) {
    const client_t *const client = &scans->client[i];
    const uint64_t begin_ns = atomic_load_explicit(&client->wait_begin_ns, memory_order_relaxed);
    sum.wait_ns += begin_ns > 0 && begin_ns < now_ns ? now_ns - begin_ns : 0;
    sum.blocks += atomic_load_explicit(&client->blocks, memory_order_relaxed);
    sum.waits += atomic_load_explicit(&client->waits, memory_order_relaxed);
    sum.wait_ns += atomic_load_explicit(&client->wait_ns, memory_order_relaxed);
    sum.wrong += atomic_load_explicit(&client->wrong, memory_order_relaxed);
    sum.starved += client->blocks_before == atomic_load_explicit(&client->blocks, memory_order_relaxed);
  }
  return sum;
}

void latch_scans_keep(latch_scans_t *scans, bool keep)
{
  for (uint32_t i = 0; keep && i < scans->started; i++)
    scans->client[i].blocks_before = atomic_load_explicit(&scans->client[i].blocks, memory_order_relaxed);
  atomic_store_explicit(&scans->keep, keep, memory_order_relaxed);
}

uint64_t *latch_scans_times(latch_scans_t *scans, uint32_t *count)
{
  const uint32_t kept = atomic_load_explicit(&scans->times, memory_order_relaxed);
  *count = kept < TIMES_MAX ? kept : TIMES_MAX;
  return scans->time_ns;
}

bool latch_scans_stop(latch_scans_t *scans)
{
  atomic_store_explicit(&scans->stop, true, memory_order_relaxed);
  for (uint32_t i = 0; !scans->pool && i < scans->started; i++)
    pthread_join(scans->client[i].thread, NULL);
  if (scans->pool)
    ws_pool_wait(scans->pool);
  return !atomic_load_explicit(&scans->failed, memory_order_relaxed);
}

void latch_scans_free(latch_scans_t *scans)
{
  if (!scans)
    return;
  if (scans->pool) {
    ws_pool_destroy(scans->pool);
    pthread_barrier_destroy(&scans->all_workers);
  }
  free(scans->time_ns);
  free(scans->client);
  free(scans);
}
