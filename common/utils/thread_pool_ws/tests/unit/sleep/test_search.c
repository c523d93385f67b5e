// SPDX-License-Identifier: BSD-3-Clause
/// @file test_search.c
/// Pushes rely on workers that search. A worker that gets no CPU, and one that does something else, must not
/// be relied on.
///
/// A worker without a CPU is made here: a point holds it at the moment when it is to look for work, and says
/// to the guard that it is runnable and uses no CPU time. Linked with --wrap of the functions below.
#include "../../../sleep/ws_wake.h"

#include "../../../sleep/ws_place.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

/// state of the point: FREE --the test arms it--> ARMED --a worker comes--> HELD --the test--> FREE
enum { FREE, ARMED, HELD };
typedef struct {
  ws_au32_t state;
  ws_au32_t tid; ///< of the held worker
  sem_t let;
} point_t;
static point_t woken, spinning; ///< after a sleep, in an iteration of a spin
static ws_au32_t all_look_starved; ///< bool: the CPU time of every worker stands still
static ws_au32_t guard_held; ///< bool: before it has judged a worker, and so before it wakes one
static ws_au32_t none_rises; ///< bool: all that are woken get no CPU
static ws_au32_t looks_until_all; ///< guard_looks when all workers were woken; 0 = they are not yet
static ws_pool_t *pool;

static void hold(point_t *point)
{
  uint32_t armed = ARMED;
  if (!ws_cas_acq_rel(&point->state, &armed, HELD))
    return;
  ws_store_release(&point->tid, (uint32_t)ws_os_tid());
  while (sem_wait(&point->let) != 0)
    ;
  ws_store_release(&point->tid, 0);
  ws_store_release(&point->state, FREE);
}

static bool is_held(void *point)
{
  return ws_load_acquire(&((point_t *)point)->tid) != 0;
}

static bool is_free(void *point)
{
  return ws_load_acquire(&((point_t *)point)->state) == FREE;
}

static bool is_held_tid(int32_t tid)
{
  const uint32_t id = (uint32_t)tid;
  return id == ws_load_acquire(&woken.tid) || id == ws_load_acquire(&spinning.tid);
}

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  const int result = __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  if (ws_load_acquire(word) != expected) // also if the token came first
    hold(&woken);
  while (ws_load_acquire(&none_rises))
    test_sleep_ms(1);
  return result;
}

static void ws_relax_seam(void)
{
  hold(&spinning);
  __real_ws_relax();
}

static bool ws_os_thread_sleeps_seam(int32_t tid)
{
  return !is_held_tid(tid) && !ws_load_acquire(&none_rises) && __real_ws_os_thread_sleeps(tid);
}

static uint64_t ws_os_thread_cpu_ns_seam(int32_t tid)
{
  while (ws_load_acquire(&guard_held))
    test_sleep_ms(1);
  if (ws_load_acquire(&none_rises) && !ws_has_sleepers(pool) && ws_load_relaxed(&looks_until_all) == 0)
    ws_store_release(&looks_until_all, (uint32_t)test_stats(pool).guard_looks);
  return is_held_tid(tid) || ws_load_relaxed(&all_look_starved) ? 1 : __real_ws_os_thread_cpu_ns(tid);
}

/// Times that a worker was about to park, and that it was counted as searching meanwhile.
static ws_au32_t parks, counted_before_park;

static void ws_place_leave_seam(ws_worker_t *worker)
{
  ws_add_relaxed(&parks, 1);
  ws_add_relaxed(&counted_before_park, ws_searching(worker->pool));
  __real_ws_place_leave(worker);
}

static ws_au32_t freed; ///< times that the guard has let a worker run elsewhere

static void ws_place_free_seam(ws_worker_t *worker)
{
  ws_add_relaxed(&freed, 1);
  __real_ws_place_free(worker);
}

static void create(uint32_t workers, ws_spin_t spin)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = spin;
  sem_init(&woken.let, 0, 0);
  sem_init(&spinning.let, 0, 0);
  pool = test_create(&settings);
}

static void push_counts(uint32_t tasks, ws_au64_t *count)
{
  for (uint32_t i = 0; i < tasks; i++)
    test_push(pool, test_count_task, count, NULL);
}

typedef struct {
  ws_au64_t *count;
  uint64_t wanted;
} counted_t;

static bool is_counted(void *counted)
{
  const counted_t *c = counted;
  return test_value(c->count) == c->wanted;
}

static bool has_sleeper(void *unused)
{
  (void)unused;
  return ws_has_sleepers(pool) && ws_searching(pool) == 0
         && ws_load_acquire(&pool->guard)
                == WS_GUARD_DORMANT; // else it may be at a look, and wake that one before the push does
}

