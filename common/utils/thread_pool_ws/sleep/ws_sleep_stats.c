// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sleep_stats.c
/// ws_sleep_stats.h.
#include "ws_sleep_stats.h"

void ws_sleep_add_stats(const struct ws_pool_s *pool, ws_stats_t *stats)
{
  const ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  const uint32_t queues = ws_queue_count(&pool->tasks);
  stats->guard_looks = ws_stat_load(&shared->count.guard_looks);
  stats->spared_wakes = ws_stat_load(&shared->count.spared_wakes);
  stats->outside.wakes_sent += ws_stat_load(&shared->count.laneless_wakes);
  stats->starved_searches = ws_stat_load(&shared->count.starved_searches);
  for (uint32_t why = 0; why < WS_DECISIONS; why++) {
    stats->decided[why] = ws_stat_load(&shared->count.decided[why]);
    for (uint32_t i = 0; i < queues; i++)
      stats->decided[why] += ws_stat_load(&pool->tasks.queue[i]->count.decided[why]);
  }
}

/// The worker may change its state meanwhile: then the present state's time is about right.
void ws_sleep_add_states(const ws_worker_t *worker, bool running, ws_worker_stats_t *stats)
{
  const ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  const uint32_t state = ws_stat_load(&sleep->spent.state);
  const uint64_t since_ns = ws_stat_load(&sleep->spent.since_ns);
  for (uint32_t i = 0; i < WS_WORKER_STATES; i++)
    stats->state_ns[i] = ws_stat_load(&sleep->spent.ns[i]);
  if (!running || since_ns == 0)
    return;
  const uint64_t now_ns = ws_os_now_ns();
  stats->state = (ws_worker_state_t)state;
  stats->state_ns[state] += (int64_t)(now_ns - since_ns) > 0 ? now_ns - since_ns : 0;
}
