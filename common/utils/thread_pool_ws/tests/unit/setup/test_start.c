// SPDX-License-Identifier: BSD-3-Clause
/// @file test_start.c
/// Starting threads: scheduling classes with and without the privilege, threads that cannot be had.
#include "../../../pool/ws_process.h"
#include "../../../sleep/ws_sleep_state.h"
#include "../../support/ws_seam.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "setup_scene.h"

/// Linked with --wrap=pthread_create: from the given thread on there are no more. Counted: calls that got
/// one.
static ws_au32_t threads_left = {UINT32_MAX}; ///< UINT32_MAX = as many as there are

static ws_au32_t threads_asked; ///< calls
static uint32_t refused_calls[2]; ///< numbers of calls, from 0, from the one up to before the other

/// Limits are set while one thread runs; threads that push side by side meet no limit.
static bool take_one(ws_au32_t *left)
{
  const uint32_t count = ws_load_relaxed(left);
  if (count > 0 && count < UINT32_MAX)
    ws_sub_relaxed(left, 1);
  return count > 0;
}

static int pthread_create_seam(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
                               void *arg)
{
  const uint32_t number = ws_add_relaxed(&threads_asked, 1);
  if ((number >= refused_calls[0] && number < refused_calls[1]) || !take_one(&threads_left))
    return EAGAIN;
  return __real_pthread_create(thread, attr, body, arg);
}

/// Memory that pools have mapped and not given back (--wrap of ws_os_map and ws_os_unmap).
static ws_au64_t mapped_bytes;
static ws_au32_t maps_left = {UINT32_MAX}; ///< as above

static void *ws_os_map_seam(size_t bytes)
{
  if (!take_one(&maps_left))
    return NULL;
  ws_add_relaxed(&mapped_bytes, bytes);
  return __real_ws_os_map(bytes);
}

static void ws_os_unmap_seam(void *memory, size_t bytes)
{
  if (memory)
    ws_add_relaxed(&mapped_bytes, 0 - (uint64_t)bytes);
  __real_ws_os_unmap(memory, bytes);
}

/// Memory that ends at each of the mappings.
TEST_CASE(reserved_memory_is_given_back)
{
  const uint64_t before = test_value(&mapped_bytes);
  ws_settings_t settings = test_settings(3);
  settings.lanes = 2;
  settings.reserve = true;
  ws_pool_t *pool;
  uint32_t refused = 0;
  for (int result = -ENOMEM; result != 0; refused += result != 0) {
    ws_store_relaxed(&maps_left, refused);
    result = ws_pool_create(&pool, &settings);
    ws_store_relaxed(&maps_left, UINT32_MAX);
    CU_ASSERT_TRUE(result == 0 || (result == -ENOMEM && !pool && test_value(&mapped_bytes) == before));
  }
  CU_ASSERT_TRUE(refused > 0);
  CU_ASSERT_TRUE(runs_hundred(pool));
  test_destroy(pool);
  CU_ASSERT_EQUAL(test_value(&mapped_bytes), before);
}

/// With the privilege all workers have the class, without it none has, and a warning says so.
/// @return 0 = as told, 1 = not, TEST_CHILD_SKIP
static int take_classes(void *is_nobody_arg)
{
  const bool is_nobody = *(bool *)is_nobody_arg;
  const struct rlimit no_limit = {0};
  const struct sched_param param = {.sched_priority = 1}, none = {0};
  if (is_nobody) {
    setrlimit(RLIMIT_RTPRIO, &no_limit);
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
      return TEST_CHILD_SKIP;
  }
  if ((pthread_setschedparam(pthread_self(), SCHED_RR, &param) != 0) != is_nobody)
    return TEST_CHILD_SKIP;
  pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
  bool right = true;
  for (uint32_t i = 0; i < 2; i++) {
    ws_settings_t settings = test_settings(2);
    settings.sched_class = i ? WS_CLASS_FIFO : WS_CLASS_RR;
    settings.sched_priority = 5;
    ws_pool_t *pool = test_create(&settings);
    right &= runs_hundred(pool);
    ws_worker_stats_t worker[2];
    ws_stats_t total;
    ws_pool_stats(pool, &total, worker, 2);
    test_destroy(pool);
    const bool warned = test_warnings_with(i ? "class FIFO, priority 5" : "class RR, priority 5") == 1
                        && test_warnings_with("cpu.rt_runtime_us") == 1;
    right &= total.workers == 2 && total.workers_realtime == (is_nobody ? 0 : 2);
    right &= worker[0].realtime == !is_nobody && worker[1].realtime == !is_nobody;
    right &= test_warnings.count == is_nobody && warned == is_nobody;
  }
  return right ? 0 : 1;
}

