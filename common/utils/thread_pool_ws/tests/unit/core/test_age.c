// SPDX-License-Identifier: BSD-3-Clause
/// @file test_age.c
/// A task that has waited too long goes first.
///
/// The clock is virtual: it advances by 1 ns at each look, and when a test advances it. Linked with --wrap of
/// ws_os_now_ns and of ws_place_waited_ns, whose calls are counted.
#include "../../../pool/ws_types.h"
#include "../../../tasks/ws_kind.h"
#include "../../../tasks/ws_places.h"
#include "../../support/ws_letters.h"

#define AGE_NS 1000000000u

static ws_au64_t clock_ns;

uint64_t __wrap_ws_os_now_ns(void);

uint64_t __wrap_ws_os_now_ns(void)
{
  return AGE_NS + ws_add_relaxed(&clock_ns, 1);
}

static ws_au64_t visits; ///< reads of a queue's age: one for each thread's queue in a look at all places

uint64_t __real_ws_place_waited_ns(const ws_tasks_t *tasks, const ws_place_t *place, uint64_t now_ns);
uint64_t __wrap_ws_place_waited_ns(const ws_tasks_t *tasks, const ws_place_t *place, uint64_t now_ns);

uint64_t __wrap_ws_place_waited_ns(const ws_tasks_t *tasks, const ws_place_t *place, uint64_t now_ns)
{
  ws_add_relaxed(&visits, place->where == WS_AT_DEQUE && place->deque == 0);
  return __real_ws_place_waited_ns(tasks, place, now_ns);
}

static ws_pool_t *pool;
static test_gate_t gate;

static void create(uint32_t workers, bool fifo, ws_full_t full)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = WS_SPIN_OFF;
  settings.fifo = fifo;
  settings.full = full;
  settings.age_ns_max = AGE_NS;
  settings.spin_ns_max = settings.join_spin_ns_max = 1000; // looks at the clock
  pool = test_create(&settings);
  test_letters_forget();
  test_gate_init(&gate);
}

static void destroy(void)
{
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static ws_au32_t flood_on, flood_tasks;

static void push_from_a_task(void *letters)
{
  test_letters_push(pool, letters, NULL);
}

/// A task that has waited for the bound goes before newer ones; the oldest first.
static void an_old_task_goes_first(void)
{
  create(1, true, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "aA1", NULL);
  ws_add_relaxed(&clock_ns, AGE_NS / 2);
  test_letters_push(pool, "bB2", NULL);
  ws_add_relaxed(&clock_ns, AGE_NS / 2 + AGE_NS / 8);
  test_letters_release(&gate, 6);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "aA1B2b");
  CU_ASSERT_EQUAL(test_stats(pool).aged_tasks, 3);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(TEST_SUM(pool, stolen_tasks), 7);
  destroy();
}

/// A task that was pushed before the pool's first task of a priority grows old from that one's push on.
static void a_task_without_a_time_grows_old(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "1A", NULL);
  ws_add_relaxed(&clock_ns, AGE_NS + AGE_NS / 8);
  test_letters_push(pool, "B", NULL);
  test_letters_release(&gate, 3);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "1AB");
  CU_ASSERT_EQUAL(test_stats(pool).aged_tasks, 2);
  destroy();
}

static void push_and_age(void *letters)
{
  test_letters_push(pool, letters, NULL);
  ws_add_relaxed(&clock_ns, AGE_NS + AGE_NS / 8);
}

static void own_old_tasks_are_not_stolen(void)
{
  create(1, false, WS_FULL_GROW);
  test_push(pool, push_and_age, (void *)(uintptr_t) "a1A", NULL);
  CU_ASSERT_TRUE(test_letters_await(3));
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "a1A");
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(test_stats(pool).aged_tasks, 3);
  CU_ASSERT_EQUAL(TEST_SUM(pool, stolen_tasks), 1); // the task that has pushed them
  destroy();
}

