// SPDX-License-Identifier: BSD-3-Clause
/// @file isolated.c
/// A pool on a machine with isolated CPUs (isolcpus=, nohz_full=): which of its threads run there.
///
/// ci/lab isolated runs it in a virtual machine. Elsewhere it is skipped.
#include "../../sleep/ws_sleep_state.h"
#include "../support/ws_test.h"

static ws_cpuset_t isolated, usual; ///< usual: the process's at its start
static uint32_t inside, first; ///< how many are isolated, and the first of them

static void skip_unless_possible(void)
{
  ws_os_read_list("/sys/devices/system/cpu/isolated", &isolated);
  ws_os_process_cpus(&usual);
  inside = ws_os_cpuset_count(&isolated);
  while (inside > 0 && !ws_os_cpuset_has(&isolated, first))
    first++;
  if (inside >= 3)
    return;
  printf("skipped: this machine has not three isolated CPUs; ci/lab isolated has\n");
  exit(77);
}

/// Checks that thread @p tid did not run on an isolated CPU last, and may not.
static void check_outside(uint32_t tid)
{
  ws_cpuset_t cpus;
  CU_ASSERT_FALSE(ws_os_cpuset_has(&isolated, ws_os_thread_last_cpu((int32_t)tid) - 1));
  CU_ASSERT_EQUAL_FATAL(ws_os_thread_cpus((int32_t)tid, &cpus), 0);
  for (size_t i = 0; i < TEST_COUNT(cpus.mask); i++)
    CU_ASSERT_EQUAL(cpus.mask[i] & isolated.mask[i], 0);
}

/// A pool with a worker on each isolated CPU, from the @p from th on.
static ws_pool_t *create_inside(uint32_t from, ws_settings_t settings)
{
  static int32_t core[WS_CPUSET_MAX];
  settings.workers = 0;
  for (uint32_t cpu = first, found = 0; cpu < WS_CPUSET_MAX; cpu++)
    if (ws_os_cpuset_has(&isolated, cpu) && found++ >= from)
      core[settings.workers++] = (int32_t)cpu;
  settings.cores = core;
  settings.core_count = settings.workers;
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_EQUAL(test_stats(pool).workers_pinned, inside - from);
  check_outside(ws_load_acquire(&ws_sleep_pool(pool)->guard_tid));
  return pool;
}

TEST_CASE(floating_workers_keep_out)
{
  ws_pool_t *pool = test_pool(6);
  for (uint32_t i = 0; i < 100; i++) {
    test_burst(pool, 12, test_empty_task, NULL);
    test_sleep_ms(2); // they park, and leave this thread's CPU
  }
  CU_ASSERT_TRUE(test_until_quiet(pool));
  for (uint32_t i = 0; i < pool->workers; i++)
    check_outside(ws_tid(pool->worker[i]));
  check_outside(ws_load_acquire(&ws_sleep_pool(pool)->guard_tid));
  test_destroy(pool);
}

static ws_au64_t ran_inside;

static void note_cpu(void *unused)
{
  ws_add_relaxed(&ran_inside, ws_os_cpuset_has(&isolated, (uint32_t)sched_getcpu()));
}

TEST_CASE(pinned_workers_run_inside)
{
  ws_pool_t *pool = create_inside(0, test_settings(1));
  test_on_workers(pool, 200, note_cpu, NULL);
  CU_ASSERT_EQUAL(test_value(&ran_inside), 200);
  test_destroy(pool);
}

/// @return timer interrupts on a CPU so far: each CPU has a column
static uint64_t ticks_of(uint32_t cpu)
{
  char line[1024];
  FILE *file = fopen("/proc/interrupts", "r");
  while (file && fgets(line, sizeof(line), file) && !strstr(line, "LOC:"))
    ;
  if (file)
    fclose(file);
  char *next = strchr(line, ':') + 1;
  for (uint32_t i = 0; i < cpu; i++)
    strtoull(next, &next, 10);
  return strtoull(next, NULL, 10);
}

/// A worker has no ticks in a second in which a thread outside, which is busy, has some.
static void check_ticks(ws_spin_t spin)
{
  ws_settings_t settings = test_settings(1);
  settings.spin = spin;
  ws_pool_t *pool = create_inside(inside - 1, settings);
  test_on_workers(pool, 1, test_empty_task, NULL);
  test_sleep_ms(100);
  const uint32_t cpu = (uint32_t)pool->worker[0]->cpu, here = test_cpu(1);
  CU_ASSERT_EQUAL(ws_os_pin(0, here), 0);
  const uint64_t before = ticks_of(cpu), own_before = ticks_of(here), end_ns = test_now_ns() + 1000000000;
  while (test_now_ns() < end_ns)
    ws_pause();
  CU_ASSERT_TRUE(4 * (ticks_of(cpu) - before) < ticks_of(here) - own_before);
  CU_ASSERT_EQUAL(test_stats(pool).workers_awake, spin == WS_SPIN_HOT);
  ws_os_allow(0, &usual);
  test_destroy(pool);
}

TEST_CASE(a_normal_worker_that_spins_or_sleeps_has_no_tick)
{
  check_ticks(WS_SPIN_OFF);
  check_ticks(WS_SPIN_HOT);
}

/// The producer holds an isolated CPU, and every awake worker is blocked: the guard wakes one for the task.
static void *produce_inside(void *unused)
{
  ws_os_pin(0, first);
  ws_settings_t settings = test_settings(1);
  settings.sched_class = WS_CLASS_FIFO;
  settings.sched_priority = 20;
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){.sched_priority = 10});
  ws_pool_t *pool = create_inside(1, settings);
  for (uint32_t round = 0; round < 20; round++) {
    TEST_GATE(gate);
    test_hold(pool, &gate, inside - 2);
    const uint64_t before = test_value(&ran_inside);
    test_push(pool, note_cpu, NULL, NULL);
    test_patience_t patience = {0};
    while (test_value(&ran_inside) == before && test_is_patient(&patience))
      ws_pause();
    CU_ASSERT_EQUAL(test_value(&ran_inside), before + 1);
    test_gate_let(&gate, inside - 2);
    ws_pool_wait(pool);
  }
  test_destroy(pool);
  return unused;
}

TEST_CASE(a_producer_that_holds_an_isolated_cpu)
{
  test_in_threads(1, produce_inside, NULL);
}

int main(int argc, char **argv)
{
  skip_unless_possible();
  return test_run(argc - 1, argv + 1);
}

TEST_MAIN("lab isolated")
