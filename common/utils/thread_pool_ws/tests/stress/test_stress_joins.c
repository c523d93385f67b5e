// SPDX-License-Identifier: BSD-3-Clause
/// @file test_stress_joins.c
/// The random programs of ws_joins.h, and those of loops, on real threads, with hints of any thread. The
/// program that hangs or fails has a seed that is at most 255 more than the last WS_SEED.

#include "../support/ws_test.h"
#include "ws_joins.h"

#define PROGRAMS 100u ///< on any machine; with WS_STRESS_SECONDS, so long
#define SHOW_EVERY 256u

static ws_au32_t wrongs;
static ws_pool_t *hinted; ///< it lives as long as the program

/// As a batch every second time.
static int push(ws_pool_t *pool, ws_task_t task)
{
  static ws_au32_t pushes;
  if (ws_add_relaxed(&pushes, 1) % 2 == 0)
    return ws_pool_push(pool, task);
  return ws_pool_push_batch(pool, &task, 1) == 1 ? 0 : -1;
}

/// A burst that may not come, at about the time when the workers' timers end.
static void hint(uint64_t random)
{
  ws_pool_set_spin(hinted, (ws_spin_t)(random % (WS_SPIN_HOT + 1)), 50000);
  ws_pool_prewake_at(hinted, 4, test_now_ns() + 100000);
  ws_pool_phase_begin(hinted, random / 8 % 3);
  usleep((useconds_t)(random >> 8) % 120);
  ws_pool_phase_end(hinted);
}

/// Mostly not at all.
static void work(uint64_t random)
{
  if (random % 64 == 3)
    hint(random >> 6);
  if (random % 16 == 0)
    usleep((useconds_t)(random >> 8) % 500);
  for (uint64_t yields = random % 4 == 1 ? (random >> 8) % 32 : 0; yields > 0; yields--)
    sched_yield();
}

static void rest(uint32_t times)
{
  usleep(20u << (times < 10 ? times : 10));
}

static void begins(uint32_t pool) {}

static void wrong(const char *what)
{
  if (ws_add_relaxed(&wrongs, 1) == 0)
    fprintf(stderr, "%s\n", what);
}

static void play(uint64_t seed)
{
  ws_joins_host_t host = {.push = push, .work = work, .rest = rest, .begins = begins, .wrong = wrong};
  const uint32_t pools = ws_joins_pools(seed);
  for (uint32_t i = 0; i < pools; i++) {
    ws_settings_t settings;
    ws_joins_settings(seed, i, &settings);
    settings.warn = test_settings(1).warn;
    host.pool[i] = test_create(&settings);
  }
  hinted = host.pool[0];
  ws_joins_play(&host, seed);
#ifdef WS_TEST_FIBER
  ws_loops_play(&host, seed);
#endif
  for (uint32_t i = 0; i < pools; i++)
    test_destroy(host.pool[i]);
}

TEST_CASE(random_joins_end)
{
  const char *seconds = getenv("WS_STRESS_SECONDS");
  const uint64_t first = test_seed(),
                 end_ns = test_now_ns() + (seconds ? (uint64_t)(atof(seconds) * 1e9) : 0);
  for (uint64_t i = 0; seconds ? test_now_ns() < end_ns : i < PROGRAMS; i++) {
    if (i % SHOW_EVERY == 0)
      printf("WS_SEED=%llu\n", (unsigned long long)(first + i));
    play(first + i);
    CU_ASSERT_EQUAL_FATAL(ws_load_relaxed(&wrongs), 0);
  }
}

static ws_pool_t *deep;

static void join_deep(void *left_arg)
{
  uint32_t left = *(const uint32_t *)left_arg;
  if (left-- > 0)
    test_burst(deep, 1, join_deep, &left);
}

/// By a thread outside, and by a worker.
TEST_CASE(joins_a_thousand_deep)
{
  for (uint32_t workers = 1; workers <= 2; workers++) {
    ws_settings_t settings = test_settings(workers);
    settings.queue_capacity = 2;
    deep = test_create(&settings);
    join_deep(&(uint32_t){1500});
    test_on_workers(deep, 1, join_deep, &(uint32_t){1500});
    test_destroy(deep);
  }
}

TEST_MAIN("stress_joins")