/// A wait moves a task, and the task keeps its time.
static void a_moved_task_grows_old_as_before(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  ws_group_t group;
  ws_group_init(&group, 1);
  test_letters_push(pool, "a", NULL);
  const ws_task_t task = {.func = test_empty_task, .group = &group, .priority = WS_PRIORITY_LOW};
  CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  ws_add_relaxed(&clock_ns, AGE_NS / 2);
  test_letters_push(pool, "b", NULL);
  ws_group_wait(&group, pool);
  test_letters_push(pool, "1", NULL);
  ws_add_relaxed(&clock_ns, AGE_NS / 2 + AGE_NS / 8);
  test_letters_release(&gate, 3);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "a1b");
  destroy();
}

/// A wait of the only worker puts an unrelated task aside; time passes before the wait is over.
static void wait_below_an_unrelated_task(void *unused)
{
  (void)unused;
  ws_group_t group;
  ws_group_init(&group, 1);
  test_letters_push(pool, "1", NULL);
  test_push(pool, test_empty_task, NULL, &group);
  test_letters_push(pool, "2", NULL);
  ws_group_wait(&group, pool);
  ws_add_relaxed(&clock_ns, AGE_NS + AGE_NS / 8);
  test_letters_push(pool, "A", NULL);
}

static void a_task_put_aside_grows_old(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_push(pool, "A", NULL); // from here on priorities are used
  CU_ASSERT_TRUE(test_letters_await(1));
  CU_ASSERT_TRUE(test_until_quiet(pool));
  test_letters_forget();
  test_push(pool, wait_below_an_unrelated_task, NULL, NULL);
  CU_ASSERT_TRUE(test_letters_await(3));
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "12A");
  destroy();
}

/// A normal task without a lane lies in the shared queue: it grows old, too.
static void a_task_in_the_shared_queue_grows_old(void)
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = 0;
  settings.age_ns_max = AGE_NS;
  settings.spin_ns_max = settings.join_spin_ns_max = 1000; // looks at the clock
  settings.full = WS_FULL_FAIL; // the main thread gets no lane
  pool = test_create(&settings);
  test_letters_forget();
  test_gate_init(&gate);
  test_push(pool, push_from_a_task, (void *)(uintptr_t) "A", NULL); // from here on priorities are used
  CU_ASSERT_TRUE(test_letters_await(1));
  const uint64_t aged = test_stats(pool).aged_tasks;
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "1", NULL);
  ws_add_relaxed(&clock_ns, AGE_NS / 4); // a look is due
  test_letters_release(&gate, 2);
  CU_ASSERT_EQUAL(test_stats(pool).aged_tasks, aged); // not yet
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "2", NULL);
  ws_add_relaxed(&clock_ns, AGE_NS + AGE_NS / 8);
  test_letters_release(&gate, 3);
  CU_ASSERT_EQUAL(test_stats(pool).aged_tasks, aged + 1);
  destroy();
}

enum { LANES = 20, BACKLOG = 400 };
static pthread_barrier_t all_have_lanes, lanes_may_end;

static void *use_a_lane(void *unused)
{
  (void)unused;
  if (ws_pool_push(pool, (ws_task_t){.func = test_empty_task, .priority = WS_PRIORITY_HIGH}) != 0)
    ws_add_relaxed(&test_refused, 1);
  pthread_barrier_wait(&all_have_lanes);
  pthread_barrier_wait(&lanes_may_end);
  return NULL;
}

static ws_au64_t ran, low_ran_at;

static void count_run(void *unused)
{
  (void)unused;
  ws_add_relaxed(&ran, 1);
}

static void note_when(void *unused)
{
  (void)unused;
  ws_store_relaxed(&low_ran_at, ws_load_relaxed(&ran));
}

/// @return looks at a queue while the worker runs a backlog that is too old, in the middle of which lies a
/// task of low priority
static uint64_t run_backlog(void)
{
  test_letters_hold(pool, &gate);
  for (uint32_t i = 0; i < BACKLOG; i++) {
    test_push(pool, count_run, NULL, NULL);
    const ws_task_t low = {.func = note_when, .priority = WS_PRIORITY_LOW};
    if (i == BACKLOG / 2 && ws_pool_push(pool, low) != 0)
      ws_add_relaxed(&test_refused, 1);
  }
  ws_add_relaxed(&clock_ns, AGE_NS + AGE_NS / 8);
  ws_store_relaxed(&visits, 0);
  test_gate_let(&gate, 1);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  return ws_load_relaxed(&visits);
}

