// SPDX-License-Identifier: BSD-3-Clause
/// @file test_search.c
/// The guard may take workers that search for starved though they have a CPU: they run on, find tasks, park,
/// and are woken. To the guard the CPU time of every worker stands still.
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

static uint64_t ws_os_thread_cpu_ns_seam(int32_t tid)
{
  (void)tid;
  return 1;
}

typedef struct {
  ws_au64_t count;
  uint64_t wanted;
} counted_t;

static bool is_counted(void *counted_arg)
{
  const counted_t *counted = counted_arg;
  return test_value(&counted->count) == counted->wanted;
}

static void a_wrong_suspicion_costs_no_task(void)
{
  for (uint32_t spin = WS_SPIN_OFF; spin <= WS_SPIN_AUTO; spin++) {
    ws_settings_t settings = test_settings(3);
    settings.spin = (ws_spin_t)spin;
    ws_pool_t *pool = test_create(&settings);
    counted_t counted = {{0}, 0};
    for (uint32_t round = 0; round < 300; round++) {
      for (uint32_t i = 0; i <= round % 7; i++, counted.wanted++)
        test_push(pool, test_count_task, &counted.count, NULL);
      if (round % 3 == 0)
        CU_ASSERT_TRUE_FATAL(test_until(is_counted, &counted));
    }
    CU_ASSERT_TRUE(test_until(is_counted, &counted));
    CU_ASSERT_TRUE(test_until_quiet(pool));
    test_destroy(pool);
  }
}

static void test_seams(void)
{
  seam.ws_os_thread_cpu_ns = ws_os_thread_cpu_ns_seam;
}

TEST_MAIN_SEAMS(test_seams, "search", TEST_CASE(a_wrong_suspicion_costs_no_task))
