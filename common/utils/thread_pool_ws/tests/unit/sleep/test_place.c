// SPDX-License-Identifier: BSD-3-Clause
/// @file test_place.c
/// A worker that parks leaves a producer's CPU: within the CPUs that it may use now, and without a trace in
/// its affinity. Linked with --wrap of the calls that ask for CPUs and the time: the kernel is the test's.
#define _GNU_SOURCE
#include "../../../sleep/ws_place.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "../../../pool/ws_near.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define ALL UINT64_MAX
#define CPU(number) (UINT64_C(1) << (number))
#define NEVER UINT32_MAX
#define OUTSIDE ((ws_here_t){.queue = &lane})
#define GUARD ((ws_here_t){0})

/// One thread on CPUs 0 to 63, as Linux 6.2 and later see it: what it may use is what it asked for, of what
/// its cpuset has.
static struct {
  uint64_t cpuset, asked;
  uint32_t cpu; ///< where it runs
  uint32_t calls, sets; ///< of its own
  pid_t of; ///< the thread that the last call named
  uint64_t ever; ///< CPUs that it was ever allowed to use by a call of the pool
  uint32_t taskset_at; ///< its affinity is set to taskset_to, from elsewhere, before this call of its own
  uint64_t taskset_to;
  ws_worker_t *returns; ///< it wakes, and returns, during the next call
  uint64_t now_ns;
  uint32_t priority; ///< of the calling thread
} os;

static uint64_t allowed(void)
{
  return os.asked & os.cpuset;
}

/// The kernel moves a thread that runs where it may not.
static void settle(void)
{
  if (!((allowed() >> os.cpu) & 1))
    os.cpu = (uint32_t)__builtin_ctzll(allowed());
}

static void taskset(uint64_t cpus)
{
  os.asked = cpus;
  settle();
}

static void count_call(void)
{
  ws_worker_t *returns = os.returns;
  os.returns = NULL;
  if (returns)
    ws_place_return(returns);
  if (os.calls++ == os.taskset_at)
    taskset(os.taskset_to);
}

static int sched_getaffinity_seam(pid_t pid, size_t bytes, cpu_set_t *set)
{
  os.of = pid;
  count_call();
  const uint64_t cpus = allowed();
  memset(set, 0, bytes);
  memcpy(set, &cpus, sizeof(cpus));
  return 0;
}

static int sched_setaffinity_seam(pid_t pid, size_t bytes, const cpu_set_t *set)
{
  os.of = pid;
  (void)bytes;
  count_call();
  uint64_t cpus;
  memcpy(&cpus, set, sizeof(cpus));
  if (!(cpus & os.cpuset)) {
    errno = EINVAL;
    return -1;
  }
  os.sets++;
  os.asked = cpus;
  os.ever |= allowed();
  settle();
  return 0;
}

static int32_t ws_os_cpu_seam(void)
{
  return (int32_t)os.cpu;
}

static uint32_t ws_os_priority_seam(void)
{
  return os.priority;
}

static uint64_t ws_os_now_ns_seam(void)
{
  return os.now_ns;
}

static struct ws_pool_s pool;
static ws_worker_t worker;
static bool realtime; ///< of the worker of the case
static ws_queue_t lane; ///< of the thread that wakes it

/// A worker on CPU 1, which is a producer's; the pool was made with the CPUs of @p cpuset.
static void begin(uint64_t cpuset)
{
  memset(&pool, 0, sizeof(pool));
  memset(&worker, 0, sizeof(worker));
  static unsigned long mask[16];
  memset(mask, 0, sizeof(mask));
  memcpy(mask, &cpuset, sizeof(cpuset));
  pool.mask = (ws_cpuset_t){.bytes = sizeof(mask), .mask = mask};
  pool.cpus = (uint32_t)__builtin_popcountll(cpuset);
  worker.pool = &pool;
  worker.cpu = -1;
  worker.realtime = realtime;
  ws_init_store(&pool.priority, realtime ? 50 : 0);
  worker.confine.bytes = sizeof(mask);
  memset(&os, 0, sizeof(os));
  os.cpuset = cpuset;
  os.asked = ALL;
  os.cpu = 1;
  os.taskset_at = NEVER;
  os.now_ns = UINT64_C(5000000000);
  ws_store_relaxed(&pool.producer_cpu, 1 + 1);
}