/// A pool that is late looks at all places as seldom as it has places, however many threads push.
static void a_late_pool_looks_seldom(void)
{
  create(1, true, WS_FULL_GROW);
  pthread_barrier_init(&all_have_lanes, NULL, LANES + 1);
  pthread_barrier_init(&lanes_may_end, NULL, LANES + 1);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < LANES; i++)
    test_spawn(&threads, use_a_lane, NULL);
  pthread_barrier_wait(&all_have_lanes);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  const uint64_t queues = LANES + 2, places = 6 * queues + 1; // the worker's and this thread's; shared
  const uint64_t looks = 16 + BACKLOG / places + 4; // the last of them find nothing
  CU_ASSERT_TRUE(run_backlog() <= looks * queues + BACKLOG);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ran), BACKLOG);
  // the oldest of the other place: at the latest after as many searches as there are places
  const uint64_t low_at = ws_load_relaxed(&low_ran_at);
  CU_ASSERT_TRUE(low_at > BACKLOG / 2 && low_at <= BACKLOG / 2 + 1 + places);
  CU_ASSERT_TRUE(test_stats(pool).aged_tasks > BACKLOG - places); // some are found without a look
  pthread_barrier_wait(&lanes_may_end);
  test_join(&threads);
  pthread_barrier_destroy(&all_have_lanes);
  pthread_barrier_destroy(&lanes_may_end);
  destroy();
}

/// With a bound of 0 the oldest task goes first, always.
static void without_a_bound_the_oldest_goes_first(void)
{
  ws_settings_t settings = test_settings(1);
  settings.age_ns_max = 0;
  settings.spin_ns_max = settings.join_spin_ns_max = 1000; // looks at the clock
  pool = test_create(&settings);
  test_gate_init(&gate);
  ws_store_relaxed(&ran, 0);
  run_backlog();
  CU_ASSERT_EQUAL(ws_load_relaxed(&low_ran_at), BACKLOG / 2 + 1);
  destroy();
}

static bool uses_kinds(void)
{
  return ws_load_relaxed(&pool->tasks.kinds_used) != 0; // relaxed: read after the pool is quiet
}

/// Have the worker search once.
static void run_one(ws_priority_t priority)
{
  CU_ASSERT_EQUAL(ws_pool_push(pool, (ws_task_t){.func = test_empty_task, .priority = priority}), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
}

/// A pool in which a task has had a priority goes back to its usual path, and takes up priorities again.
static void a_pool_forgets_priorities(void)
{
  create(1, true, WS_FULL_GROW);
  for (uint32_t i = 0; i < 3; i++) {
    run_one(WS_PRIORITY_NORMAL);
    CU_ASSERT_FALSE(uses_kinds());
    run_one(i % 2 ? WS_PRIORITY_LOW : WS_PRIORITY_HIGH);
    CU_ASSERT_TRUE(uses_kinds());
    ws_add_relaxed(&clock_ns, AGE_NS / 2);
    run_one(WS_PRIORITY_NORMAL);
    CU_ASSERT_TRUE(uses_kinds()); // not long enough
    ws_add_relaxed(&clock_ns, AGE_NS);
    run_one(WS_PRIORITY_NORMAL);
    CU_ASSERT_FALSE(uses_kinds());
    test_letters_forget();
    test_letters_hold(pool, &gate);
    test_letters_push(pool, "1aA", NULL);
    test_letters_release(&gate, 3);
    CU_ASSERT_STRING_EQUAL(test_letters_ran(), "A1a");
    CU_ASSERT_TRUE(test_until_quiet(pool));
    ws_add_relaxed(&clock_ns, 2 * AGE_NS);
    run_one(WS_PRIORITY_NORMAL);
  }
  destroy();
}

/// While a task of a kind is queued, searches look for it, however long that takes.
static void a_pool_does_not_forget_a_queued_task(void)
{
  create(2, true, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "a", NULL);
  ws_add_relaxed(&clock_ns, 4 * AGE_NS);
  ws_kind_rest(&pool->tasks, AGE_NS, ws_os_now_ns());
  CU_ASSERT_TRUE(uses_kinds());
  test_gate_let(&gate, 1);
  test_letters_release(&gate, 1);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "a");
  CU_ASSERT_TRUE(test_until_quiet(pool));
  destroy();
}