static void let(point_t *point)
{
  sem_post(&point->let);
  CU_ASSERT_TRUE(test_until(is_free, point));
}

static void check_books(void)
{
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(ws_searching(pool), 0);
  CU_ASSERT_EQUAL(ws_load_acquire(&pool->tasks.starved), 0);
}

static uint32_t held_worker(void)
{
  for (uint32_t i = 0; i < pool->workers; i++)
    if (is_held_tid(ws_tid(pool->worker[i])))
      return i;
  return UINT32_MAX;
}

static uint64_t parks_of(uint32_t worker)
{
  return ws_load_relaxed(&pool->worker[worker]->queue.count.parks);
}

/// Both workers sleep in the kernel: the next token ends a sleep, where the point is.
static bool both_sleep(void *unused)
{
  (void)unused;
  return ws_is_parked(pool, 0) && ws_is_parked(pool, 1) && __real_ws_os_thread_sleeps(ws_tid(pool->worker[0]))
         && __real_ws_os_thread_sleeps(ws_tid(pool->worker[1]));
}

static bool held_is_starved(void *unused)
{
  (void)unused;
  const uint32_t held = held_worker();
  return held != UINT32_MAX && ws_load_acquire(&pool->worker[held]->trust) == WS_TRUST_STARVED;
}

/// The guard judges workers only while tasks wait. So the first task ends only when the guard has judged the
/// held worker. Without it, the guard may judge the other worker alone, which then runs all tasks.
static void await_verdict(void *count)
{
  if (test_until(held_is_starved, NULL))
    ws_add_acq_rel((ws_au64_t *)count, 1);
}

/// A worker is woken and gets no CPU. No thread joins; the other worker must run what is queued, and what
/// comes later must not wait for the guard.
static void a_woken_worker_without_a_cpu_does_not_silence_the_pool(void)
{
  create(2, WS_SPIN_OFF);
  CU_ASSERT_TRUE_FATAL(test_until(both_sleep, NULL));
  ws_au64_t count = {0};
  ws_store_relaxed(&all_look_starved, 1); // also at a look of the guard before the point holds
  ws_store_release(&woken.state, ARMED);
  test_push(pool, await_verdict, &count, NULL);
  push_counts(3, &count);
  CU_ASSERT_TRUE(test_until(is_held, &woken));
  const uint32_t held = held_worker();
  CU_ASSERT_TRUE(test_until(is_counted, &(counted_t){&count, 4}));
  CU_ASSERT_TRUE(test_stats(pool).starved_searches >= 1);
  CU_ASSERT_TRUE(ws_load_relaxed(&freed) >= 1);

  CU_ASSERT_TRUE(test_until(has_sleeper, NULL));
  const uint64_t sent = test_stats(pool).outside.wakes_sent;
  ws_store_release(&guard_held, 1);
  push_counts(1, &count);
  CU_ASSERT_EQUAL(test_stats(pool).outside.wakes_sent, sent + 1); // the push itself has woken the other
  ws_store_release(&guard_held, 0);
  CU_ASSERT_TRUE(test_until(is_counted, &(counted_t){&count, 5}));
  let(&woken);
  ws_store_relaxed(&all_look_starved, 0);
  check_books();

  // It is woken after the other. No task is queued, so the guard wakes no worker.
  CU_ASSERT_NOT_EQUAL(ws_load_relaxed(&pool->worker[held]->shun_until_ns), 0);
  ws_store_relaxed(&pool->worker[held]->shun_until_ns, UINT64_MAX); // it has not ended by now
  ws_store_relaxed(&pool->worker[1 - held]->shun_until_ns, 0); // the guard may have suspected that one, too
  const uint64_t held_parks = parks_of(held), other_parks = parks_of(1 - held);
  CU_ASSERT_TRUE(ws_wake_sleeper(pool, (ws_here_t){0}));
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(parks_of(held), held_parks);
  CU_ASSERT_EQUAL(parks_of(1 - held), other_parks + 1);
  test_destroy(pool);
}

/// With all others shunned, or busy, a shunned worker is woken all the same.
static void a_shunned_worker_is_woken_when_it_is_the_last(void)
{
  create(2, WS_SPIN_OFF);
  CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
  ws_store_relaxed(&pool->shunned, 1);
  for (uint32_t i = 0; i < 2; i++)
    ws_store_relaxed(&pool->worker[i]->shun_until_ns, UINT64_MAX);
  test_gate_t gate;
  test_gate_init(&gate);
  for (uint32_t i = 0; i < 2; i++)
    test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 2));
  test_gate_let(&gate, 2);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static bool all_are_woken(void *unused)
{
  (void)unused;
  return ws_load_acquire(&looks_until_all) > 0;
}