TEST_CASE(real_time_class_with_and_without_the_privilege)
{
  for (uint32_t is_nobody = 0; is_nobody < 2; is_nobody++) {
    const int code = test_in_child(take_classes, &(bool){is_nobody});
    if (code == TEST_CHILD_SKIP)
      printf("(skipped: %s) ", is_nobody ? "the privilege cannot be dropped" : "no privilege");
    else
      CU_ASSERT_EQUAL(code, 0);
  }
}

/// The host's way to make threads: as told, but for the CPU when it may not. A thread that it holds waits at
/// the gate, as one that gets no CPU.
typedef struct {
  uint32_t asked, fails_at, holds; ///< an index; UINT32_MAX = none
  bool may_pin;
  int32_t cpu[6];
  sem_t gate;
  void *(*func)(void *arg);
  void *arg;
} host_t;

static void *wait_for_gate(void *host_arg)
{
  host_t *host = host_arg;
  while (sem_wait(&host->gate) != 0)
    ;
  return host->func(host->arg);
}

static int host_thread(void *host_arg, uint32_t index, int32_t cpu, void *(*func)(void *arg), void *arg)
{
  host_t *host = host_arg;
  const bool held = index == host->holds;
  if (index == host->fails_at)
    return EAGAIN;
  pthread_t thread;
  host->func = held ? func : host->func;
  host->arg = held ? arg : host->arg;
  const int error = pthread_create(&thread, NULL, held ? wait_for_gate : func, held ? host : arg);
  if (error)
    return error;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &set);
  if (cpu >= 0 && host->may_pin)
    pthread_setaffinity_np(thread, sizeof(set), &set);
  host->cpu[index] = cpu;
  host->asked++;
  return 0;
}

TEST_CASE(host_creates_the_threads)
{
  for (uint32_t may_pin = 0; may_pin < 2; may_pin++) {
    host_t host = {.fails_at = UINT32_MAX, .holds = UINT32_MAX, .may_pin = may_pin};
    const int32_t core = (int32_t)test_cpu(0), cores[] = {-1, core};
    ws_settings_t settings = test_settings(2);
    settings.cores = cores;
    settings.core_count = 2;
    settings.sched_class = WS_CLASS_FIFO; // not looked at
    settings.sched_priority = 1;
    settings.thread_create = host_thread;
    settings.create_arg = &host;
    ws_pool_t *pool = test_create(&settings);
    CU_ASSERT_EQUAL(host.asked, 2);
    CU_ASSERT_TRUE(host.cpu[0] == -1 && host.cpu[1] == core);
    const bool pinned = may_pin || test_cpus() == 1;
    CU_ASSERT_EQUAL(test_stats(pool).workers_pinned, pinned);
    CU_ASSERT_EQUAL(test_stats(pool).workers_realtime, 0);
    CU_ASSERT_EQUAL(test_warnings.count, !pinned);
    CU_ASSERT_TRUE(runs_hundred(pool));
    test_destroy(pool);
  }
}

static bool has_all(void *pool)
{
  return test_stats(pool).workers == 6;
}