static uint64_t placements(void)
{
  return ws_load_relaxed(&worker.queue.count.placements);
}

/// The worker parks and wakes again.
static void sleep_once(void)
{
  ws_place_leave(&worker);
  ws_place_return(&worker);
}

static void it_moves_and_keeps_its_affinity(void)
{
  begin(0xf);
  sleep_once();
  CU_ASSERT_NOT_EQUAL(os.cpu, 1);
  CU_ASSERT_EQUAL(allowed(), 0xf);
  CU_ASSERT_EQUAL(ws_load_relaxed(&worker.seen_cpu), os.cpu + 1);
  CU_ASSERT_EQUAL(placements(), 1);
  os.cpuset = 0xff; // what a thread that has been moved must follow as others do
  CU_ASSERT_EQUAL(allowed(), 0xff);
}

static void it_stays_where_it_should(void)
{
  begin(0xf);
  os.cpu = 2; // not the producer's
  sleep_once();
  CU_ASSERT_EQUAL(os.cpu, 2);
  CU_ASSERT_EQUAL(placements(), 0);
  if (realtime)
    CU_ASSERT_EQUAL(os.calls, 0);
  os.calls = os.sets = 0;
  os.cpu = 1;
  worker.cpu = 1; // pinned
  sleep_once();
  CU_ASSERT_EQUAL(os.calls, 0);
  worker.cpu = -1;
  taskset(CPU(1)); // there is no other
  sleep_once();
  CU_ASSERT_EQUAL(os.sets, 0);
  CU_ASSERT_EQUAL(placements(), 0);
}

/// An operator takes CPUs from the thread while the pool lives: they stay taken.
static void taskset_is_kept(void)
{
  begin(0xf);
  taskset(CPU(0) | CPU(1));
  sleep_once();
  CU_ASSERT_EQUAL(os.cpu, 0);
  CU_ASSERT_EQUAL(allowed(), CPU(0) | CPU(1));
  begin(0xf);
  taskset(CPU(1) | CPU(3));
  sleep_once();
  CU_ASSERT_EQUAL(os.cpu, 3);
  CU_ASSERT_EQUAL(allowed(), CPU(1) | CPU(3));
  begin(0xf);
  sleep_once(); // it has found out that nothing but its cpuset restricts it; that is over now
  taskset(CPU(0) | CPU(1));
  os.cpu = 1;
  os.now_ns += UINT64_C(2000000000);
  sleep_once();
  CU_ASSERT_EQUAL(os.cpu, 0);
  CU_ASSERT_EQUAL(allowed(), CPU(0) | CPU(1));
}

/// isolcpus: a thread may ask for more than it has.
static void cpus_that_it_could_ask_for_are_not_taken(void)
{
  begin(0xff);
  os.asked = CPU(0) | CPU(1);
  sleep_once();
  CU_ASSERT_EQUAL(os.cpu, 0);
  CU_ASSERT_EQUAL(allowed(), CPU(0) | CPU(1));
}

/// The cpuset is changed between two moves, up and down.
static void a_cpuset_is_followed(void)
{
  begin(0x3);
  for (uint32_t round = 0; round < 8; round++) {
    os.cpuset = round % 2 ? 0x3 : 0xff;
    os.cpu = 1;
    os.now_ns += UINT64_C(2000000000);
    sleep_once();
    CU_ASSERT_EQUAL(allowed(), os.cpuset);
    CU_ASSERT_NOT_EQUAL(os.cpu, 1);
  }
}

