// SPDX-License-Identifier: BSD-3-Clause
/// @file test_prewake_race.c
/// Workers that their own timers wake while tasks are pushed, pools stop, CPUs go and come, and the
/// process is stopped: each task runs once, by the workers alone, and when no bursts come any more no
/// timer is set. The pushing thread does not help, so that a wake that is lost shows.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../support/ws_test.h"

#define PERIOD_NS UINT64_C(700000)
#define TASKS_MAX 64u
#define PUSHERS 3u
#define STORM_TASKS 3u ///< of each of them
/// In a sanitizer's build all is slower, and no less is checked.
#define BURSTS (TEST_SANITIZED ? 60u : 200u)

static ws_pool_t *pool;

static void wait_until(uint64_t at_ns)
{
  const struct timespec at = {.tv_sec = (time_t)(at_ns / 1000000000u),
                              .tv_nsec = (long)(at_ns % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
    ;
}

/// Waits for the workers, without help for them. @return false after the deadline
static bool workers_run(const ws_au64_t *ran, uint32_t tasks, uint64_t times)
{
  test_patience_t patience = {0};
  for (uint32_t i = 0; i < tasks;) {
    if (test_value(&ran[i]) >= times)
      i++;
    else if (test_is_patient(&patience))
      wait_until(test_now_ns() + 5000);
    else
      return false;
  }
  return true;
}

/// A burst of @p tasks. @return whether each has run once
static bool burst_runs(uint32_t tasks)
{
  static ws_au64_t ran[TASKS_MAX];
  for (uint32_t i = 0; i < tasks; i++) {
    ws_store_relaxed(&ran[i], 0);
    test_push(pool, test_count_task, &ran[i], NULL);
  }
  const bool done = workers_run(ran, tasks, 1);
  ws_pool_wait(pool);
  bool once = done;
  for (uint32_t i = 0; i < tasks; i++)
    once &= test_value(&ran[i]) == 1;
  return once;
}

/// When all sleep, no token is missing, and no worker that does not search is counted.
static bool is_settled(void)
{
  bool settled = test_until_quiet(pool) && ws_searching(pool) == 0;
  for (uint32_t i = 0; i < pool->workers; i++)
    settled &= ws_load_relaxed(&pool->worker[i]->token) == 0;
  return settled;
}

/// @return how many bursts went wrong of @p count, one a period
static uint32_t bad_bursts(uint32_t count, uint32_t tasks)
{
  uint32_t bad = 0;
  uint64_t at_ns = test_now_ns();
  for (uint32_t i = 0; i < count; i++) {
    at_ns += PERIOD_NS;
    wait_until(at_ns);
    bad += !burst_runs(tasks);
    if (test_now_ns() > at_ns + 10 * PERIOD_NS)
      at_ns = test_now_ns(); // this machine was busy with something else
  }
  return bad;
}

static void create(uint32_t workers, ws_spin_t spin, uint64_t lead_ns)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = spin;
  settings.spin_lead_ns = lead_ns;
  pool = test_create(&settings);
}

static void each_mode(void)
{
  static const struct {
    ws_spin_t spin;
    uint64_t lead_ns;
  } modes[] = {{WS_SPIN_OFF, 0},        {WS_SPIN_AUTO, 0},       {WS_SPIN_HOT, 0},
               {WS_SPIN_FIXED, 0},      {WS_SPIN_FIXED, 20000},  {WS_SPIN_FIXED, 100000},
               {WS_SPIN_FIXED, 600000}, {WS_SPIN_FIXED, 5000000}};
  for (uint32_t i = 0; i < TEST_COUNT(modes); i++) {
    create(3, modes[i].spin, modes[i].lead_ns);
    CU_ASSERT_EQUAL(bad_bursts(BURSTS / 2, 5), 0);
    CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_OFF, 0), 0);
    CU_ASSERT_TRUE(is_settled());
    test_destroy(pool);
  }
}

typedef struct {
  ws_au64_t at_ns; ///< of the next storm; 0 = no more
  ws_au64_t storms;
  ws_au64_t ran[PUSHERS][STORM_TASKS];
} storm_t;

static storm_t storm;

typedef struct {
  uint32_t index;
  uint64_t random;
} pusher_t;

/// Pushes about when the workers' timers end, without a sleep before: a little ahead of the announced time.
static void *push_at(void *arg)
{
  pusher_t *pusher = arg;
  for (uint64_t seen = 0;;) {
    const uint64_t at_ns = ws_load_acquire(&storm.at_ns);
    if (at_ns == 0)
      return NULL;
    if (at_ns == seen) {
      sched_yield();
      continue;
    }
    seen = at_ns;
    const uint64_t ahead_ns = test_random(&pusher->random) % 120000;
    while (test_now_ns() + ahead_ns < at_ns)
      sched_yield();
    for (uint32_t i = 0; i < STORM_TASKS; i++)
      test_push(pool, test_count_task, &storm.ran[pusher->index][i], NULL);
    ws_add_release(&storm.storms, 1);
  }
}