/// Whether the kernel refuses the next one, or the host. The kernel's first one is the guard, which makes the
/// others once they are granted. All memory is given back, also that of queues that grew.
TEST_CASE(as_many_workers_as_threads_can_be_had)
{
  const uint64_t before = test_value(&mapped_bytes);
  for (uint32_t k = 0; k <= 7; k++) {
    const uint32_t granted = k / 2, workers = k % 2 || granted == 0 ? granted : granted - 1;
    host_t host = {.fails_at = granted, .holds = UINT32_MAX};
    ws_settings_t settings = test_settings(6);
    settings.lanes = 1;
    settings.queue_capacity = 2;
    settings.thread_create = k % 2 ? host_thread : NULL;
    settings.create_arg = &host;
    ws_store_relaxed(&threads_left, k % 2 ? UINT32_MAX : granted);
    ws_pool_t *pool = test_create(&settings);
    CU_ASSERT_EQUAL(test_stats(pool).workers, workers);
    CU_ASSERT_EQUAL(test_stats(pool).workers_requested, 6);
    CU_ASSERT_EQUAL(test_warnings_with("of 6 workers could be started"), 1);
    CU_ASSERT_TRUE(runs_hundred(pool));
    CU_ASSERT_EQUAL(TEST_SUM(pool, inline_tasks), workers ? 0 : 100);
    ws_store_relaxed(&threads_left, UINT32_MAX);
    CU_ASSERT_TRUE(k % 2 || granted == 0 || test_until(has_all, pool));
    CU_ASSERT_TRUE(runs_hundred(pool));
    test_destroy(pool);
    CU_ASSERT_EQUAL(test_value(&mapped_bytes), before);
  }
}

/// Returns when two of them run at the same time, on two threads.
static void meet(void *both)
{
  pthread_barrier_wait(both);
}

enum { TRIES = 8 }; ///< for one worker, over 0.13 s

static bool guard_is_batch(void *pool)
{
  return syscall(SYS_sched_getscheduler, ws_hint_load(&ws_sleep_pool(pool)->guard_tid)) == SCHED_BATCH;
}

static ws_au32_t observed; ///< bit i: worker i

static void observe_start(void *unused, const ws_observation_t *observation)
{
  if (observation->what == WS_OBSERVED_START)
    ws_or_acq_rel(&observed, 1u << observation->worker);
}

/// @return a pool of four workers. Of the calls since then these get no thread: the guard's comes first
static ws_pool_t *refuse(uint32_t from, uint32_t until)
{
  ws_store_relaxed(&threads_asked, 0);
  ws_store_relaxed(&observed, 0);
  refused_calls[0] = from;
  refused_calls[1] = until;
  ws_settings_t settings = test_settings(4);
  settings.observer = observe_start;
  return test_create(&settings);
}

static int creator_slack_ns;

/// As meet(), for workers that are as the creator, whichever thread has made them, and were observed.
static void meet_inherited(void *all)
{
  const ws_worker_t *worker = ws_self()->worker;
  sigset_t blocked;
  ws_cpuset_t cpus;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  ws_os_thread_cpus(0, &cpus);
  if (sigismember(&blocked, SIGUSR2) && syscall(SYS_sched_getscheduler, 0) == SCHED_OTHER
      && worker->start.slack_ns == (uint64_t)creator_slack_ns
      && ws_os_cpuset_count(&cpus) == ws_os_cpuset_count(&worker->pool->mask)
      && ws_load_acquire(&observed) >> worker->index & 1)
    meet(all);
}

/// The system refuses threads for some calls, and grants the next one. Refused are: the guard, for less than
/// the start tries, and for longer than it tries with workers; all but the first worker, which join the
/// running pool; all until the pool's end, which makes none.
TEST_CASE(threads_that_are_refused_for_now)
{
  pthread_barrier_t all;
  sigset_t usr2, before;
  pthread_barrier_init(&all, NULL, 4);
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &usr2, &before);
  ws_pool_t *pool = refuse(0, TRIES - 1);
  CU_ASSERT_TRUE(test_stats(pool).workers == 4 && test_warnings.count == 0);
  test_destroy(pool);
  pool = refuse(0, 3 * TRIES);
  CU_ASSERT_TRUE(ws_pool_size(pool) == 4 && test_warnings.count == 0);
  test_destroy(pool);
  creator_slack_ns = prctl(PR_GET_TIMERSLACK);
  pool = refuse(2, 2 + TRIES + 1); // the guard's first try, too
  CU_ASSERT_EQUAL(test_warnings_with("only 1 of 4 workers could be started at once: limit of threads"), 1);
  CU_ASSERT_TRUE(ws_pool_size(pool) == 4 && (ws_load_acquire(&observed) & 1));
  test_on_workers(pool, 4, meet_inherited, &all);
  CU_ASSERT_TRUE(test_until(guard_is_batch, pool)); // as it has made all
  test_destroy(pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&threads_asked), 2 + TRIES + 1 + 3);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  for (uint32_t how = WS_STOP_DRAIN; how <= WS_STOP_ABORT; how++) {
    pool = refuse(2, UINT32_MAX);
    CU_ASSERT_TRUE(runs_hundred(pool));
    CU_ASSERT_EQUAL(test_stats(pool).workers, 1);
    CU_ASSERT_EQUAL(ws_pool_stop(pool, (ws_stop_t)how), 0);
    refused_calls[1] = 0;
    CU_ASSERT_EQUAL(test_stats(pool).workers, 1);
    test_destroy(pool);
  }
}