/// Workers that the guard wakes may have no CPU either. At each look the guard wakes one worker more than at
/// the look before, so it reaches all of them after few looks.
static void workers_without_cpus_do_not_hide_the_others(void)
{
  create(12, WS_SPIN_OFF);
  CU_ASSERT_TRUE_FATAL(test_until(has_sleeper, NULL));
  CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
  ws_store_relaxed(&pool->lifted, 1); // all may be awake, however few CPUs there are
  ws_store_relaxed(&all_look_starved, 1);
  ws_store_release(&none_rises, 1);
  const uint64_t looks_before = test_stats(pool).guard_looks;
  ws_au64_t count = {0};
  push_counts(1, &count);
  CU_ASSERT_TRUE(test_until(all_are_woken, NULL));
  CU_ASSERT_TRUE(ws_load_relaxed(&looks_until_all) - looks_before <= 8);
  ws_store_release(&none_rises, 0);
  CU_ASSERT_TRUE(test_until(is_counted, &(counted_t){&count, 1}));
  ws_store_relaxed(&all_look_starved, 0);
  check_books();
  test_destroy(pool);
}

static bool none_is_starved(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->tasks.starved) == 0;
}

/// A worker that spins loses its CPU in an iteration. When it has one again it is counted again.
static void a_spinning_worker_without_a_cpu_does_not_silence_the_pool(void)
{
  if (test_cpus() < 2) {
    printf("(skipped: one CPU, so no worker spins) ");
    return;
  }
  ws_store_release(&spinning.state, ARMED);
  create(2, WS_SPIN_HOT);
  ws_au64_t count = {0};
  push_counts(1, &count); // a worker spins afterwards
  CU_ASSERT_TRUE(test_until(is_held, &spinning));
  push_counts(4, &count);
  CU_ASSERT_TRUE(test_until(is_counted, &(counted_t){&count, 5}));
  let(&spinning);
  CU_ASSERT_TRUE(test_until(none_is_starved, NULL)); // though it spins on
  ws_pool_set_spin(pool, WS_SPIN_OFF, 0);
  push_counts(4, &count);
  CU_ASSERT_TRUE(test_until(is_counted, &(counted_t){&count, 9}));
  check_books();
  test_destroy(pool);
}

/// The guard may be wrong: workers that it takes for starved run on, find tasks, park, and are woken.
static void a_wrong_suspicion_costs_no_task(void)
{
  create(3, WS_SPIN_AUTO);
  ws_store_relaxed(&all_look_starved, 1);
  ws_au64_t count = {0};
  uint64_t wanted = 0;
  for (uint32_t round = 0; round < 300; round++) {
    const uint32_t tasks = 1 + round % 7;
    push_counts(tasks, &count);
    wanted += tasks;
    if (round % 3 == 0)
      CU_ASSERT_TRUE_FATAL(test_until(is_counted, &(counted_t){&count, wanted}));
  }
  CU_ASSERT_TRUE(test_until(is_counted, &(counted_t){&count, wanted}));
  ws_store_relaxed(&all_look_starved, 0);
  check_books();
  test_destroy(pool);
}

/// The steps before a sleep take time, in which the worker does not look.
static void a_worker_that_is_about_to_park_is_not_counted(void)
{
  create(1, WS_SPIN_AUTO);
  ws_store_relaxed(&counted_before_park, 0);
  ws_store_relaxed(&parks, 0);
  ws_au64_t count = {0};
  for (uint32_t round = 1; round <= 200; round++) {
    push_counts(1, &count);
    CU_ASSERT_TRUE_FATAL(test_until(is_counted, &(counted_t){&count, round}));
  }
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_TRUE(ws_load_relaxed(&parks) > 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&counted_before_park), 0);
  test_destroy(pool);
}

static void test_seams(void)
{
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
  seam.ws_relax = ws_relax_seam;
  seam.ws_os_thread_sleeps = ws_os_thread_sleeps_seam;
  seam.ws_os_thread_cpu_ns = ws_os_thread_cpu_ns_seam;
  seam.ws_place_leave = ws_place_leave_seam;
  seam.ws_place_free = ws_place_free_seam;
}

TEST_MAIN_SEAMS(test_seams, "search", TEST_CASE(a_woken_worker_without_a_cpu_does_not_silence_the_pool),
                TEST_CASE(a_shunned_worker_is_woken_when_it_is_the_last),
                TEST_CASE(workers_without_cpus_do_not_hide_the_others),
                TEST_CASE(a_spinning_worker_without_a_cpu_does_not_silence_the_pool),
                TEST_CASE(a_wrong_suspicion_costs_no_task),
                TEST_CASE(a_worker_that_is_about_to_park_is_not_counted))
