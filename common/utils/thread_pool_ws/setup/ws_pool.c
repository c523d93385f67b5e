// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pool.c
/// Create and destroy a pool. All memory that a burst needs is mapped here, but for what a push maps: more
/// for a full queue (WS_FULL_GROW), and without settings.reserve the queue of a priority or a node. Events of
/// pools that are judged have memory of their own (ws_rings.h).
#define _GNU_SOURCE
#include "../cancel/ws_skip.h"
#include "../classes/ws_classes.h"
#include "../core/ws_escape.h"
#include "../core/ws_run.h"
#include "../page/ws_page.h"
#include "../pool/ws_callback.h"
#include "../pool/ws_lane.h"
#include "../pool/ws_near.h"
#include "../pool/ws_process.h"
#include "../prewake/ws_prewake.h"
#include "../record/ws_flight.h"
#include "../sleep/ws_affinity.h"
#include "../sleep/ws_guard.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"
#include "../tasks/ws_summary.h"
#include "../trace/ws_traced.h"
#include "../wide/ws_wide.h"
#include "ws_setup.h"

/// Hands out pieces of one zeroed mapping.
typedef struct {
  char *next;
  size_t used;
} arena_t;

static void *carve(arena_t *arena, size_t bytes)
{
  const size_t offset = arena->used;
  arena->used += (bytes + WS_SPACING - 1) / WS_SPACING * WS_SPACING;
  return arena->next ? arena->next + offset : NULL; // a first pass without memory only counts
}

/// Threads whose structures begin at different places of their first page, so that they do not all fall into
/// the same set of a cache.
#define COLOURS 16u

/// Begin the piece of thread @p index, on a page of its own. A page lies on the node of the thread that
/// writes it first. The creator writes the structures. The thread itself writes nearly all of the ring.
static void begin_piece(arena_t *arena, uint32_t index)
{
  const size_t page_bytes = ws_os_page_bytes();
  arena->used = (arena->used + page_bytes - 1) / page_bytes * page_bytes + index % COLOURS * WS_SPACING;
}

/// Place a queue's first ring; in the pass with memory also set the queue up.
/// @param queue  number @p index of the pool; NULL = the pass that only counts
static void lay_out_queue(struct ws_pool_s *pool, arena_t *arena, ws_queue_t *queue, uint32_t index)
{
  const uint32_t capacity = pool->settings.queue_capacity;
  ws_cell_t *cells = carve(arena, capacity * sizeof(ws_cell_t));
  if (!queue)
    return;
  ws_queue_init(queue, cells, capacity, pool->settings.fifo);
  ws_tasks_put(&pool->tasks, queue, index);
}

/// Place a worker and what belongs to it; in the pass with memory also set it up, but for what
/// ws_start_workers() sets.
static void lay_out_worker(struct ws_pool_s *pool, arena_t *arena, uint32_t index)
{
  begin_piece(arena, index);
  ws_worker_t *worker = carve(arena, sizeof(ws_worker_t));
  uint32_t *victims = carve(arena, pool->requested * sizeof(uint32_t));
  ws_prewake_worker_t *prewake = carve(arena, ws_prewake_worker_bytes);
  lay_out_queue(pool, arena, worker ? &worker->queue : NULL, index);
  if (!worker)
    return;
  memset(prewake, 0, ws_prewake_worker_bytes); // now: its page may hold nothing else that the start writes
  worker->victims = victims;
  worker->prewake = prewake;
  worker->inbox.index = index;
  pool->worker[index] = worker;
  if (index < pool->tasks.inboxes)
    pool->tasks.inbox[index] = &worker->inbox;
  ws_summary_begin(&pool->tasks, &worker->queue);
}

/// Place every structure of the pool in @p arena; with memory, also set it up.
static void lay_out(struct ws_pool_s *pool, arena_t *arena)
{
  pool->tasks.queue = carve(arena, (pool->requested + pool->settings.lanes) * sizeof(ws_queue_t *));
  ws_wide_plan(&pool->tasks, pool->requested);
  pool->tasks.inbox = carve(arena, pool->tasks.inboxes * sizeof(ws_inbox_t *));
  pool->tasks.domain = carve(arena, pool->tasks.domains * sizeof(ws_domain_t));
  pool->tasks.summary = carve(arena, pool->tasks.summaries * sizeof(ws_summary_t));
  pool->worker = carve(arena, pool->requested * sizeof(ws_worker_t *));
  pool->prewake = carve(arena, ws_prewake_pool_bytes);
  for (uint32_t i = 0; i < pool->requested; i++)
    lay_out_worker(pool, arena, i);
  for (uint32_t i = 0; i < pool->settings.lanes; i++) {
    begin_piece(arena, i);
    lay_out_queue(pool, arena, carve(arena, sizeof(ws_queue_t)), pool->requested + i);
  }
}