/// A thread of class DEADLINE cannot make threads. @return 0 = the warning, the only one, names the class
static int create_in_deadline(void *unused)
{
  (void)unused;
  // struct sched_attr: size and policy; flags; nice and priority; runtime, deadline, period
  const uint64_t deadline[] = {48 | (uint64_t)SCHED_DEADLINE << 32, 0, 0, 10000000, 100000000, 100000000};
  if (syscall(SYS_sched_setattr, 0, deadline, 0) != 0)
    return TEST_CHILD_SKIP;
  ws_pool_t *pool = refuse(0, 0);
  const bool named = test_warnings_with("SCHED_DEADLINE") == 1 && test_warnings_with("RESET_ON_FORK") == 1;
  const bool right = runs_hundred(pool) && ws_load_relaxed(&threads_asked) == 1;
  ws_pool_destroy(pool);
  return named && right && test_warnings.count == 1 ? 0 : 1;
}

TEST_CASE(a_creator_of_class_deadline)
{
  const int code = test_in_child(create_in_deadline, NULL);
  printf("%s", code == TEST_CHILD_SKIP ? "(skipped: no privilege) " : "");
  CU_ASSERT_TRUE(code == 0 || code == TEST_CHILD_SKIP);
}

static void note_stack(void *bytes)
{
  pthread_attr_t attr;
  pthread_getattr_np(pthread_self(), &attr);
  pthread_attr_getstacksize(&attr, bytes);
  pthread_attr_destroy(&attr);
}

TEST_CASE(workers_have_the_stack_that_was_asked_for)
{
  ws_settings_t settings = test_settings(1);
  settings.stack_bytes = 64 << 20; // more than the default
  ws_pool_t *pool = test_create(&settings);
  size_t bytes = 0;
  test_on_workers(pool, 1, note_stack, &bytes);
  test_destroy(pool);
  CU_ASSERT_TRUE(bytes > settings.stack_bytes / 2); // without its guard pages
  settings.stack_bytes = 4096;
  CU_ASSERT_EQUAL(ws_pool_create(&pool, &settings), -EINVAL);
  CU_ASSERT_EQUAL(test_warnings_with("stack of new threads is too small: 4096 bytes"), 1);
}

static void *open_gate(void *host_arg)
{
  usleep(10000); // most likely the stop waits then
  sem_post(&((host_t *)host_arg)->gate);
  return NULL;
}

/// It joins late, or has none until the pool ends.
TEST_CASE(a_worker_without_a_cpu)
{
  for (uint32_t joins = 0; joins < 2; joins++) {
    host_t host = {.fails_at = UINT32_MAX, .holds = 1};
    test_threads_t threads = {0};
    pthread_barrier_t both;
    sem_init(&host.gate, 0, 0);
    pthread_barrier_init(&both, NULL, 2);
    ws_settings_t settings = test_settings(2);
    settings.thread_create = host_thread;
    settings.create_arg = &host;
    ws_pool_t *pool = test_create(&settings);
    CU_ASSERT_EQUAL(test_warnings_with("worker 1 (on CPU -1, -1 = any) has got no CPU"), 1);
    CU_ASSERT_EQUAL(test_stats(pool).workers, 2);
    CU_ASSERT_TRUE(runs_hundred(pool));
    test_spawn(&threads, open_gate, &host);
    test_on_workers(pool, joins ? 2 : 0, meet, &both);
    test_destroy(pool);
    test_join(&threads);
    pthread_barrier_destroy(&both);
    sem_destroy(&host.gate);
  }
}

TEST_MAIN_SEAMS("start", SEAM(pthread_create), SEAM(ws_os_map), SEAM(ws_os_unmap))
