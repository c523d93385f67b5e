// SPDX-License-Identifier: BSD-3-Clause
/// @file test_pool.c
/// Settings and their bounds, CPUs that cannot be had, structures of other sizes.

#include "../../../sleep/ws_sleep_state.h"
#include "setup_scene.h"

static void refuse(const char *field, const ws_settings_t *settings)
{
  ws_pool_t *pool = (void *)&pool; // must be set to NULL
  CU_ASSERT_EQUAL(ws_pool_create(&pool, settings), -EINVAL);
  CU_ASSERT_PTR_NULL(pool);
  CU_ASSERT_EQUAL(test_warnings.count, 1);
  CU_ASSERT_EQUAL(test_warnings_with(field), 1);
  memset(&test_warnings, 0, sizeof(test_warnings));
}

#define REFUSE(field, bad)                                                                                   \
  do {                                                                                                       \
    ws_settings_t settings = test_settings(1);                                                               \
    settings.field = bad;                                                                                    \
    refuse(#field, &settings);                                                                               \
  } while (0)

TEST_CASE(values_out_of_range_are_named)
{
  REFUSE(workers, WS_WORKERS_MAX + 1);
  REFUSE(workers, UINT32_MAX);
  REFUSE(queue_capacity, 0);
  REFUSE(queue_capacity, 1);
  REFUSE(queue_capacity, (1u << 20) + 1);
  REFUSE(lanes, WS_LANES_MAX + 1);
  REFUSE(full, (ws_full_t)(WS_FULL_FAIL + 1));
  REFUSE(full, (ws_full_t)-1);
  REFUSE(spin, (ws_spin_t)(WS_SPIN_HOT + 1));
  REFUSE(sched_class, (ws_class_t)(WS_CLASS_FIFO + 1));
  REFUSE(core_count, 1); // without cores
  for (uint32_t i = 0; i < 2; i++) {
    ws_settings_t settings = test_settings(1);
    settings.sched_class = i ? WS_CLASS_RR : WS_CLASS_FIFO;
    settings.sched_priority = i ? 0 : 100;
    refuse("sched_priority", &settings);
  }
}

/// A pool of these settings runs what it is given.
static ws_stats_t try_pool(const ws_settings_t *settings)
{
  ws_pool_t *pool = test_create(settings);
  CU_ASSERT_TRUE(runs_hundred(pool));
  const ws_stats_t stats = test_stats(pool);
  test_destroy(pool);
  return stats;
}

/// And a priority is ignored where it means nothing.
TEST_CASE(bounds_are_allowed)
{
  static const struct {
    uint32_t queue_capacity, lanes; ///< a capacity is rounded up
    ws_class_t sched_class;
  } rows[] = {{2, 0, WS_CLASS_INHERIT}, {3, WS_LANES_MAX, WS_CLASS_OTHER}, {1u << 20, 1, WS_CLASS_INHERIT}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    ws_settings_t settings = test_settings(1);
    settings.queue_capacity = rows[i].queue_capacity;
    settings.lanes = rows[i].lanes;
    settings.sched_class = rows[i].sched_class;
    settings.sched_priority = 1000;
    settings.name = NULL;
    try_pool(&settings);
  }
  for (uint32_t spin = WS_SPIN_OFF; spin <= WS_SPIN_HOT; spin++) {
    ws_settings_t settings = test_settings(2);
    settings.spin = (ws_spin_t)spin;
    settings.spin_ns_max = spin ? 0 : WS_SPIN_NS_MAX;
    settings.join_spin_ns_max = 0;
    try_pool(&settings);
  }
  CU_ASSERT_EQUAL(test_warnings.count, 0);
  ws_pool_destroy(NULL);
}

TEST_CASE(defaults_are_those_of_the_header)
{
  ws_settings_t settings;
  memset(&settings, 0xa5, sizeof(settings));
  ws_settings_default(&settings);
  CU_ASSERT_STRING_EQUAL(settings.name, "ws");
  CU_ASSERT_EQUAL(settings.workers, test_cpus());
  CU_ASSERT_PTR_NULL(settings.cores);
  CU_ASSERT_EQUAL(settings.core_count, 0);
  CU_ASSERT_EQUAL(settings.pin_step, 0);
  CU_ASSERT_EQUAL(settings.sched_class, WS_CLASS_INHERIT);
  CU_ASSERT_EQUAL(settings.queue_capacity, 1024);
  CU_ASSERT_EQUAL(settings.lanes, 32);
  CU_ASSERT_EQUAL(settings.full, WS_FULL_GROW);
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_AUTO);
}