/// An operator speaks while the worker moves. The two gaps between a look and the change that follows it
/// (before its second and its fourth call) cannot be closed.
static void taskset_during_a_move_is_kept(void)
{
  static const uint32_t seen_before[] = {0, 2, 4, NEVER};
  for (uint32_t i = 0; i < TEST_COUNT(seen_before); i++) {
    begin(0xf);
    os.taskset_at = seen_before[i];
    os.taskset_to = CPU(2);
    sleep_once();
    CU_ASSERT_EQUAL(allowed(), seen_before[i] == NEVER ? 0xf : CPU(2));
    CU_ASSERT_EQUAL(os.cpu == 2, seen_before[i] != NEVER);
  }
}

/// Producers on all CPUs, one after the other: a real-time worker is never in the right place. It moves a
/// thousand times a second, and no more. Its waker moves it where that is not enough.
static void it_follows_at_a_bounded_rate(void)
{
  realtime = true;
  begin(0x3);
  const uint64_t end_ns = os.now_ns + UINT64_C(1000000000);
  for (; os.now_ns < end_ns; os.now_ns += 300000) {
    ws_store_relaxed(&pool.producer_cpu, os.cpu + 1);
    sleep_once();
  }
  CU_ASSERT_TRUE(placements() > 800 && placements() <= 1000);
}

/// A normal worker pays for the system call in any case.
static void a_normal_worker_follows_each_producer(void)
{
  realtime = false;
  begin(0x3);
  for (uint32_t i = 0; i < 20; i++, os.now_ns += 1000) {
    ws_store_relaxed(&pool.producer_cpu, os.cpu + 1);
    ws_place_leave(&worker);
    CU_ASSERT_NOT_EQUAL(os.cpu + 1, ws_load_relaxed(&pool.producer_cpu));
    ws_place_return(&worker);
  }
  CU_ASSERT_EQUAL(placements(), 20);
}

/// The producer comes to the CPU where the worker sleeps, and wakes it: it wakes elsewhere.
static void its_waker_moves_it_off(void)
{
  begin(0x3);
  ws_place_leave(&worker); // to CPU 0
  ws_init_store(&worker.tid, 1234);
  ws_place_call(&worker, OUTSIDE, 0 + 1);
  CU_ASSERT_EQUAL(os.of, 1234);
  CU_ASSERT_EQUAL(allowed(), CPU(1));
  CU_ASSERT_EQUAL(worker.called_cpu, 0 + 1);
  ws_place_return(&worker);
  CU_ASSERT_EQUAL(allowed(), 0x3);
}

/// A real-time producer of the workers' priority goes on, and the kernel wakes the worker elsewhere: no
/// system call, neither by the waker nor when the worker sleeps.
static void an_equal_producer_needs_no_move(void)
{
  for (uint32_t priority = 49; priority <= 51; priority++) {
    const bool holds = priority >= 50;
    realtime = true;
    begin(0x3);
    os.priority = priority;
    ws_store_relaxed(&worker.seen_cpu, 1 + 1);
    ws_place_call(&worker, OUTSIDE, 1 + 1);
    CU_ASSERT_EQUAL(os.sets, holds ? 0 : 1);
    ws_place_return(&worker);
    os.sets = 0;
    os.cpu = 1;
    CU_ASSERT_EQUAL(ws_producer_on_cpu(&pool, 1), !holds);
    ws_place_leave(&worker);
    CU_ASSERT_EQUAL(os.sets, holds ? 0 : 2);
  }
}

