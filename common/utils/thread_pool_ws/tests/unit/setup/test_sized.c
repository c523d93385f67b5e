// SPDX-License-Identifier: BSD-3-Clause
/// @file test_sized.c
/// Callers whose structures are shorter or longer than the library's, as those of other versions are.
#include <errno.h>
#include <string.h>

#include "../../support/ws_test.h"

#define MORE 24u ///< bytes that a newer version has
#define MARK 0x5a

typedef struct {
  ws_settings_t settings;
  char more[MORE];
} newer_settings_t;

static void settings_of_a_newer_caller(void)
{
  newer_settings_t newer;
  memset(&newer, MARK, sizeof(newer));
  ws_settings_init(&newer.settings, sizeof(newer));
  CU_ASSERT_EQUAL(newer.settings.size, sizeof(newer));
  for (uint32_t i = 0; i < MORE; i++)
    CU_ASSERT_EQUAL(newer.more[i], 0);
  newer.settings.workers = 1;
  newer.settings.warn = test_settings(1).warn;
  ws_pool_t *pool = NULL;
  CU_ASSERT_EQUAL(ws_pool_create(&pool, &newer.settings), 0);
  ws_pool_destroy(pool);
  newer.more[MORE - 1] = 1; // a setting that this library does not know
  CU_ASSERT_EQUAL(ws_pool_create(&pool, &newer.settings), -EINVAL);
  CU_ASSERT_EQUAL(test_warnings_with("this version of the library does not have"), 1);
}

static void settings_that_were_not_set_up(void)
{
  ws_settings_t none;
  memset(&none, 0, sizeof(none)); // prints a line on stderr: warn may not be set either
  ws_pool_t *pool = NULL;
  CU_ASSERT_EQUAL(ws_pool_create(&pool, &none), -EINVAL);
  CU_ASSERT_PTR_NULL(pool);
}

typedef struct {
  ws_stats_t stats;
  char more[MORE];
} newer_stats_t;

typedef struct {
  ws_worker_stats_t stats;
  char more[MORE];
} newer_worker_t;

/// Of a caller whose statistics have @p bytes, and whose rows of workers are newer than the library.
static void take_stats(const ws_pool_t *pool, size_t bytes)
{
  newer_stats_t total;
  newer_worker_t worker[2];
  memset(&total, MARK, sizeof(total));
  memset(&worker, MARK, sizeof(worker));
  const ws_stats_out_t out = {&total.stats, bytes, &worker[0].stats, sizeof(worker[0]), 2};
  CU_ASSERT_EQUAL(ws_pool_stats_sized(pool, &out), 2);
  ws_stats_t own;
  ws_worker_stats_t own_worker[2];
  CU_ASSERT_EQUAL(ws_pool_stats(pool, &own, own_worker, 2), 2);
  CU_ASSERT_EQUAL(total.stats.workers, own.workers);
  CU_ASSERT_EQUAL(total.stats.lanes_used, own.lanes_used);
  for (size_t i = sizeof(ws_stats_t) - 8; i < sizeof(total); i++) // the caller's own memory, or no counter
    CU_ASSERT_TRUE(((const char *)&total)[i] == (i < bytes ? 0 : MARK) || (i < bytes && i < sizeof(own)));
  for (uint32_t i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(worker[i].stats.run_tasks, own_worker[i].run_tasks);
    CU_ASSERT_EQUAL(worker[i].stats.cpu, own_worker[i].cpu);
    CU_ASSERT_EQUAL(worker[i].more[0], 0);
    CU_ASSERT_EQUAL(worker[i].more[MORE - 1], 0);
  }
}

static void statistics_of_other_sizes(void)
{
  struct {
    ws_prewake_stats_t stats;
    char more[MORE];
  } prewake;
  ws_pool_t *pool = test_pool(2);
  for (uint32_t i = 0; i < 10; i++)
    test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  for (int32_t more = -8; more <= (int32_t)MORE; more += 8)
    take_stats(pool, (size_t)((int32_t)sizeof(ws_stats_t) + more));
  memset(&prewake, MARK, sizeof(prewake));
  ws_pool_prewake_stats_sized(pool, &prewake.stats, sizeof(uint64_t));
  CU_ASSERT_NOT_EQUAL(prewake.stats.expected_bursts, 0); // untouched
  ws_pool_prewake_stats_sized(pool, &prewake.stats, sizeof(prewake));
  CU_ASSERT_EQUAL(prewake.stats.expected_bursts, 0);
  CU_ASSERT_EQUAL(prewake.more[MORE - 1], 0);
  test_destroy(pool);
  CU_ASSERT_EQUAL(ws_version(), WS_VERSION_NUMBER);
}

TEST_MAIN("sized", TEST_CASE(settings_of_a_newer_caller), TEST_CASE(settings_that_were_not_set_up),
          TEST_CASE(statistics_of_other_sizes))
