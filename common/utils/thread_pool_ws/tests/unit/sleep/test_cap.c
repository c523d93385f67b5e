// SPDX-License-Identifier: BSD-3-Clause
/// @file test_cap.c
/// How many workers may be awake, and when the guard lifts that cap and lowers it. Linked with --wrap: a pool
/// can be told that there are eight CPUs, and the guard can be held between two looks, or look as often as
/// the test grants.
#define _GNU_SOURCE
#include <sched.h>

#include "../../../sleep/ws_budget.h"
#include "../../../sleep/ws_wake.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

static struct {
  ws_pool_t *pool;
  test_gate_t gate;
} scene;

static ws_au32_t eight_cpus; ///< bool; the guard looks at the CPUs, too
static ws_au32_t guard_held; ///< bool
static ws_au32_t looks_granted; ///< looks that a guard that is held may still have

static int sched_getaffinity_seam(pid_t pid, size_t bytes, cpu_set_t *set)
{
  const int result = __real_sched_getaffinity(pid, bytes, set);
  if (!ws_load_relaxed(&eight_cpus)) // relaxed: as below
    return result;
  for (size_t cpu = 8 * bytes; CPU_COUNT_S(bytes, set) > 8;)
    CPU_CLR_S(--cpu, bytes, set);
  for (size_t cpu = 0; CPU_COUNT_S(bytes, set) < 8; cpu++)
    CPU_SET_S(cpu, bytes, set);
  return result;
}

static bool is_held(const ws_au32_t *word)
{
  if (!ws_load_acquire(&guard_held) || word != &scene.pool->guard)
    return false;
  uint32_t granted = ws_load_acquire(&looks_granted);
  return granted == 0 || !ws_cas_acq_rel(&looks_granted, &granted, granted - 1);
}

static int ws_os_futex_wait_seam(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns)
{
  const int result = __real_ws_os_futex_wait(word, expected, timeout_ns);
  while (is_held(word))
    test_sleep_ms(1);
  return result;
}

/// No worker ever looks as if it got no CPU, however loaded the machine is.
static uint64_t ws_os_thread_cpu_ns_seam(int32_t tid)
{
  static ws_au64_t cpu_ns;
  (void)tid;
  return ws_add_relaxed(&cpu_ns, 1) + 1;
}

/// What the guard sees: as it is; or no thread sleeps; or the workers do not, and threads outside do.
enum { SEES_ALL, SEES_NONE_ASLEEP, SEES_OUTSIDE_ASLEEP };
static ws_au32_t guard_sees;

static bool is_worker(int32_t tid)
{
  for (uint32_t i = 0; i < scene.pool->workers; i++)
    if (ws_tid(scene.pool->worker[i]) == tid)
      return true;
  return false;
}

static bool ws_os_thread_sleeps_seam(int32_t tid)
{
  const uint32_t sees = ws_load_acquire(&guard_sees);
  if (sees == SEES_ALL)
    return __real_ws_os_thread_sleeps(tid);
  return sees == SEES_OUTSIDE_ASLEEP && !is_worker(tid);
}

/// The test's control group may have less than eight CPUs' worth.
static uint32_t ws_os_quota_cpus_seam(void)
{
  return UINT32_MAX;
}

/// A pool on one CPU, all of whose workers sleep.
static void open_scene(uint32_t workers, bool fifo)
{
  test_use_cpus(1);
  ws_settings_t settings = test_settings(workers);
  settings.fifo = fifo;
  scene.pool = test_create(&settings);
  test_gate_init(&scene.gate);
  CU_ASSERT_TRUE(test_until_quiet(scene.pool));
}

static void close_scene(void)
{
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
  test_use_cpus(0);
}

static bool guard_is_down(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.pool->guard) == WS_GUARD_DORMANT;
}

/// From now on the guard looks only when that is granted. It is down, so that it is at no look now.
static void hold_guard(void)
{
  CU_ASSERT_TRUE(test_until(guard_is_down, NULL));
  ws_store_release(&looks_granted, 0);
  ws_store_release(&guard_held, 1);
}

