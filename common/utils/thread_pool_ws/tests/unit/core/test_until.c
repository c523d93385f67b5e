// SPDX-License-Identifier: BSD-3-Clause
/// @file test_until.c
/// What a wait with a deadline does at that moment. The clock is the test's: it goes on by 1 ns a look, and
/// to the deadline in each sleep with one. What such waits run: scenes/until.c.

#include "../../support/ws_seam.h"

#define START_NS 1000000u
#define LATE_NS (START_NS + 10000000) ///< after the longest spin

static _Thread_local uint64_t clock_ns; ///< 0 = the clock of the machine
static _Thread_local uint64_t slept_until_ns;
static void (*in_sleep)(void); ///< what happens just after the deadline of a sleep
static ws_group_t group;

static uint64_t ws_os_now_ns_seam(void)
{
  return clock_ns ? clock_ns++ : __real_ws_os_now_ns();
}

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  if (!clock_ns || deadline_ns == 0)
    return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  slept_until_ns = clock_ns = deadline_ns;
  if (in_sleep)
    in_sleep();
  return -ETIMEDOUT;
}

static void complete_it(void)
{
  ws_group_complete(&group, 1);
}

/// With a lane, without help in a pool, and in a pool without workers; completed at the deadline: the group
/// is complete; a deadline that comes while the thread spins.
TEST_CASE(a_wait_ends_at_its_deadline)
{
  ws_pool_t *pool = test_pool(1), *none = test_pool(0);
  const struct {
    ws_pool_t *pool;
    uint64_t deadline_ns;
    void (*in_sleep)(void);
    bool sleeps;
  } rows[] = {{pool, LATE_NS, NULL, true},
              {NULL, LATE_NS, NULL, true},
              {none, LATE_NS, NULL, true},
              {pool, LATE_NS, complete_it, true},
              {pool, START_NS + 20, NULL, false}};
  test_push(pool, test_empty_task, NULL, NULL); // the thread has a lane
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    ws_group_init(&group, 1);
    in_sleep = rows[i].in_sleep;
    slept_until_ns = 0;
    clock_ns = START_NS;
    CU_ASSERT_EQUAL(ws_group_wait_until(&group, rows[i].pool, rows[i].deadline_ns),
                    in_sleep ? 0 : -ETIMEDOUT);
    CU_ASSERT_EQUAL(slept_until_ns, rows[i].sleeps ? LATE_NS : 0);
    CU_ASSERT(clock_ns < rows[i].deadline_ns + 20);
    clock_ns = 0;
  }
  test_destroy(none);
  test_destroy(pool);
}

TEST_MAIN_SEAMS("until", SEAM(ws_os_now_ns), SEAM(ws_os_futex_wait_until))
