// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_random.c
/// The interface tpool: random pools, threads that add and jobs that add, an end at a random job. Each job
/// that was added has run, or was dropped and reported.
#include "../../tests/stress/stress_rounds.h"
#include "tpool_test.h"

#include <sched.h>

#define ADDERS_MAX 4u
#define ROUNDS 60u

static struct {
  tpool *pool;
  ws_au64_t added, ran, reported, wrong;
  ws_au32_t inside; ///< of report: its calls follow one another
  uint64_t end_at; ///< number of jobs run after which the end begins
  sem_t end;
  ws_au32_t over;
} play;

static void note(int result, bool tried)
{
  if (result == 0)
    ws_add_relaxed(&play.added, 1);
  else if (result != -ECANCELED && !(tried && result == -EAGAIN))
    ws_add_relaxed(&play.wrong, 1);
}

/// The bits of its argument decide what it adds.
static void branch(void *bits_arg)
{
  const uintptr_t bits = (uintptr_t)bits_arg;
  if (ws_add_relaxed(&play.ran, 1) + 1 == play.end_at)
    sem_post(&play.end);
  if ((bits & 3) == 3)
    note(tpool_add(play.pool, branch, (void *)(bits >> 2)), false);
  if ((bits & 12) == 12)
    note(tpool_try_add(play.pool, branch, (void *)(bits >> 2)), true);
}

static void *add_until_the_end(void *seed_arg)
{
  uint64_t random = (uint64_t)(uintptr_t)seed_arg;
  int result = 0;
  while (result != -ECANCELED && !ws_load_acquire(&play.over)) {
    const uint64_t drawn = test_random(&random);
    const bool tries = drawn >> 62 == 0;
    void *bits = (void *)(uintptr_t)(uint32_t)drawn;
    result = tries ? tpool_try_add(play.pool, branch, bits) : tpool_add(play.pool, branch, bits);
    note(result, tries);
  }
  return NULL;
}

static void report(void *reported, void (*func)(void *), void *arg)
{
  (void)arg;
  const uint32_t inside = ws_add_relaxed(&play.inside, 1);
  ws_add_relaxed((ws_au64_t *)reported, 1);
  sched_yield();
  if (func != branch || inside != 0)
    ws_add_relaxed(&play.wrong, 1);
  ws_sub_relaxed(&play.inside, 1);
}

typedef enum { SHUTDOWN, SHUTDOWN_NOW, DESTROY, WAYS } way_t;

/// @return the number of dropped jobs
static uint64_t end_it(way_t way, test_threads_t *threads)
{
  int64_t dropped = 0;
  if (way == DESTROY)
    ws_store_release(&play.over, 1);
  else if (way == SHUTDOWN_NOW)
    dropped = tpool_shutdown_now(play.pool, report, &play.reported);
  else
    CU_ASSERT_EQUAL(tpool_shutdown(play.pool), 0);
  test_join(threads);
  tpool_destroy(play.pool);
  CU_ASSERT(dropped >= 0);
  CU_ASSERT_EQUAL(test_value(&play.reported), way == SHUTDOWN_NOW ? (uint64_t)dropped : 0);
  return (uint64_t)dropped;
}

static void play_one_round(uint64_t *random)
{
  const uint32_t adders = 1 + (uint32_t)(test_random(random) % ADDERS_MAX);
  const int workers = 1 + (int)(test_random(random) % 4), buffer = 1 + (int)(test_random(random) % 8);
  const way_t way = (way_t)(test_random(random) % WAYS);
  test_threads_t threads = {0};
  play.pool = tpool_create(workers, buffer);
  play.added = play.ran = play.reported = (ws_au64_t){0};
  play.over = (ws_au32_t){0};
  play.end_at = 1 + test_random(random) % 2000;
  sem_init(&play.end, 0, 0);
  for (uint32_t i = 0; i < adders; i++)
    test_spawn(&threads, add_until_the_end, (void *)(uintptr_t)(test_random(random) | 1));
  CU_ASSERT(test_sem_wait(&play.end));
  const uint64_t dropped = end_it(way, &threads);
  CU_ASSERT_EQUAL(test_value(&play.ran) + dropped, test_value(&play.added));
  CU_ASSERT_EQUAL(test_value(&play.wrong), 0);
  sem_destroy(&play.end);
}

static void each_job_runs_or_is_dropped(void)
{
  uint64_t random = test_seed();
  stress_t left = stress_begin(ROUNDS);
  do
    play_one_round(&random);
  while (stress_goes_on(&left));
}

TEST_MAIN("tpool_random", TEST_CASE(each_job_runs_or_is_dropped))
