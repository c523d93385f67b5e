// SPDX-License-Identifier: BSD-3-Clause
/// @file test_observer.c
/// The observer is called on each worker: when it starts and stops, and around its sleeps. It may pin the
/// worker. It must not use a pool.

#include "../../support/ws_death.h"

enum { WORKERS = 3, LOG_MAX = 4096 };

/// What was observed of a worker, in order.
typedef struct {
  char log[LOG_MAX];
  uint32_t count;
  ws_au32_t calls; ///< read by other threads
  pthread_t thread;
  uint32_t wrong; ///< calls on another thread, or with a wrong CPU, node or index
} seen_t;
static seen_t seen[WORKERS];
static ws_au32_t arg_errors;

static void observe(void *arg, const ws_observation_t *observation)
{
  if (arg != seen || observation->worker >= WORKERS) {
    ws_add_relaxed(&arg_errors, 1);
    return;
  }
  seen_t *worker = &seen[observation->worker];
  if (observation->what == WS_OBSERVED_START)
    worker->thread = pthread_self();
  const bool placed = observation->cpu >= 0 && observation->cpu < CPU_SETSIZE && observation->node >= 0;
  worker->wrong += !pthread_equal(worker->thread, pthread_self()) || !placed
                   || ws_worker_index() != (int32_t)observation->worker;
  if (worker->count < LOG_MAX)
    worker->log[worker->count++] = "BEPU"[observation->what];
  ws_add_release(&worker->calls, 1);
}

static ws_pool_t *create(uint32_t workers, ws_observer_t observer)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = WS_SPIN_OFF;
  settings.observer = observer;
  settings.observer_arg = seen;
  memset(seen, 0, sizeof(seen));
  return test_create(&settings);
}

/// Each worker: begins once, sleeps and wakes in turn, ends once.
static void check_log(const seen_t *worker)
{
  CU_ASSERT_TRUE_FATAL(worker->count >= 2 && worker->count < LOG_MAX);
  CU_ASSERT_EQUAL(worker->log[0], 'B');
  CU_ASSERT_EQUAL(worker->log[worker->count - 1], 'E');
  for (uint32_t i = 1; i + 1 < worker->count; i++)
    CU_ASSERT_EQUAL(worker->log[i], i % 2 == 1 ? 'P' : 'U');
  CU_ASSERT_EQUAL(worker->wrong, 0);
}

static bool all_sleep(void *pool)
{
  return test_stats(pool).workers_awake == 0;
}

TEST_CASE(events_come_in_order)
{
  for (uint32_t round = 0; round < 20; round++) {
    ws_pool_t *pool = create(WORKERS, observe);
    for (uint32_t i = 0; i < WORKERS; i++) // before create returned
      CU_ASSERT_TRUE(ws_load_acquire(&seen[i].calls) >= 1 && seen[i].log[0] == 'B');
    for (uint32_t burst = 0; burst < 5; burst++) {
      for (uint32_t i = 0; i < 10; i++)
        test_push(pool, test_empty_task, NULL, NULL);
      CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
      CU_ASSERT_TRUE(test_until(all_sleep, pool));
    }
    if (round % 2 == 0)
      CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
    test_destroy(pool);
    for (uint32_t i = 0; i < WORKERS; i++)
      check_log(&seen[i]);
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&arg_errors), 0);
}

static uint32_t names_kept;

static void rename_and_pin_to_last(void *unused, const ws_observation_t *observation)
{
  char name[16] = "", expected[16];
  cpu_set_t last;
  pthread_getname_np(pthread_self(), name, sizeof(name));
  names_kept += observation->what == WS_OBSERVED_STOP && strcmp(name, "mine") == 0;
  if (observation->what != WS_OBSERVED_START)
    return;
  snprintf(expected, sizeof(expected), "ws%u", observation->worker);
  CU_ASSERT_STRING_EQUAL(name, expected);
  pthread_setname_np(pthread_self(), "mine");
  CPU_ZERO(&last);
  CPU_SET(test_cpu(CPU_SETSIZE), &last);
  sched_setaffinity(0, sizeof(last), &last);
}

static void count_cpus(void *count)
{
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
    ws_store_release((ws_au64_t *)count, (uint64_t)CPU_COUNT(&mask));
}

/// The thread has its name when the observer is called. It keeps the name and the affinity that the observer
/// gives it, over sleeps.
TEST_CASE(an_observer_may_rename_and_pin)
{
  ws_pool_t *pool = create(1, rename_and_pin_to_last);
  for (uint32_t i = 0; i < 20; i++) {
    ws_au64_t cpus = {0};
    test_on_workers(pool, 1, count_cpus, &cpus);
    CU_ASSERT_EQUAL(test_value(&cpus), 1);
    CU_ASSERT_TRUE(test_until(all_sleep, pool));
  }
  test_destroy(pool);
  CU_ASSERT_EQUAL(names_kept, 1);
}

#ifndef NDEBUG
static ws_pool_t *other;
static uint32_t misuse;

static void misuse_at_start(void *unused, const ws_observation_t *observation)
{
  ws_group_t group;
  ws_group_init(&group, 0);
  if (observation->what != WS_OBSERVED_START)
    return;
  if (misuse == 0)
    ws_pool_push(other, (ws_task_t){.func = test_empty_task});
  else if (misuse == 1)
    ws_group_wait(&group, other);
  else
    ws_pool_stop(other, WS_STOP_DRAIN);
}

static void create_misused(void)
{
  other = test_pool(1);
  create(1, misuse_at_start);
}
#endif

TEST_CASE(misuse_ends_the_process)
{
#ifdef NDEBUG
  printf("(skipped: checked in builds without NDEBUG) ");
#else
  const char *const messages[] = {"ws_pool_push(): called by settings.observer",
                                  "ws_group_wait(): called by settings.observer",
                                  "ws_pool_stop(): called by settings.observer"};
  for (misuse = 0; misuse < TEST_COUNT(messages); misuse++)
    CU_ASSERT(dies_with(create_misused, messages[misuse]));
#endif
}

TEST_MAIN("observer")