static bool all_have_pushed(void *wanted)
{
  return ws_load_acquire(&storm.storms) == *(uint64_t *)wanted;
}

/// @return how many tasks of the storm have not run @p times
static uint32_t not_run(uint64_t times)
{
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < PUSHERS; i++) {
    workers_run(storm.ran[i], STORM_TASKS, times);
    for (uint32_t k = 0; k < STORM_TASKS; k++)
      wrong += test_value(&storm.ran[i][k]) != times;
  }
  return wrong;
}

static void storms_at_the_time_of_the_alarm(void)
{
  create(4, WS_SPIN_AUTO, 0);
  pusher_t pusher[PUSHERS];
  test_threads_t threads = {0};
  uint64_t wanted = 0;
  ws_store_release(&storm.at_ns, test_now_ns());
  for (uint32_t i = 0; i < PUSHERS; i++) {
    pusher[i] = (pusher_t){.index = i, .random = test_seed() + i};
    test_spawn(&threads, push_at, &pusher[i]);
  }
  for (uint32_t round = 1; round <= 4 * BURSTS; round++) {
    wanted += PUSHERS;
    CU_ASSERT_TRUE_FATAL(test_until(all_have_pushed, &wanted));
    CU_ASSERT_EQUAL_FATAL(not_run(round), 0);
    const uint64_t at_ns = test_now_ns() + 200000 + (round % 16) * 20000;
    ws_pool_prewake_at(pool, 4, at_ns);
    ws_store_release(&storm.at_ns, round < 4 * BURSTS ? at_ns : 0);
  }
  test_join(&threads);
  CU_ASSERT_TRUE(is_settled());
  test_destroy(pool);
}

static void stop_during_a_planned_sleep(void)
{
  for (uint32_t round = 0; round < 40; round++) {
    create(4, round % 2 ? WS_SPIN_AUTO : WS_SPIN_FIXED, 50000);
    CU_ASSERT_EQUAL(bad_bursts(round % 8, 4), 0);
    ws_pool_prewake_at(pool, 4, test_now_ns() + round * 25000);
    wait_until(test_now_ns() + (round % 5) * 60000); // before, at and after the alarm
    if (round % 3 == 0)
      CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
    test_destroy(pool);
  }
}

static void many_pools(void)
{
  enum { POOLS = 12 };
  ws_pool_t *pools[POOLS];
  for (uint32_t i = 0; i < POOLS; i++) {
    create(2, i % 3 ? WS_SPIN_AUTO : WS_SPIN_FIXED, 30000);
    pools[i] = pool;
  }
  uint32_t bad = 0;
  for (uint32_t round = 0; round < BURSTS / 4; round++) {
    for (uint32_t i = 0; i < POOLS; i++) {
      pool = pools[i];
      bad += !burst_runs(4);
      ws_pool_prewake_at(pool, 2, test_now_ns() + PERIOD_NS);
    }
    wait_until(test_now_ns() + PERIOD_NS);
  }
  CU_ASSERT_EQUAL(bad, 0);
  for (uint32_t i = 0; i < POOLS; i++)
    test_destroy(pools[i]);
}

static void more_workers_than_cpus(void)
{
  create(4 * test_cpus() + 4, WS_SPIN_AUTO, 0);
  CU_ASSERT_EQUAL(bad_bursts(BURSTS, TASKS_MAX), 0);
  CU_ASSERT_TRUE(is_settled());
  test_destroy(pool);
}

static int on_one_cpu(void *unused)
{
  (void)unused;
  if (test_use_cpus(1) != 1)
    return TEST_CHILD_SKIP;
  uint32_t bad = 0;
  for (ws_spin_t spin = WS_SPIN_OFF; spin <= WS_SPIN_HOT; spin++) {
    create(3, spin, 50000);
    ws_pool_phase_begin(pool, 3);
    bad += bad_bursts(BURSTS / 4, 8);
    ws_pool_prewake_at(pool, 3, test_now_ns() + PERIOD_NS);
    bad += bad_bursts(3, 8);
    ws_pool_phase_end(pool);
    test_destroy(pool);
  }
  return bad == 0 ? 0 : 1;
}

static void one_cpu(void)
{
  CU_ASSERT_EQUAL(test_in_child(on_one_cpu, NULL), 0);
}

/// Takes CPUs from the whole process, and gives them back.
static void *change_cpus(void *stop)
{
  cpu_set_t all;
  sched_getaffinity(0, sizeof(all), &all);
  for (uint32_t round = 0; !ws_load_relaxed((ws_au32_t *)stop); round++) {
    cpu_set_t some = all;
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&some) > 1 && round % 2; cpu++)
      if ((round / 2 + (uint32_t)cpu) % 2)
        CPU_CLR((size_t)cpu, &some);
    for (uint32_t i = 0; i < pool->workers; i++)
      sched_setaffinity(ws_tid(pool->worker[i]), sizeof(some), &some);
    sched_setaffinity(getpid(), sizeof(some), &some); // the thread that pushes
    test_sleep_ms(3);
  }
  return NULL;
}