/// Map the pool's memory. That of the overflow queue is always mapped. @return 0; -ENOMEM: free_pool() frees
/// what is there
static int allocate(struct ws_pool_s *pool)
{
  arena_t arena = {0};
  bool reserved = true;
  pool->tasks.grows = pool->settings.full == WS_FULL_GROW;
  for (ws_kind_t kind = 0; kind < pool->tasks.kinds; kind++)
    reserved &= ws_shared_init(&pool->tasks.shared[kind], pool->settings.queue_capacity,
                               ws_classes_home(pool, kind), kind == WS_KIND_NORMAL || pool->settings.reserve);
  lay_out(pool, &arena);
  pool->block_bytes = arena.used;
  pool->block = reserved ? ws_os_map(pool->block_bytes) : NULL;
  if (!pool->block)
    return -ENOMEM;
  if (pool->nodes)
    ws_os_small_pages(pool->block, pool->block_bytes);
  arena = (arena_t){.next = pool->block};
  lay_out(pool, &arena);
  pool->workers = pool->tasks.workers = pool->requested; // until their threads are started
  return 0;
}

/// Free all that belongs to a pool whose threads have ended, or whose creation has failed.
static void free_pool(struct ws_pool_s *pool)
{
  ws_flight_end(pool);
  for (uint32_t i = 0; pool->block && i < ws_queue_count(&pool->tasks); i++)
    ws_deque_free(&pool->tasks.queue[i]->deque);
  for (ws_kind_t kind = 0; kind < pool->tasks.kinds; kind++)
    ws_shared_free(&pool->tasks.shared[kind]);
  ws_os_unmap(pool->block, pool->block_bytes);
  free(pool->nodes);
  pthread_mutex_destroy(&pool->lane_lock);
  free(pool);
}

/// Start the threads, and set up what depends on how many there are. @param cpu  as ws_start_workers()
static void start(struct ws_pool_s *pool, int32_t *cpu)
{
  // Now: it takes milliseconds, once in a process, unless no thread was made before; and nothing may keep the
  // guard from its first look.
  ws_hint_store(&pool->tasks.light, pool->tasks.inboxes > 0 && ws_os_fence_begin());
  ws_start_workers(pool, cpu);
  ws_topo_count(pool, cpu);
  pool->tasks.workers = pool->workers;
  pool->tasks.mask_words = (pool->workers + 63) / 64;
  ws_topo_victims(pool);
  for (uint32_t i = 0; i < pool->settings.lanes; i++) // they follow the queues of the workers that started
    ws_tasks_put(&pool->tasks, pool->tasks.queue[pool->requested + i], pool->workers + i);
  // [edge LANE_TABLE release] lanes come into use one by one
  ws_store_release(&pool->tasks.queues, pool->workers);
  ws_page_begin(pool);
  if (!ws_guard_start(pool)) // light fences need a guard
    ws_hint_store(&pool->tasks.light, 0);
}

/// Plan where the pool runs, map its memory, and start it. @return 0 or -ENOMEM
static int set_up_pool(struct ws_pool_s *pool)
{
  int32_t *cpu = malloc((pool->requested + 1) * sizeof(int32_t));
  if (!cpu)
    return -ENOMEM;
  const int error = ws_os_process_cpus(&pool->mask);
  if (error) { // a pool can do without, and pins no worker to a place in the mask
    ws_warn(&pool->settings,
            "the process's CPUs cannot be read (sched_getaffinity: %s): the pool counts all %u"
            " online CPUs, and pin_step has no effect",
            strerror(error), ws_os_cpuset_count(&pool->mask));
    pool->settings.pin_step = 0;
  }
  ws_near_plan(pool);
  ws_topo_plan(&pool->settings, &pool->mask, cpu);
  ws_classes_plan(pool, cpu);
  const int result = allocate(pool);
  if (result == 0)
    start(pool, cpu);
  free(cpu);
  return result;
}

static int create(ws_pool_t **out, const ws_settings_t *settings)
{
  ws_process_watch_forks();
  ws_settings_t checked;
  if (ws_settings_take(&checked, settings) < 0)
    return -EINVAL;
  ws_provider_find();
  struct ws_pool_s *pool = aligned_alloc(WS_SPACING, sizeof(*pool));
  if (!pool)
    return -ENOMEM;
  memset(pool, 0, sizeof(*pool));
  pool->settings = checked;
  pool->requested = checked.workers;
  pool->skips = &ws_skips;
  pool->id = ws_add_relaxed(&ws_process.pool_ids, 1) + 1; // relaxed: only has to be unique
  ws_flight_begin(pool);
  if (WS_PROBE_SEEN() && (ws_provider_takes_all() || ws_hint_load(&pool->ledger)))
    ws_init_store(&pool->runs, WS_RUNS_NOTED);
  ws_relax_init();
  ws_pool_set_spin(pool, checked.spin, checked.spin_lead_ns);
  ws_pool_set_spin_cpu_max(pool, checked.spin_cpu_max_percent);
  ws_os_lock_init(&pool->lane_lock);
  const int result = set_up_pool(pool);
  if (result < 0) {
    free_pool(pool);
    return result;
  }
  WS_PROBE(pool_start, pool, ws_traced_pool(pool), checked.name, pool->workers, pool->cpus,
           pool->worker_cpus);
  pool->settings.name = NULL; // the user may free it from now on
  pool->settings.cores = NULL;
  ws_process_add(pool);
  ws_add_release(&pool->started, WS_STARTED_ALL); // [edge START release] the whole pool
  ws_os_futex_wake(&pool->started, WS_SLEEPERS_ALL);
  ws_guard_await(pool);
  *out = pool;
  return 0;
}

