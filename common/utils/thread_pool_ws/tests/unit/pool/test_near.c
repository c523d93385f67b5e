// SPDX-License-Identifier: BSD-3-Clause
/// @file test_near.c
/// Which workers are near the thread that pushed last, and how many of a pool set a timer. Linked with
/// --wrap: eight CPUs, and caches as the test says.
#include "../../../pool/ws_near.h"

#include "../../../prewake/ws_prewake.h"
#include "../../../sleep/ws_sleep_state.h"
#include "../../support/ws_made_up.h"
#include "../../support/ws_seam.h"

#define CPUS 8u
#define WORKERS 6u

static uint32_t cpus_a_cache; ///< 0 = the system does not say
static uint32_t known = CPUS; ///< CPUs of which it says
static int32_t level; ///< of the last-level cache
static uint64_t now_ns;

static bool ws_os_read_seam(const char *path, char *text, size_t bytes)
{
  unsigned cpu;
  int index;
  if (cpus_a_cache == 0
      || sscanf(path, "/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", &cpu, &index) != 2
      || index != level || cpu >= known)
    return false;
  const unsigned first = cpu / cpus_a_cache * cpus_a_cache;
  snprintf(text, bytes, "%u-%u\n", first, first + cpus_a_cache - 1);
  return true;
}

static bool ws_os_cpuset_has_seam(const ws_cpuset_t *set, uint32_t cpu)
{
  return cpu < CPUS;
}

static uint64_t ws_os_now_ns_seam(void)
{
  return now_ns;
}

/// Worker i sleeps on CPU i; the producer runs on CPU 6.
static void begin(uint32_t share, int32_t index)
{
  make_up_pool(WORKERS);
  cpus_a_cache = share;
  level = index;
  now_ns = 1000000;
  pool.tasks.mask_words = 1;
  pool.cpus = pool.worker_cpus = CPUS;
  ws_store_relaxed(&pool.near.producer, 1 + 6);
  ws_near_plan(&pool);
  for (uint32_t i = 0; i < WORKERS; i++)
    ws_store_relaxed(&workers[i].seen_cpu, 1 + i);
}

static uint32_t near_mask(void)
{
  uint32_t mask = 0;
  for (uint32_t i = 0; i < WORKERS; i++)
    mask |= (uint32_t)ws_near_is(&pool, &workers[i]) << i;
  return mask;
}

TEST_CASE(near_are_those_of_the_same_cache)
{
  static const struct {
    uint32_t cpus_a_cache;
    int32_t level;
    bool pushed; ///< by the producer
    uint32_t caches, near, known;
  } rows[] = {{4, 3, true, 2, 0x30, CPUS}, // on CPUs 4 and 5
              {2, 2, true, 4, 0, CPUS}, // no third level
              {0, 3, true, 0, 0x3f, CPUS}, // all are near where it is not known
              {4, 3, true, 0, 0x3f, CPUS - 1}, // nor of the last CPU only
              {8, 3, true, 1, 0x3f, CPUS},     {4, 3, false, 2, 0x3f, CPUS}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    known = rows[i].known;
    begin(rows[i].cpus_a_cache, rows[i].level);
    if (!rows[i].pushed)
      ws_store_relaxed(&pool.near.producer, 0);
    CU_ASSERT_EQUAL(pool.near.caches, rows[i].caches);
    CU_ASSERT_TRUE(pool.near.cache_of_cpu[5] == 0 || pool.near.caches > 0); // read as it is: ws_wide_domain()
    CU_ASSERT_EQUAL(near_mask(), rows[i].near);
  }
}

/// A burst is announced; at most @p most workers may be awake. @return how many set a timer
static uint32_t planned(uint32_t most)
{
  ws_store_relaxed(&ws_sleep_pool(&pool)->cap, WORKERS);
  pool.cpus = most;
  ws_prewake_expect(&pool, now_ns + 1000000);
  ws_store_relaxed(&ws_sleep_pool(&pool)->spin_cpus, CPUS);
  pool.settings.spin_price = 9;
  ws_store_relaxed(&ws_sleep_pool(&pool)->spin_percent, 100);
  uint32_t timers = 0;
  for (uint32_t i = 0; i < WORKERS; i++)
    timers += ws_prewake_plan(&workers[i], now_ns) != 0;
  return timers;
}

TEST_CASE(as_many_timers_as_workers_may_be_awake)
{
  begin(4, 3);
  CU_ASSERT_EQUAL(planned(2), 2);
  CU_ASSERT_EQUAL(ws_prewake_armed(&pool), 2);
  for (uint32_t i = 0; i < WORKERS; i++)
    ws_prewake_disarm(&workers[i]);
  CU_ASSERT_EQUAL(ws_prewake_armed(&pool), 0);
  CU_ASSERT_EQUAL(planned(3), 3);
}

TEST_CASE(the_producer_is_on_no_cpu_that_is_not_known)
{
  begin(4, 3);
  CU_ASSERT_TRUE(ws_producer_on_cpu(&pool, 6));
  CU_ASSERT_FALSE(ws_producer_on_cpu(&pool, -1));
  ws_store_relaxed(&pool.near.producer, 0); // nor is the producer's
  CU_ASSERT_FALSE(ws_producer_on_cpu(&pool, -1));
}

TEST_MAIN_SEAMS("near", SEAM(ws_os_read), SEAM(ws_os_cpuset_has), SEAM(ws_os_now_ns))