static int with_changing_cpus(void *unused)
{
  (void)unused;
  create(3, WS_SPIN_AUTO, 0);
  ws_au32_t stop = {0};
  test_threads_t threads = {0};
  test_spawn(&threads, change_cpus, &stop);
  const uint32_t bad = bad_bursts(2 * BURSTS, 6);
  ws_store_relaxed(&stop, 1);
  test_join(&threads);
  test_destroy(pool);
  return bad == 0 ? 0 : 1;
}

static void cpus_that_go_and_come(void)
{
  CU_ASSERT_EQUAL(test_in_child(with_changing_cpus, NULL), 0);
}

/// Stops and continues its parent, in the middle of whatever that does.
static void stop_parent(pid_t parent, uint32_t times)
{
  for (uint32_t i = 0; i < times && getppid() == parent; i++) {
    test_sleep_ms(7 + i % 5);
    kill(parent, SIGSTOP);
    test_sleep_ms(1 + i % 30);
    kill(parent, SIGCONT);
  }
  _exit(0);
}

static int while_stopped_at_times(void *unused)
{
  (void)unused;
  const pid_t self = getpid(), other = fork();
  if (other < 0)
    return TEST_CHILD_SKIP;
  if (other == 0)
    stop_parent(self, BURSTS / 10);
  create(3, WS_SPIN_AUTO, 0);
  uint32_t bad = 0;
  int status = 0;
  while (waitpid(other, &status, WNOHANG) != other)
    bad += bad_bursts(10, 6);
  bad += bad_bursts(BURSTS / 2, 6);
  const bool settled = is_settled();
  test_destroy(pool);
  return bad == 0 && settled ? 0 : 1;
}

static void a_process_that_is_stopped(void)
{
  CU_ASSERT_EQUAL(test_in_child(while_stopped_at_times, NULL), 0);
}

static ws_prewake_stats_t outcome(void)
{
  ws_prewake_stats_t stats;
  ws_pool_prewake_stats(pool, &stats);
  return stats;
}

static bool is_idle(void *unused)
{
  (void)unused;
  const uint64_t misses = outcome().misses, parks = TEST_SUM(pool, parks), spins = TEST_SUM(pool, spins);
  test_sleep_ms(40); // many periods
  return outcome().misses == misses && TEST_SUM(pool, parks) == parks && TEST_SUM(pool, spins) == spins;
}

/// Timers wake them for a while for bursts that do not come, and then no more: no clock, no CPU time.
static void without_bursts_no_timer_wakes(void)
{
  create(2, WS_SPIN_AUTO, 0);
  CU_ASSERT_EQUAL(bad_bursts(2 * BURSTS, 4), 0);
  const ws_prewake_stats_t before = outcome();
  CU_ASSERT_TRUE(test_until(is_idle, NULL));
  const ws_prewake_stats_t after = outcome();
  printf("%lu bursts, %lu expected; timers for %lu, then for %lu that did not come ",
         (unsigned long)before.bursts, (unsigned long)before.expected_bursts,
         (unsigned long)(before.hits + before.lates), (unsigned long)(after.misses - before.misses));
  CU_ASSERT_TRUE(after.misses - before.misses <= 2 * 100 * (before.period_bursts + 1));
  CU_ASSERT_EQUAL(bad_bursts(BURSTS / 2, 4), 0); // and it goes on
  CU_ASSERT_TRUE(is_settled());
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->armed), 0);
  test_destroy(pool);
}

/// Modes change while all that is under way.
static void modes_change_all_the_time(void)
{
  create(3, WS_SPIN_AUTO, 0);
  uint64_t random = test_seed();
  uint32_t bad = 0;
  for (uint32_t i = 0; i < BURSTS; i++) {
    bad += bad_bursts(1 + (uint32_t)(test_random(&random) % 4), 4);
    const ws_spin_t spin = (ws_spin_t)(test_random(&random) % (WS_SPIN_HOT + 1));
    CU_ASSERT_EQUAL(ws_pool_set_spin(pool, spin, test_random(&random) % 200000), 0);
    CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(pool, (uint32_t)(test_random(&random) % 101)), 0);
  }
  CU_ASSERT_EQUAL(bad, 0);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_OFF, 0), 0);
  CU_ASSERT_TRUE(is_settled());
  test_destroy(pool);
}

TEST_MAIN("prewake_race", TEST_CASE(each_mode), TEST_CASE(storms_at_the_time_of_the_alarm),
          TEST_CASE(stop_during_a_planned_sleep), TEST_CASE(many_pools), TEST_CASE(more_workers_than_cpus),
          TEST_CASE(one_cpu), TEST_CASE(cpus_that_go_and_come), TEST_CASE(a_process_that_is_stopped),
          TEST_CASE(modes_change_all_the_time), TEST_ALONE(without_bursts_no_timer_wakes))
