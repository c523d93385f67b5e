// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_lead.c
/// Which places that arm an answer are found to announce a burst. The clock is the test's (--wrap), and so is
/// the pool that is told.
#include "../../shim/common/ws_tpool_lead.h"
#include "../support/ws_test.h"

#include <time.h>

static _Thread_local uint64_t fake_ns; ///< 0 = the real clock

static struct {
  uint32_t calls;
  ws_pool_t *pool;
  uint32_t workers;
  uint64_t within_ns;
} told;

TEST_WRAP(int, clock_gettime, (clockid_t clock, struct timespec *now))
{
  if (fake_ns == 0)
    return __real_clock_gettime(clock, now);
  now->tv_sec = (time_t)(fake_ns / 1000000000u);
  now->tv_nsec = (long)(fake_ns % 1000000000u);
  return 0;
}

TEST_WRAP(void, ws_pool_prewake, (ws_pool_t * pool, uint32_t workers, uint64_t within_ns))
{
  told.calls++;
  told.pool = pool;
  told.workers = workers;
  told.within_ns = within_ns;
}

static int first_pool, second_pool; ///< only their addresses are used
static ws_tpool_t first = {.pool = (ws_pool_t *)(void *)&first_pool, .hints = true};
static ws_tpool_t second = {.pool = (ws_pool_t *)(void *)&second_pool, .hints = true};
static ws_tpool_t asleep = {.pool = (ws_pool_t *)(void *)&first_pool}; // its pre-wake is off

#define ANY_OF_20 1000u ///< a site: another one in each turn

/// Arm at a site; some time later push, if there is a pool, and let the rest of the slot pass.
typedef struct {
  uint32_t site; ///< 0 = no step
  uint32_t workers;
  uint64_t lead_ns;
  ws_tpool_t *pushes_to;
} step_t;

/// Calls of the pool that the hints of a thread lead to.
typedef struct {
  uint32_t calls, workers; ///< the latter, and the rest, of the last call
  uint64_t within_ns;
  const ws_tpool_t *pool;
  struct {
    uint32_t turns;
    step_t step[4];
  } part[3];
} row_t;

#define US 1000u
static const row_t rows[] = {
    // a lead that is kept wakes, from the fourth time on
    {7, 1, 45 * US, &first, {{10, {{1, 1, 30 * US, &first}}}}},
    // as many as are wanted
    {1, 3, 45450, &first, {{4, {{1, 3, 30 * US, NULL}, {2, 1, 300, &first}}}}},
    // not if pre-wake is switched off, nor for leads out of bounds
    {0, 0, 0, NULL, {{10, {{1, 1, 30 * US, &asleep}}}}},
    {0, 0, 0, NULL, {{10, {{1, 1, 300, &first}, {2, 1, 150 * US, &first}}}}},
    // nor for a site that often leads to nothing
    {0, 0, 0, NULL, {{20, {{1, 1, 5000 * US, NULL}, {1, 1, 20 * US, &first}}}}},
    // the early one of two: in OAI channel estimation arms and computes, symbol processing arms and pushes
    {7, 1, 52800, &first, {{10, {{1, 1, 35 * US, NULL}, {2, 1, 200, &first}}}}},
    // armed in short order, once for each of two DMRS symbols: the last counts
    {14, 1, 45 * US, &first, {{10, {{1, 1, 30 * US, NULL}, {1, 1, 30 * US, &first}}}}},
    // an idle second, without a push, is forgotten at once: a call in each part
    {3,
     1,
     30 * US,
     &first,
     {{4, {{1, 1, 20 * US, &first}}}, {1, {{1, 1, 1000000 * US, &first}}}, {4, {{1, 1, 20 * US, &first}}}}},
    // a site that changes its pool is learnt anew: a call for each pool, one for the first too late
    {3, 1, 30 * US, &second, {{4, {{1, 1, 20 * US, &first}}}, {5, {{1, 1, 20 * US, &second}}}}},
    // more sites than can be kept wake no worker
    {0, 0, 0, NULL, {{1000, {{ANY_OF_20, 1, 20 * US, &first}}}}},
};

static void do_step(const step_t *step, uint32_t turn)
{
  const uint32_t site = step->site == ANY_OF_20 ? turn % 20 : step->site;
  ws_tpool_lead_arm((const void *)(uintptr_t)(0x1000 + site), step->workers);
  fake_ns += step->lead_ns;
  if (step->pushes_to) {
    ws_tpool_lead_push(step->pushes_to);
    fake_ns += 1000000;
  }
}

static void *do_row(void *row_arg)
{
  const row_t *row = row_arg;
  fake_ns = 1;
  for (uint32_t p = 0; p < TEST_COUNT(row->part); p++)
    for (uint32_t turn = 0; turn < row->part[p].turns; turn++)
      for (uint32_t s = 0; s < TEST_COUNT(row->part[p].step) && row->part[p].step[s].site; s++)
        do_step(&row->part[p].step[s], turn);
  return NULL;
}

/// A thread's learnt sites end with it, so each runs in a new thread.
static void in_a_thread(void *(*body)(void *), const row_t *row)
{
  memset(&told, 0, sizeof(told));
  test_in_threads(1, body, (void *)(uintptr_t)row);
}

TEST_CASE(sites_that_wake)
{
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const row_t *row = &rows[i];
    in_a_thread(do_row, row);
    CU_ASSERT_EQUAL(told.calls, row->calls);
    CU_ASSERT_EQUAL(told.workers, row->workers);
    CU_ASSERT_EQUAL(told.within_ns, row->within_ns);
    CU_ASSERT_PTR_EQUAL(told.pool, row->pool ? row->pool->pool : NULL);
    if (told.calls != row->calls || told.within_ns != row->within_ns)
      printf("\n  rows[%u]: %u calls, within %u ns ", i, told.calls, (uint32_t)told.within_ns);
    CU_ASSERT_TRUE(first.users == 0 && second.users == 0 && asleep.users == 0);
  }
}

static void *closed(void *unused)
{
  fake_ns = 1;
  for (uint32_t turn = 0; turn < 5; turn++) {
    if (turn == 4) // after one call
      first.users = 1;
    do_step(&(step_t){1, 1, 20000, &first}, turn);
  }
  return unused;
}

TEST_CASE(a_closed_pool_is_left_alone)
{
  const ws_tpool_t before = first;
  first.pool = NULL; // nothing to free
  in_a_thread(closed, NULL);
  CU_ASSERT_EQUAL(told.calls, 1);
  CU_ASSERT_EQUAL(first.users, 1);
  first = before;
}

TEST_MAIN("tpool_lead")