/// A waker on another CPU, a pinned worker, an unknown CPU, one CPU: no system call.
static void its_waker_leaves_it_where_it_is(void)
{
  begin(0x3);
  ws_place_leave(&worker); // to CPU 0
  os.sets = 0;
  ws_place_call(&worker, OUTSIDE, 1 + 1);
  ws_store_relaxed(&worker.seen_cpu, 0);
  ws_place_call(&worker, OUTSIDE, 0);
  ws_store_relaxed(&worker.seen_cpu, 1);
  worker.cpu = 0;
  ws_place_call(&worker, OUTSIDE, 1);
  worker.cpu = -1;
  pool.cpus = 1;
  ws_place_call(&worker, OUTSIDE, 1);
  pool.cpus = 2;
  CU_ASSERT_EQUAL(worker.called_cpu, 1);
  ws_place_call(&worker, GUARD, 1);
  CU_ASSERT_EQUAL(worker.called_cpu, 0);
  CU_ASSERT_EQUAL(os.sets, 0);
}

/// An operator speaks while the worker sleeps: its waker changes nothing, and neither does the worker.
static void its_waker_keeps_a_taskset(void)
{
  realtime = false;
  begin(0xf);
  ws_place_leave(&worker);
  taskset(CPU(0) | CPU(3));
  ws_place_call(&worker, OUTSIDE, 0 + 1);
  CU_ASSERT_EQUAL(allowed(), CPU(0) | CPU(3));
  ws_place_return(&worker);
  CU_ASSERT_EQUAL(allowed(), CPU(0) | CPU(3));
  taskset(CPU(0)); // there is no other
  ws_store_relaxed(&worker.seen_cpu, 0 + 1);
  ws_place_call(&worker, OUTSIDE, 0 + 1);
  CU_ASSERT_EQUAL(allowed(), CPU(0));
}

/// Asleep, a normal worker is kept off the producer's CPU, wherever the kernel would like to wake it; awake
/// it may run anywhere again.
static void a_normal_worker_sleeps_elsewhere(void)
{
  realtime = false;
  begin(0x3);
  for (uint32_t round = 0; round < 4; round++) {
    os.cpu = round == 0; // later it is elsewhere already
    ws_place_leave(&worker);
    CU_ASSERT_EQUAL(os.cpu, 0);
    CU_ASSERT_EQUAL(allowed(), CPU(0));
    os.calls = 0;
    ws_place_return(&worker);
    CU_ASSERT_EQUAL(allowed(), 0x3);
    CU_ASSERT_TRUE(os.calls <= (round == 0 ? 3 : 2)); // on the way to a task
  }
  CU_ASSERT_EQUAL(placements(), 1);
}

/// A real-time worker is woken where it last ran: moved off, it may sleep anywhere.
static void a_realtime_worker_sleeps_unrestricted(void)
{
  realtime = true;
  begin(0x3);
  ws_place_leave(&worker);
  CU_ASSERT_EQUAL(os.cpu, 0);
  CU_ASSERT_EQUAL(allowed(), 0x3);
  ws_place_return(&worker);
  CU_ASSERT_EQUAL(allowed(), 0x3);
}

/// An operator speaks while the worker sleeps, and the cpuset changes.
static void changes_during_a_sleep_are_kept(void)
{
  realtime = false;
  begin(0xf);
  ws_place_leave(&worker);
  taskset(CPU(3));
  ws_place_return(&worker);
  CU_ASSERT_EQUAL(allowed(), CPU(3));
  os.now_ns += UINT64_C(2000000000);
  ws_store_relaxed(&pool.producer_cpu, 3 + 1);
  sleep_once(); // there is no other
  CU_ASSERT_EQUAL(allowed(), CPU(3));
}

/// The CPU where the worker may run while it sleeps is taken: the guard lets it run elsewhere.
static void the_guard_frees_a_sleeper(void)
{
  realtime = false;
  begin(0x3);
  ws_place_leave(&worker);
  CU_ASSERT_EQUAL(allowed(), CPU(0));
  ws_init_store(&worker.tid, 1234);
  ws_place_free(&worker);
  CU_ASSERT_EQUAL(allowed(), 0x3);
  CU_ASSERT_EQUAL(os.of, 1234); // not the guard's own affinity
  os.sets = 0;
  ws_place_return(&worker);
  CU_ASSERT_EQUAL(os.sets, 0);
}