/// A pool of ten workers on eight CPUs, all of them pinned to CPU @p core, or floating where that is -1.
static ws_pool_t *ten_on_eight(int32_t core)
{
  int32_t cores[10];
  for (uint32_t i = 0; i < TEST_COUNT(cores); i++)
    cores[i] = core;
  ws_settings_t settings = test_settings(TEST_COUNT(cores));
  settings.cores = cores;
  settings.core_count = core < 0 ? 0 : TEST_COUNT(cores);
  ws_store_relaxed(&eight_cpus, 1); // relaxed: no thread of the pool runs yet
  ws_pool_t *pool = test_create(&settings);
  ws_store_relaxed(&eight_cpus, 0); // relaxed: the guard may see either
  CU_ASSERT_TRUE(test_until_quiet(pool));
  return pool;
}

static uint32_t left_by(uint32_t threads)
{
  return scene.pool->cpus > threads ? scene.pool->cpus - threads : 1;
}

/// As many awake workers as CPUs that threads outside leave, at least one; and no more than they have CPUs.
static void the_cap_leaves_cpus_to_threads_outside(void)
{
  scene.pool = ten_on_eight(-1);
  CU_ASSERT_EQUAL(ws_awake_limit(scene.pool), 8);
  ws_store_relaxed(&scene.pool->outside, 1);
  CU_ASSERT_EQUAL(ws_awake_limit(scene.pool), left_by(1));
  ws_store_relaxed(&scene.pool->helpers, 3);
  CU_ASSERT_EQUAL(ws_awake_limit(scene.pool), left_by(3));
  ws_store_relaxed(&scene.pool->helpers, 20);
  CU_ASSERT_EQUAL(ws_awake_limit(scene.pool), 1);
  ws_store_relaxed(&scene.pool->lifted, 1);
  CU_ASSERT_EQUAL(ws_awake_limit(scene.pool), 10);
  ws_store_relaxed(&scene.pool->helpers, 0);
  test_destroy(scene.pool);
  scene.pool = ten_on_eight(sched_getcpu());
  CU_ASSERT_EQUAL(ws_awake_limit(scene.pool), 1);
  test_destroy(scene.pool);
}

static ws_au32_t asked, answered; ///< bool

static void poll_for_answer(void *unused)
{
  (void)unused;
  ws_store_release(&asked, 1);
  while (!ws_load_acquire(&answered))
    sched_yield();
}

static void answer(void *unused)
{
  (void)unused;
  ws_store_release(&answered, 1);
}

static bool is_set(void *flag)
{
  return ws_load_acquire((ws_au32_t *)flag);
}

/// A task polls for what a later task does. It uses its CPU: nothing tells it from one that works but that no
/// task is begun or finished.
static void a_task_polls_for_a_later_one(void)
{
  open_scene(2, false);
  test_push(scene.pool, poll_for_answer, NULL, NULL);
  CU_ASSERT_TRUE(test_until(is_set, &asked));
  test_push(scene.pool, answer, NULL, NULL);
  CU_ASSERT_TRUE(test_until(is_set, &answered));
  answer(NULL);
  close_scene();
}

#define OWN_TASKS 40u
#define MANY_TASKS 100u

static struct {
  ws_group_t group;
  int32_t waiter; ///< the thread that waits for the group
  ws_au32_t lifted; ///< bool: a task has seen the cap lifted
} own;

/// Lasts for a look of the guard, which looks two or three times a task at most.
static void outlast_a_look(void *unused)
{
  (void)unused;
  const uint64_t looks = ws_load_relaxed(&scene.pool->guard_looks);
  while (ws_load_relaxed(&scene.pool->guard_looks) == looks) {
    ws_store_release(&looks_granted, 1); // again: a guard that becomes standing uses one without a look
    sched_yield();
  }
  ws_store_release(&looks_granted, 0); // no look while the next task waits for its worker to get a CPU
  if (ws_load_relaxed(&scene.pool->lifted))
    ws_store_relaxed(&own.lifted, 1);
}

static void push_own_tasks(void *unused)
{
  (void)unused;
  while (!__real_ws_os_thread_sleeps(own.waiter))
    sched_yield();
  for (uint32_t i = 0; i < OWN_TASKS; i++)
    test_push(scene.pool, outlast_a_look, NULL, &own.group);
}

static bool own_tasks_are_done(void *unused)
{
  (void)unused;
  return ws_group_done(&own.group);
}