int ws_pool_create(ws_pool_t **out, const ws_settings_t *settings)
{
  if (out)
    *out = NULL;
  if (!out || !settings)
    return -EINVAL;
  const int cancel = ws_cancel_disable(); // locks of the process would stay taken
  const int result = create(out, settings);
  ws_cancel_restore(cancel);
  return result;
}

/// How often an end looks whether a push is over.
#define PUSH_LOOK_NS 100000u

/// The push of a task that has run may still read the pool. A thread that has ended in a push does not.
static void wait_for_pushes(struct ws_pool_s *pool)
{
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (uint32_t i = pool->workers; i < queues; i++) {
    ws_queue_t *lane = pool->tasks.queue[i];
    const uint64_t owner = ws_load_relaxed(&lane->owner); // relaxed: it keeps the lane in a push
    // [edge PUSH_END acquire] the reads of the pool
    while (ws_load_acquire(&lane->in_push) && owner != 0 && ws_os_thread_exists(ws_tid_of(owner)))
      ws_os_futex_wait_until(&pool->end.destroyed, 1, ws_os_now_ns() + PUSH_LOOK_NS);
  }
}

/// Stop the pool, if that was not done, and free it, unless its memory stays. @threads  no task of the pool
static void end(struct ws_pool_s *pool)
{
  if (ws_load_relaxed(&pool->state) != WS_STOPPED) // relaxed: one caller
    WS_REQUIRE(ws_pool_stop(pool, WS_STOP_DRAIN) >= 0, "ws_pool_destroy",
               "a ws_pool_stop() of the pool is not over yet. Destroy the pool when it has returned");
  if (pool->end.stays)
    return;
  wait_for_pushes(pool);
  ws_group_sleep(&pool->end.holds, 0); // also a push that a stop of before has refused
  ws_process_remove(pool);
  free_pool(pool);
}

/// The thread of end_later(): stop the pool, which waits for the task, and free it.
static void *end_thread(void *pool_arg)
{
  struct ws_pool_s *pool = pool_arg;
  pthread_detach(pthread_self());
  pthread_setname_np(pthread_self(), "ws_end");
  ws_affinity_beside_workers(pool);
  // If another thread stops the pool by now, this one leaves the pool to it: the task has called exit(), and
  // a destructor stops the pool. The process ends.
  // relaxed: one caller
  if (ws_load_relaxed(&pool->state) == WS_STOPPED || ws_pool_stop(pool, WS_STOP_DRAIN) >= 0)
    end(pool);
  return NULL;
}

/// The pool is destroyed inside one of its tasks. A thread of its own waits for the task, and frees the pool.
/// If a thread that is no worker runs the task, the memory stays (end.stays): that thread may still be in the
/// wait or the push that runs the task.
static void end_later(struct ws_pool_s *pool)
{
  const ws_worker_t *worker = ws_self()->worker;
  pool->end.stays = !worker || worker->pool != pool;
  pthread_t thread;
  const size_t stack_bytes = pool->settings.stack_bytes;
  const int error = ws_os_thread_create(&thread, stack_bytes, WS_PATIENCE_NS, end_thread, pool);
  if (error)
    ws_warn(&pool->settings,
            "cannot create the thread that ends a pool which one of its tasks destroys: %s. The pool and its "
            "threads stay",
            ws_os_refusal(error));
}

void ws_pool_destroy(ws_pool_t *pool)
{
  ws_not_observing("ws_pool_destroy");
  if (!pool || ws_is_lost(pool)) // its memory may be as a thread of the parent was changing it
    return;
  const ws_here_t here = ws_here(pool);
  const bool is_inside = here.worker || ws_is_inside(pool, here);
  const bool is_running = ws_load_relaxed(&pool->state) == WS_RUNNING; // relaxed: one caller, or a stop
  const bool is_second = ws_load_relaxed(&pool->end.destroyed) != 0; // relaxed: misuse, which may go unseen
  if (is_inside && !is_running && !is_second)
    return; // the thread that stops the pool destroys it
  WS_REQUIRE(!is_second, "ws_pool_destroy", "called a second time for the pool");
  ws_store_relaxed(&pool->end.destroyed, 1); // relaxed: one caller
  const int cancel = ws_cancel_disable(); // locks of the process would stay taken
  if (is_inside)
    end_later(pool);
  else
    end(pool);
  ws_cancel_restore(cancel);
}