/// The guard may lose its CPU in the middle: what it sets on the way must do no harm.
static void the_guard_gives_back_no_more_than_was_there(void)
{
  realtime = false;
  begin(0xf);
  taskset(CPU(0) | CPU(1));
  ws_place_leave(&worker);
  CU_ASSERT_EQUAL(allowed(), CPU(0));
  os.ever = 0;
  ws_init_store(&worker.tid, 1234);
  ws_place_free(&worker);
  CU_ASSERT_EQUAL(os.ever, CPU(0) | CPU(1));
  CU_ASSERT_EQUAL(allowed(), CPU(0) | CPU(1));
}

/// It wakes while the waker narrows its CPUs: it does not wait, and the waker gives them back.
static void one_that_wakes_meanwhile_is_freed(void)
{
  begin(0x3);
  ws_init_store(&worker.tid, 1234);
  ws_store_relaxed(&worker.seen_cpu, 1 + 1);
  os.returns = &worker;
  ws_place_call(&worker, OUTSIDE, 1 + 1);
  CU_ASSERT_EQUAL(allowed(), 0x3);
  CU_ASSERT_TRUE(os.sets >= 2);
  sleep_once(); // the masks are free again
  CU_ASSERT_EQUAL(allowed(), 0x3);
}

static void as_both(void (*test)(void))
{
  for (uint32_t class = 0; class <= 1; class ++) {
    realtime = class;
    test();
  }
}

static void both_it_moves_and_keeps_its_affinity(void)
{
  as_both(it_moves_and_keeps_its_affinity);
}

static void both_it_stays_where_it_should(void)
{
  as_both(it_stays_where_it_should);
}

static void both_taskset_is_kept(void)
{
  as_both(taskset_is_kept);
}

static void both_cpus_that_it_could_ask_for_are_not_taken(void)
{
  as_both(cpus_that_it_could_ask_for_are_not_taken);
}

static void both_a_cpuset_is_followed(void)
{
  as_both(a_cpuset_is_followed);
}

static void both_taskset_during_a_move_is_kept(void)
{
  as_both(taskset_during_a_move_is_kept);
}

static void both_its_waker_moves_it_off(void)
{
  as_both(its_waker_moves_it_off);
}

static void both_its_waker_leaves_it_where_it_is(void)
{
  as_both(its_waker_leaves_it_where_it_is);
}

static void test_seams(void)
{
  seam.sched_getaffinity = sched_getaffinity_seam;
  seam.sched_setaffinity = sched_setaffinity_seam;
  seam.ws_os_cpu = ws_os_cpu_seam;
  seam.ws_os_priority = ws_os_priority_seam;
  seam.ws_os_now_ns = ws_os_now_ns_seam;
}

TEST_MAIN_SEAMS(test_seams, "place", TEST_CASE(both_it_moves_and_keeps_its_affinity),
                TEST_CASE(both_it_stays_where_it_should), TEST_CASE(both_taskset_is_kept),
                TEST_CASE(both_cpus_that_it_could_ask_for_are_not_taken),
                TEST_CASE(both_a_cpuset_is_followed), TEST_CASE(both_taskset_during_a_move_is_kept),
                TEST_CASE(it_follows_at_a_bounded_rate), TEST_CASE(a_normal_worker_follows_each_producer),
                TEST_CASE(both_its_waker_moves_it_off), TEST_CASE(both_its_waker_leaves_it_where_it_is),
                TEST_CASE(its_waker_keeps_a_taskset), TEST_CASE(an_equal_producer_needs_no_move),
                TEST_CASE(a_normal_worker_sleeps_elsewhere), TEST_CASE(a_realtime_worker_sleeps_unrestricted),
                TEST_CASE(changes_during_a_sleep_are_kept), TEST_CASE(one_that_wakes_meanwhile_is_freed),
                TEST_CASE(the_guard_frees_a_sleeper), TEST_CASE(the_guard_gives_back_no_more_than_was_there))