/// A worker completes consecutive tasks of a group together, and takes its own oldest first as a thief does.
/// The guard must not think that it stands still, and lift the cap.
static void a_worker_that_runs_its_own_tasks_is_no_stall(void)
{
  open_scene(2, true);
  ws_group_init(&own.group, OWN_TASKS);
  ws_store_relaxed(&own.lifted, 0);
  own.waiter = ws_os_tid();
  hold_guard();
  test_push(scene.pool, push_own_tasks, NULL, NULL);
  ws_group_wait(&own.group, NULL); // this thread sleeps all the time
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->outside), 0); // this thread was seen asleep: it needs no CPU
  ws_store_release(&guard_held, 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&own.lifted), 0);
  close_scene();
}

/// Up to @p tasks tasks come one by one, none waits, and the guard looks at each. @return whether the cap,
/// lifted at first, still is after the last one
static bool stays_lifted(uint32_t tasks)
{
  hold_guard();
  ws_store_relaxed(&scene.pool->lifted, 1); // a guard that becomes dormant lowers it
  bool run = true;
  for (uint32_t i = 0; i < tasks && run && ws_load_relaxed(&scene.pool->lifted); i++) { // relaxed: no more
    ws_group_init(&own.group, 1);
    test_push(scene.pool, outlast_a_look, NULL, &own.group);
    run = test_until(own_tasks_are_done, NULL);
  }
  CU_ASSERT_TRUE(run);
  CU_ASSERT_EQUAL(ws_load_acquire(&scene.pool->guard), WS_GUARD_STANDING);
  const bool lifted = ws_load_relaxed(&scene.pool->lifted);
  ws_store_release(&guard_held, 0);
  return lifted;
}

static bool a_task_blocks(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < scene.pool->workers; i++)
    if (!ws_is_parked(scene.pool, i) && __real_ws_os_thread_sleeps(ws_tid(scene.pool->worker[i])))
      return true;
  return false;
}

/// A lifted cap is lowered while the guard is standing, but not while a task blocks. When it becomes dormant
/// it is lowered all the same: no other thread would do that.
///
/// The guard asks whether a worker is parked, and then the kernel whether the worker sleeps. A worker that
/// parks in between would seem to have a task that blocks. So at first no thread seems to sleep.
static void a_lifted_cap_is_lowered(void)
{
  open_scene(3, false);
  ws_store_release(&guard_sees, SEES_NONE_ASLEEP);
  CU_ASSERT_FALSE(stays_lifted(MANY_TASKS));
  ws_store_release(&guard_sees, SEES_ALL);
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, 1));
  CU_ASSERT_TRUE(test_until(a_task_blocks, NULL));
  CU_ASSERT_TRUE(stays_lifted(OWN_TASKS));
  CU_ASSERT_TRUE(test_until(guard_is_down, NULL));
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->lifted), 0);
  test_gate_let(&scene.gate, 1);
  close_scene();
}

static struct {
  ws_group_t group; ///< what this thread waits for
  sem_t ran, over; ///< the task that the cap kept waiting has run; the one that blocks has ended
  bool in_time;
} room;

static void note_run(void *unused)
{
  (void)unused;
  sem_post(&room.ran);
}

static void push_and_block(void *unused)
{
  (void)unused;
  test_push(scene.pool, note_run, NULL, NULL);
  ws_blocking_begin();
  room.in_time = test_sem_wait(&room.ran);
  ws_blocking_end();
  sem_post(&room.over);
}

/// A thread that makes room under the cap looks whether a task waits for it, and does not leave that to the
/// guard.
static void a_worker_that_blocks_makes_room(void)
{
  open_scene(2, false);
  sem_init(&room.ran, 0, 0);
  sem_init(&room.over, 0, 0);
  hold_guard();
  test_push(scene.pool, push_and_block, NULL, NULL);
  CU_ASSERT_TRUE(test_sem_wait(&room.over)); // this thread does not help
  CU_ASSERT_TRUE(room.in_time);
  ws_store_release(&guard_held, 0);
  sem_destroy(&room.ran);
  sem_destroy(&room.over);
  close_scene();
}

/// Ten workers on eight CPUs, as many of them in the gate as the cap allows beside @p helpers other threads
/// that help. @return workers in the gate
static uint32_t fill_to_the_cap(uint32_t helpers)
{
  scene.pool = ten_on_eight(-1);
  test_gate_init(&scene.gate);
  sem_init(&room.ran, 0, 0);
  hold_guard();
  ws_add_acq_rel(&scene.pool->helpers, helpers);
  const uint32_t full = left_by(helpers > 1 ? helpers : 1);
  for (uint32_t i = 0; i < full; i++) {
    test_push(scene.pool, test_gate_task, &scene.gate, NULL);
    CU_ASSERT_TRUE(test_gate_await(&scene.gate, 1));
  }
  return full;
}

