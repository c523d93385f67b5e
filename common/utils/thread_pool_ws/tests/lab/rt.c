// SPDX-License-Identifier: BSD-3-Clause
/// @file rt.c
/// A pool beside threads of class FIFO that hold every CPU, and with and without the right to that class.
///
/// ci/lab rt runs it in virtual machines. Elsewhere it is skipped: it would stop the machine.
/// WS_LAB_SHARE: whether normal threads have a share of each CPU nevertheless (throttling, the fair server)
/// WS_LAB_NICE: whether this process has CAP_SYS_NICE
#include <sys/resource.h>

#include "../support/ws_test.h"

/// Priorities. Of the kernel's threads, those of timers have 1, those of interrupts 50.
enum { HOG = 40, ABOVE = 60, HIGHEST = 70 };

static bool has(const char *variable)
{
  return getenv(variable) && atoi(getenv(variable)) != 0;
}

static bool use_class(int priority)
{
  const int policy = priority > 0 ? SCHED_FIFO : SCHED_OTHER;
  return pthread_setschedparam(pthread_self(), policy, &(struct sched_param){priority}) == 0;
}

static ws_settings_t fifo(uint32_t workers)
{
  ws_settings_t settings = test_settings(workers);
  settings.sched_class = WS_CLASS_FIFO;
  settings.sched_priority = HIGHEST;
  return settings;
}

static int realtime_workers(void *limit)
{
  const ws_settings_t settings = fifo(2);
  if (setrlimit(RLIMIT_RTPRIO, &(struct rlimit){*(rlim_t *)limit, *(rlim_t *)limit}) != 0)
    return TEST_CHILD_SKIP;
  ws_pool_t *pool = test_create(&settings);
  test_on_workers(pool, 50, test_empty_task, NULL);
  return (int)(test_stats(pool).workers_realtime + 10 * test_warnings_with("CAP_SYS_NICE"));
}

TEST_CASE(the_class_needs_the_capability_or_the_limit)
{
  for (rlim_t limit = 0; limit <= HIGHEST; limit += HIGHEST)
    CU_ASSERT_EQUAL(test_in_child(realtime_workers, &limit), has("WS_LAB_NICE") || limit > 0 ? 2 : 10);
}

// Hogs.

static ws_au32_t holding, release, gave_up;
static test_threads_t hogs;

static void poll_for_release(void)
{
  test_patience_t patience = {0};
  while (!ws_load_acquire(&release) && test_is_patient(&patience))
    ws_pause();
  ws_or_acq_rel(&gave_up, !ws_load_acquire(&release));
}

static void *hold_cpu(void *unused)
{
  ws_os_pin(0, ws_add_relaxed(&holding, 1));
  use_class(HOG);
  poll_for_release();
  return unused;
}

/// From now on a thread of class FIFO holds each CPU, and the caller goes before it.
static void hold_cpus(void)
{
  ws_store_relaxed(&holding, 0);
  ws_store_relaxed(&release, 0);
  CU_ASSERT_TRUE_FATAL(use_class(ABOVE));
  for (uint32_t i = 0; i < test_cpus(); i++)
    test_spawn(&hogs, hold_cpu, NULL);
  test_sleep_ms(100);
}

static void release_cpus(void)
{
  CU_ASSERT_FALSE(ws_load_acquire(&gave_up)); // else the test has waited for them
  ws_store_release(&release, 1);
  test_join(&hogs);
  use_class(0);
}

/// The first pool of a process is made before: the kernel registers its heavy fences when all CPUs have
/// switched threads.
TEST_CASE(pools_above_the_threads_that_hold_every_cpu_begin_and_end)
{
  ws_settings_t settings = fifo(4);
  settings.deadline_ns = 1;
  strcpy(settings.record, "/tmp");
  ws_pool_t *first = test_create(&settings);
  hold_cpus();
  test_on_workers(first, 50, test_empty_task, NULL);
  ws_pool_t *second = test_create(&settings);
  test_on_workers(second, 50, test_empty_task, NULL);
  test_destroy(second);
  test_destroy(first);
  CU_ASSERT_EQUAL(test_warnings_with("record is not written"), 0);
  release_cpus();
}

TEST_CASE(normal_workers_have_the_share_of_normal_threads)
{
  ws_pool_t *pool = test_pool(4);
  hold_cpus();
  if (!has("WS_LAB_SHARE"))
    release_cpus();
  test_on_workers(pool, 50, test_empty_task, NULL);
  test_destroy(pool);
  release_cpus();
}

static void *run_on(void *count)
{
  ws_os_pin(0, ws_add_relaxed((ws_au32_t *)count, 1));
  return NULL;
}

/// They rest, also where the kernel takes no CPU from threads of class FIFO.
TEST_CASE(normal_threads_run_beside_hot_workers)
{
  ws_settings_t settings = fifo(test_cpus() - 1);
  settings.spin = WS_SPIN_HOT;
  settings.pin_step = 1;
  ws_pool_t *pool = test_create(&settings);
  ws_au32_t count = {0};
  test_in_threads(test_cpus(), run_on, &count);
  test_destroy(pool);
}

static void answer(void *unused)
{
  ws_store_release(&release, 1);
}

static void poll_for_answer(void *unused)
{
  poll_for_release();
}

/// The guard helps, whose timer a kernel with PREEMPT_RT keeps on the CPU on which the guard slept last: the
/// polling task may hold that. Both come at once: the worker of the first may take the CPU of this normal
/// thread until Linux balances its load.
TEST_CASE(a_task_that_polls_for_another_one)
{
  test_use_cpus(2);
  const ws_settings_t settings = fifo(3);
  const ws_task_t tasks[] = {{.func = poll_for_answer}, {.func = answer}};
  ws_pool_t *pool = test_create(&settings);
  for (uint32_t round = 0; round < 40; round++) {
    ws_store_relaxed(&release, 0);
    CU_ASSERT_EQUAL_FATAL(ws_pool_push_batch(pool, tasks, 2), 2);
    while (test_stats(pool).queued_tasks > 0)
      test_sleep_ms(1); // this thread does not help
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_FALSE(ws_load_acquire(&gave_up));
    test_sleep_ms(round % 4 * 5);
  }
  test_destroy(pool);
  test_use_cpus(0);
}

TEST_MAIN("lab rt")

int main(int argc, char **argv)
{
  if (!getenv("WS_LAB_SHARE")) {
    printf("skipped: it would stop this machine; ci/lab rt has others\n");
    return 77;
  }
  return test_run(argc - 1, argv + 1);
}
