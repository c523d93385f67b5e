// SPDX-License-Identifier: BSD-3-Clause
/// @file test_stats.c
/// The counters add up, and a snapshot may be taken at any time. How much room it takes: setup/test_pool.c.
/// What runs and waits: scenes/queues.c. After the stop: scenes/stop.c.

#include "../../support/ws_test.h"

typedef struct {
  ws_pool_t *pool;
  ws_au32_t over;
  ws_au32_t fell;
} reader_t;

/// Counters only grow, for every reader at every moment.
static void *read_on(void *reader_arg)
{
  reader_t *reader = reader_arg;
  ws_worker_stats_t last[4] = {0}, now[4];
  while (!ws_load_acquire(&reader->over)) {
    ws_stats_t total;
    const uint32_t filled = ws_pool_stats(reader->pool, &total, now, 4);
    for (uint32_t i = 0; i < filled; i++)
      if (now[i].run_tasks < last[i].run_tasks || now[i].stolen_tasks < last[i].stolen_tasks
          || now[i].parks < last[i].parks || now[i].wakes_sent < last[i].wakes_sent)
        ws_add_relaxed(&reader->fell, 1);
    memcpy(last, now, sizeof(last));
  }
  return NULL;
}

TEST_CASE(counters_add_up)
{
  reader_t reader = {.pool = test_pool(3)};
  ws_au64_t count = {0};
  test_threads_t threads = {0};
  test_spawn(&threads, read_on, &reader);
  for (uint32_t round = 0; round < 200; round++) {
    test_burst(reader.pool, 50, test_count_task, &count);
  }
  CU_ASSERT_EQUAL(ws_pool_wait(reader.pool), 0);
  ws_store_release(&reader.over, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&reader.fell), 0);
  CU_ASSERT_EQUAL(test_value(&count), 10000);
  CU_ASSERT_EQUAL(TEST_SUM(reader.pool, run_tasks), 10000);
  CU_ASSERT_TRUE(TEST_SUM(reader.pool, stolen_tasks) <= 10000);
  const ws_stats_t stats = test_stats(reader.pool);
  CU_ASSERT_EQUAL(stats.workers_requested, 3);
  CU_ASSERT_TRUE(stats.outside.high_water_tasks <= 50 && stats.outside.high_water_tasks > 0);
  CU_ASSERT_EQUAL(stats.outside.cpu, -1);
  test_destroy(reader.pool);
}

TEST_MAIN("stats")