static void empty(uint32_t in_gate)
{
  ws_store_release(&guard_held, 0);
  test_gate_let(&scene.gate, in_gate);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
  sem_destroy(&room.ran);
}

static void *end_wait_after_run(void *unused)
{
  (void)unused;
  room.in_time = test_sem_wait(&room.ran);
  ws_group_complete(&room.group, 1);
  return NULL;
}

static void a_thread_that_sleeps_in_a_join_makes_room(void)
{
  const uint32_t in_gate = fill_to_the_cap(0);
  test_threads_t threads = {0};
  ws_group_init(&room.group, 1);
  test_push(scene.pool, note_run, NULL, NULL);
  test_spawn(&threads, end_wait_after_run, NULL);
  ws_group_wait(&room.group, scene.pool); // nothing to help with: it sleeps
  test_join(&threads);
  CU_ASSERT_TRUE(room.in_time);
  empty(in_gate);
}

/// Runs in the join below, while one of two threads that help elsewhere goes to sleep.
static void push_in_a_join(void *unused)
{
  (void)unused;
  test_push(scene.pool, note_run, NULL, NULL);
  ws_sub_acq_rel(&scene.pool->helpers, 1);
}

static void a_thread_whose_join_ends_makes_room(void)
{
  const uint32_t in_gate = fill_to_the_cap(2);
  ws_group_init(&room.group, 1);
  test_push(scene.pool, push_in_a_join, NULL, &room.group);
  ws_group_wait(&room.group, scene.pool);
  CU_ASSERT_TRUE(test_sem_wait(&room.ran));
  ws_sub_acq_rel(&scene.pool->helpers, 1);
  empty(in_gate);
}

static void *help_with_gate_task(void *unused)
{
  ws_group_init(&room.group, 1);
  test_push(scene.pool, test_gate_task, &scene.gate, &room.group);
  ws_group_wait(&room.group, scene.pool);
  return unused;
}

static bool no_look_is_left(void *unused)
{
  (void)unused;
  return ws_load_acquire(&looks_granted) == 0;
}

/// The guard looks a few times: too few to see a stall. The last look may be under way on return.
static void let_guard_look(uint32_t sees)
{
  ws_store_release(&guard_sees, sees);
  ws_store_release(&looks_granted, 4);
  CU_ASSERT_TRUE(test_until(no_look_is_left, NULL));
}

/// The cap is full, and a thread that helps runs a task that blocks. The pool is not told.
static void a_thread_that_sleeps_in_a_task_makes_room(void)
{
  const uint32_t in_gate = fill_to_the_cap(0);
  test_threads_t threads = {0};
  test_spawn(&threads, help_with_gate_task, NULL);
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, 1));
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->helpers), 1);
  test_push(scene.pool, note_run, NULL, NULL);
  let_guard_look(SEES_NONE_ASLEEP);
  CU_ASSERT_EQUAL(ws_awake(scene.pool), in_gate);
  let_guard_look(SEES_OUTSIDE_ASLEEP);
  CU_ASSERT_TRUE(test_sem_wait(&room.ran));
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->lifted), 0);
  test_gate_let(&scene.gate, 1 + in_gate);
  test_join(&threads);
  ws_store_release(&guard_sees, SEES_ALL);
  empty(0);
}

static void test_seams(void)
{
  seam.sched_getaffinity = sched_getaffinity_seam;
  seam.ws_os_futex_wait = ws_os_futex_wait_seam;
  seam.ws_os_thread_cpu_ns = ws_os_thread_cpu_ns_seam;
  seam.ws_os_thread_sleeps = ws_os_thread_sleeps_seam;
  seam.ws_os_quota_cpus = ws_os_quota_cpus_seam;
}

TEST_MAIN_SEAMS(test_seams, "cap", TEST_CASE(the_cap_leaves_cpus_to_threads_outside),
                TEST_CASE(a_task_polls_for_a_later_one),
                TEST_CASE(a_worker_that_runs_its_own_tasks_is_no_stall), TEST_CASE(a_lifted_cap_is_lowered),
                TEST_CASE(a_worker_that_blocks_makes_room),
                TEST_CASE(a_thread_that_sleeps_in_a_join_makes_room),
                TEST_CASE(a_thread_whose_join_ends_makes_room),
                TEST_CASE(a_thread_that_sleeps_in_a_task_makes_room))
