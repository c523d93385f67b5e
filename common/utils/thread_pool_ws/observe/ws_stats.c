// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stats.c
/// The snapshot of ws_stats.h.
#include "../include/ws_stats.h"

#include "../base/ws_base.h"
#include "../sleep/ws_cap.h"
#include "../sleep/ws_sleep_stats.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"

/// Add the counters of a thread; of high_water_tasks keep the largest.
static void add_counters(ws_worker_stats_t *stats, const ws_queue_t *queue)
{
  const ws_counters_t *count = &queue->count;
  const uint64_t inlined = ws_stat_load(&count->inlined), run = ws_stat_load(&count->run);
  stats->run_tasks += run > inlined ? run - inlined : 0;
  stats->inline_tasks += inlined;
  stats->stolen_tasks += ws_stat_load(&count->stolen);
  stats->parks += ws_stat_load(&count->parks);
  stats->wakes_sent += ws_stat_load(&count->wakes_sent);
  stats->spins += ws_stat_load(&count->spins);
  stats->spin_ns += ws_stat_load(&count->spin_ns);
  stats->growths += ws_stat_load(&count->growths);
  stats->placements += ws_stat_load(&count->placements);
  stats->futile_wakes += ws_stat_load(&count->futile);
  stats->stopped_callers += ws_stat_load(&count->stopped_callers);
  const uint64_t high_water = ws_stat_load(&queue->deque.high_water);
  stats->high_water_tasks = high_water > stats->high_water_tasks ? high_water : stats->high_water_tasks;
}

/// Fill in the memory of grown queues, the number of lanes, and the counters of their threads.
static void add_queues(const struct ws_pool_s *pool, ws_stats_t *total)
{
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (ws_kind_t kind = 0; kind < pool->tasks.kinds; kind++)
    total->queue_bytes += ws_shared_grown_bytes(&pool->tasks, kind);
  for (uint32_t i = 0; i < queues; i++) {
    const ws_queue_t *queue = pool->tasks.queue[i];
    total->queue_bytes += ws_stat_load(&queue->deque.grown_bytes);
    if (i >= pool->workers) {
      add_counters(&total->outside, queue);
      total->lanes_used++;
    }
  }
}

/// The class of a worker that is behind is not known yet.
static bool is_realtime(const ws_worker_t *worker)
{
  // [edge START acquire]
  return ws_load_acquire(&worker->start.state) == WS_START_DONE && worker->realtime;
}

/// @param running  false = the pool has stopped, or is lost by a fork: no worker is active or awake
static ws_stats_t of_pool(const struct ws_pool_s *pool, bool running)
{
  const uint32_t working = ws_working(pool), searching = ws_searching(pool);
  ws_stats_t total = {
      .workers = ws_hint_load(&pool->obtained),
      .workers_requested = pool->requested,
      .workers_pinned = pool->pinned,
      .workers_active = running && working > searching ? working - searching : 0,
      .workers_awake = running ? ws_awake(pool) + ws_hint_load(&pool->obtained) - pool->workers : 0,
      .cpus = pool->cpus,
      .queued_tasks = ws_queued(&pool->tasks),
      .cancelled_tasks = ws_stat_load(&pool->cancelled),
      .skipped_tasks = ws_stat_load(&pool->count.skipped),
      .outside = {.cpu = -1},
  };
  for (uint32_t i = 0; i < pool->workers; i++)
    total.workers_realtime += is_realtime(pool->worker[i]);
  add_queues(pool, &total);
  ws_sleep_add_stats(pool, &total);
  const uint64_t inlined = ws_stat_load(&pool->count.laneless_inline);
  const uint64_t run = ws_stat_load(&pool->count.laneless_run);
  total.outside.inline_tasks += inlined;
  total.outside.run_tasks += run > inlined ? run - inlined : 0;
  return total;
}

uint32_t ws_pool_stats_sized(const struct ws_pool_s *pool, const ws_stats_out_t *out)
{
  if (!pool || !out || !out->total)
    return 0;
  const bool running = ws_stat_load(&pool->state) < WS_STOPPED;
  const ws_stats_t total = of_pool(pool, running);
  ws_sized_put(out->total, out->total_bytes, &total, sizeof(total));
  const uint32_t wanted = out->worker ? out->worker_max : 0;
  const uint32_t obtained = ws_hint_load(&pool->obtained), filled = wanted < obtained ? wanted : obtained;
  for (uint32_t i = 0; i < filled; i++) {
    const ws_worker_t *worker = pool->worker[i];
    ws_worker_stats_t own = {.cpu = worker->cpu, .realtime = is_realtime(worker)};
    add_counters(&own, &worker->queue);
    ws_sleep_add_states(worker, running, &own);
    ws_sized_put((char *)out->worker + i * out->worker_bytes, out->worker_bytes, &own, sizeof(own));
  }
  return filled;
}

const char *ws_late_name(ws_late_t cause)
{
  return (uint32_t)cause < WS_LATE_CAUSES ? "not counted" : NULL;
}
