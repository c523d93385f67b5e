// SPDX-License-Identifier: BSD-3-Clause
/// @file test_rt_canary.c
/// Real-time workers with timer wakes, and a real-time producer, must leave time to normal threads: a canary
/// of the normal class on each CPU goes on throughout the test, though a real-time thread that spun
/// would stop it for good (or until the kernel's throttling).
#include <time.h>

#include "../support/ws_test.h"

#define CANARIES_MAX 8u
#define PARTS 8u
#define SLOTS 250u
#define TRIES_MAX 400u ///< times so many slots: 50 s
#define SLOT_NS 500000u

static ws_au64_t sung[CANARIES_MAX];
static ws_au32_t over;
static uint32_t canaries;

static void *canary(void *count_arg)
{
  ws_au64_t *count = count_arg;
  const struct sched_param none = {0};
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
  ws_os_pin(0, test_cpu((uint32_t)(count - sung)));
  while (!ws_hint_load(&over))
    ws_stat_add(count, 1);
  return NULL;
}

/// A task of about 5 us of computing.
static void compute(void *unused)
{
  for (uint32_t i = 0; i < 1000; i++)
    __asm__ volatile("" ::: "memory");
}

static void slots(ws_pool_t *pool, uint64_t *next_ns)
{
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    *next_ns += SLOT_NS;
    const struct timespec at = {.tv_sec = (time_t)(*next_ns / 1000000000u),
                                .tv_nsec = (long)(*next_ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    test_burst(pool, 12, compute, NULL);
  }
}

static bool all_beyond(const uint64_t *before)
{
  for (uint32_t i = 0; i < canaries; i++)
    if (test_value(&sung[i]) <= before[i])
      return false;
  return true;
}

/// @return whether every canary goes on, again and again, while slots come. How soon is not asked: other
/// programs may have the CPU
static bool canaries_live(ws_pool_t *pool)
{
  uint64_t next_ns = test_now_ns();
  for (uint32_t part = 0; part < PARTS; part++) {
    uint64_t before[CANARIES_MAX];
    for (uint32_t i = 0; i < canaries; i++)
      before[i] = test_value(&sung[i]);
    uint32_t tries = 0;
    do
      slots(pool, &next_ns);
    while (!all_beyond(before) && ++tries < TRIES_MAX);
    if (tries == TRIES_MAX)
      return false;
  }
  return true;
}

TEST_ALONE(a_normal_thread_goes_on)
{
  const struct sched_param realtime = {.sched_priority = 20}, none = {0};
  test_threads_t threads = {0};
  TEST_SKIP_IF(pthread_setschedparam(pthread_self(), SCHED_RR, &realtime) != 0, "no real-time class");
  canaries = test_cpus() < CANARIES_MAX ? test_cpus() : CANARIES_MAX;
  for (uint32_t workers = 1; workers <= 2; workers++) {
    ws_settings_t settings = test_settings(workers);
    settings.sched_class = WS_CLASS_RR;
    settings.sched_priority = 20;
    ws_pool_t *pool = test_create(&settings);
    ws_store_relaxed(&over, 0); // relaxed: no canary yet
    for (uint32_t i = 0; i < canaries; i++)
      test_spawn(&threads, canary, &sung[i]);
    CU_ASSERT_TRUE(canaries_live(pool));
    ws_hint_store(&over, 1);
    test_join(&threads);
    test_destroy(pool);
  }
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
}

TEST_MAIN("rt_canary")
