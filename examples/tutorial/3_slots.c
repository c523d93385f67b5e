// SPDX-License-Identifier: BSD-3-Clause
/// @file 3_slots.c
/// docs/tutorial.md, steps 3 and 5: a burst each millisecond, for which workers wake in time; statistics.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "work.h"
#include "ws_pool.h"

#define TASKS 12u
#define PERIOD_NS 1000000u

static void decode(void *unused)
{
  (void)unused;
  work_us(20);
}

/// @return how long the burst took, in ns
static uint64_t run_slot(ws_pool_t *pool)
{
  ws_group_t group;
  ws_group_init(&group, TASKS);
  const uint64_t begin_ns = now_ns();
  for (uint32_t i = 0; i < TASKS; i++)
    if (ws_pool_push(pool, (ws_task_t){.func = decode, .group = &group}) < 0)
      ws_group_complete(&group, 1);
  ws_group_wait(&group, pool);
  return now_ns() - begin_ns;
}

static void print_statistics(const ws_pool_t *pool)
{
  ws_stats_t total;
  ws_worker_stats_t worker[64];
  ws_prewake_stats_t prewake;
  const uint32_t workers = ws_pool_stats(pool, &total, worker, 64);
  ws_pool_prewake_stats(pool, &prewake);
  uint64_t by_workers = 0;
  for (uint32_t i = 0; i < workers; i++)
    by_workers += worker[i].run_tasks;
  printf("tasks run by workers %" PRIu64 ", by this thread %" PRIu64 "\n", by_workers,
         total.outside.run_tasks);
  printf("bursts %" PRIu64 ", expected %" PRIu64 ", period %.3f ms\n", prewake.bursts,
         prewake.expected_bursts, (double)prewake.period_ns / 1e6);
  printf("timer wakes: in time %" PRIu64 ", late %" PRIu64 ", for nothing %" PRIu64 "\n", prewake.hits,
         prewake.lates, prewake.misses);
}

int main(int argc, char **argv)
{
  const uint32_t slots = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.name = "slot-"; // the workers' names in top and gdb
  ws_settings_environment(&settings); // TPOOL_WS_SPIN=off, TPOOL_WS_REPORT=1 ...
  ws_pool_t *pool;
  if (ws_pool_create(&pool, &settings) < 0)
    return 1;
  uint64_t sum_ns = 0, max_ns = 0, at_ns = now_ns();
  for (uint32_t i = 0; i < slots; i++) {
    at_ns += PERIOD_NS;
    sleep_until(at_ns);
    const uint64_t slot_ns = run_slot(pool);
    sum_ns += slot_ns;
    max_ns = slot_ns > max_ns ? slot_ns : max_ns;
  }
  printf("%u slots: mean %.1f us, longest %.1f us\n", slots, slots ? (double)sum_ns / slots / 1e3 : 0,
         (double)max_ns / 1e3);
  print_statistics(pool);
  ws_pool_destroy(pool);
  return 0;
}