TEST_CASE(a_wrong_mode_changes_nothing)
{
  ws_settings_t settings = test_settings(2);
  settings.spin = WS_SPIN_FIXED;
  settings.spin_lead_ns = 12345;
  settings.spin_cpu_max_percent = 17;
  ws_pool_t *pool = test_create(&settings);
  const int wrong[] = {ws_pool_set_spin(pool, (ws_spin_t)(WS_SPIN_HOT + 1), 0),
                       ws_pool_set_spin(pool, (ws_spin_t)-1, 0),
                       ws_pool_set_spin(pool, WS_SPIN_FIXED, WS_SPIN_LEAD_NS_MAX + 1),
                       ws_pool_set_spin(pool, WS_SPIN_AUTO, UINT64_MAX),
                       ws_pool_set_spin_cpu_max(pool, 101),
                       ws_pool_set_spin_cpu_max(pool, UINT32_MAX)};
  for (uint32_t i = 0; i < TEST_COUNT(wrong); i++)
    CU_ASSERT_EQUAL(wrong[i], -EINVAL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool)->spin), WS_SPIN_FIXED);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool)->spin_lead_ns), 12345);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool)->spin_percent), 17);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_FIXED, WS_SPIN_LEAD_NS_MAX), 0);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_OFF, 0), 0);
  CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(pool, 100), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool)->spin), WS_SPIN_OFF);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool)->spin_percent), 100);
  test_destroy(pool);
}

/// With and without a list of cores.
TEST_CASE(pinned_workers)
{
  static const int32_t wrong[5] = {100000, 0, 0, -1, -7};
  static const struct {
    uint32_t workers, pin_step, core_count, pinned;
    const int32_t *cores;
    const char *warnings[3];
  } rows[] = {{5,
               0,
               5,
               2,
               wrong,
               {"worker 0 cannot run on CPU 100000", "cores[2] = 0 is also cores[1]", "cores[4] = -7"}},
              {3, 0, 1, 1, &wrong[1], {NULL}}, // the others float
              {0, 0, 1, 0, &wrong[1], {NULL}},
              {3, 0, 0, 0, NULL, {NULL}},
              {3, 1, 0, 3, NULL, {NULL}}};
  const uint32_t cpus = test_use_cpus(1);
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    uint32_t warnings = 0;
    ws_settings_t settings = test_settings(rows[i].workers);
    settings.pin_step = rows[i].pin_step;
    settings.cores = rows[i].cores;
    settings.core_count = rows[i].core_count;
    const ws_stats_t stats = try_pool(&settings);
    for (; warnings < 3 && rows[i].warnings[warnings]; warnings++)
      CU_ASSERT_EQUAL(test_warnings_with(rows[i].warnings[warnings]), 1);
    CU_ASSERT_EQUAL(test_warnings.count, warnings);
    CU_ASSERT_EQUAL(stats.workers, rows[i].workers);
    CU_ASSERT_EQUAL(stats.workers_pinned, rows[i].pinned);
    CU_ASSERT_EQUAL(stats.cpus, cpus);
  }
  test_use_cpus(0);
}

// Callers whose structures are shorter or longer than the library's, as those of other versions are.

#define MORE 24u ///< bytes that a newer version has
#define MARK 0x5a

typedef struct {
  ws_settings_t settings;
  char more[MORE];
} newer_settings_t;

TEST_CASE(settings_of_a_newer_caller)
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

TEST_CASE(settings_that_were_not_set_up)
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
  ws_worker_stats_t own_worker[3];
  own_worker[1].run_tasks = UINT64_MAX;
  CU_ASSERT_EQUAL(ws_pool_stats(pool, &own, own_worker, 1), 1);
  CU_ASSERT_EQUAL(own_worker[1].run_tasks, UINT64_MAX);
  CU_ASSERT_EQUAL(ws_pool_stats(pool, &own, own_worker, 3), 2);
  CU_ASSERT_EQUAL(total.stats.workers, own.workers);
  CU_ASSERT_EQUAL(total.stats.lanes_used, own.lanes_used);
  CU_ASSERT_EQUAL(own.outside.cpu, -1);
  for (size_t i = sizeof(ws_stats_t) - 8; i < sizeof(total); i++) // the caller's own memory, or no counter
    CU_ASSERT_TRUE(((const char *)&total)[i] == (i < bytes ? 0 : MARK) || (i < bytes && i < sizeof(own)));
  for (uint32_t i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(worker[i].stats.run_tasks, own_worker[i].run_tasks);
    CU_ASSERT_EQUAL(worker[i].stats.cpu, own_worker[i].cpu);
    CU_ASSERT_EQUAL(worker[i].more[0], 0);
    CU_ASSERT_EQUAL(worker[i].more[MORE - 1], 0);
  }
}

TEST_CASE(statistics_of_other_sizes)
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

/// A program of version 0.1 that prints causes of late starts finds none.
TEST_CASE(causes_of_late_starts_of_version_0_1)
{
  ws_prewake_stats_t stats;
  memset(&stats, MARK, sizeof(stats));
  ws_pool_t *pool = test_pool(1);
  ws_pool_prewake_stats(pool, &stats);
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++)
    CU_ASSERT_TRUE(stats.late_by[i] == 0 && ws_late_name((ws_late_t)i));
  CU_ASSERT_PTR_NULL(ws_late_name(WS_LATE_CAUSES));
  test_destroy(pool);
}

TEST_MAIN("pool")