/// A thread that rests is interrupted: a worker that looks at all queues has searches look for tasks again.
static void a_worker_finds_what_a_rest_hides(void)
{
  create(1, true, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "a", NULL);
  ws_store_relaxed(&pool->tasks.kinds_used, 0); // relaxed: the worker is in the gate
  test_letters_release(&gate, 1);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "a");
  CU_ASSERT_TRUE(uses_kinds());
  destroy();
}

static ws_au32_t end_count;
static ws_priority_t end_priority;

static void end_flood(void *count);

/// Half the bound after the first look, so that the time of the looks matters.
static void push_the_end(void)
{
  const ws_task_t end = {.func = end_flood, .arg = &end_count, .priority = end_priority};
  if (ws_pool_push(pool, end) != 0)
    ws_add_relaxed(&test_refused, 1);
}

static void flood(void *unused)
{
  (void)unused;
  if (ws_add_relaxed(&flood_tasks, 1) == 32)
    push_the_end();
  ws_add_relaxed(&clock_ns, AGE_NS / 64);
  if (ws_load_relaxed(&flood_on)
      && ws_pool_push(pool, (ws_task_t){.func = flood, .priority = WS_PRIORITY_HIGH}) != 0)
    ws_add_relaxed(&test_refused, 1);
}

static void end_flood(void *count)
{
  ws_store_relaxed((ws_au32_t *)count, ws_load_relaxed(&flood_tasks));
  ws_store_release(&flood_on, 0);
}

static bool flood_is_over(void *unused)
{
  (void)unused;
  return !ws_load_acquire(&flood_on);
}

static void no_task_waits_without_end(void)
{
  for (ws_priority_t priority = WS_PRIORITY_NORMAL; priority <= WS_PRIORITY_LOW; priority++) {
    if (priority == WS_PRIORITY_HIGH)
      continue;
    create(1, false, WS_FULL_GROW);
    test_letters_hold(pool, &gate);
    end_priority = priority;
    ws_store_relaxed(&flood_on, 1);
    ws_store_relaxed(&flood_tasks, 0);
    CU_ASSERT_EQUAL(ws_pool_push(pool, (ws_task_t){.func = flood, .priority = WS_PRIORITY_HIGH}), 0);
    test_gate_let(&gate, 1);
    // this thread must not help: it would find that task early
    CU_ASSERT_TRUE(test_until(flood_is_over, NULL));
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    const uint32_t before = ws_load_relaxed(&end_count) - 32;
    CU_ASSERT_TRUE(before >= 64 && before <= 64 + 64 / 16 + 1);
    destroy();
  }
}

TEST_MAIN("age", TEST_CASE(an_old_task_goes_first), TEST_CASE(a_task_without_a_time_grows_old),
          TEST_CASE(own_old_tasks_are_not_stolen), TEST_CASE(a_moved_task_grows_old_as_before),
          TEST_CASE(a_task_put_aside_grows_old), TEST_CASE(a_task_in_the_shared_queue_grows_old),
          TEST_CASE(a_late_pool_looks_seldom), TEST_CASE(without_a_bound_the_oldest_goes_first),
          TEST_CASE(a_pool_forgets_priorities), TEST_CASE(a_pool_does_not_forget_a_queued_task),
          TEST_CASE(a_worker_finds_what_a_rest_hides), TEST_CASE(no_task_waits_without_end))
