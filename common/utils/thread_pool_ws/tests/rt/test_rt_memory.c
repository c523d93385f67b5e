// SPDX-License-Identifier: BSD-3-Clause
/// @file test_rt_memory.c
/// After a start and a warm-up burst no thread asks for memory (ws_asked.h). Pools that reserve theirs:
/// api/tests/test_rt_sched.c.

#include "../../prewake/ws_prewake_state.h"
#include "../support/ws_asked.h"

static ws_pool_t *pool;

static void push_four(void *unused)
{
  test_burst(pool, 4, test_empty_task, NULL);
}

static void burst(void (*func)(void *))
{
  test_burst(pool, 20, func, NULL);
}

static int count_one_allocation(void *unused)
{
  count_begin();
  void *volatile memory = malloc(10);
  free(memory);
  return count_end();
}

TEST_CASE(the_count_itself_works)
{
  TEST_SKIP_IF(TEST_SANITIZED, "the sanitizer owns malloc");
  CU_ASSERT_EQUAL(test_in_child(count_one_allocation, NULL), 2);
}

#define NOT_FOUND 101

static int count_finding_a_period(void *unused)
{
  uint64_t arrivals[WS_ARRIVALS];
  ws_pattern_t pattern;
  for (uint32_t i = 0; i < WS_ARRIVALS; i++)
    arrivals[i] = UINT64_C(1000000000) + i * UINT64_C(500000) + i % 3 * 1000;
  count_begin();
  const bool found = ws_period_find(arrivals, WS_ARRIVALS, &pattern);
  const int count = count_end();
  return found ? count : NOT_FOUND;
}

/// Workers that have run out of work look for the period of the bursts. Whether they do so in the test below
/// depends on when it gets the CPU.
TEST_CASE(no_memory_to_find_a_period)
{
  CU_ASSERT_EQUAL(test_in_child(count_finding_a_period, NULL), 0);
}

static int count_after_warm_up(void *workers)
{
  pool = test_pool(*(uint32_t *)workers);
  burst(push_four);
  ws_pool_wait(pool);
  count_begin();
  for (uint32_t round = 0; round < 2000; round++) {
    burst(round % 2 ? test_empty_task : push_four);
    if (round % 500 == 0)
      test_sleep_ms(20); // the workers park, the guard comes and goes
  }
  ws_pool_wait(pool);
  const int count = count_end();
  test_destroy(pool);
  return count;
}

TEST_CASE(no_memory_after_warm_up)
{
  for (uint32_t workers = 1; workers <= 4; workers++) {
    const int code = test_in_child(count_after_warm_up, &workers);
    if (code != 0)
      printf("\n  %u workers: %d ", workers, code);
    CU_ASSERT_EQUAL(code, 0);
  }
}

TEST_MAIN("rt_memory")
