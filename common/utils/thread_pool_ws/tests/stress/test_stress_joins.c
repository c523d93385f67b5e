// SPDX-License-Identifier: BSD-3-Clause
/// @file test_stress_joins.c
/// The random programs of ws_joins.h, and those of loops, on real threads. The program that hangs or fails
/// has a seed that is at most 255 more than the last WS_SEED.

#include "../support/ws_test.h"
#include "ws_joins.h"

#define PROGRAMS 100u ///< on any machine; with WS_STRESS_SECONDS, so long
#define SHOW_EVERY 256u

static ws_au32_t wrongs;

/// Mostly not at all.
static void work(uint64_t random)
{
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
  ws_joins_host_t host = {.push = ws_pool_push, .work = work, .rest = rest, .begins = begins, .wrong = wrong};
  const uint32_t pools = ws_joins_pools(seed);
  for (uint32_t i = 0; i < pools; i++) {
    ws_settings_t settings;
    ws_joins_settings(seed, i, &settings);
    settings.warn = test_settings(1).warn;
    host.pool[i] = test_create(&settings);
  }
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

TEST_MAIN("stress_joins")
