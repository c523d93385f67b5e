// SPDX-License-Identifier: BSD-3-Clause
/// @file test_limit.c
/// Rules for functions: limits and priorities. Tasks stand in gates, so that what runs at once is counted and
/// not timed.
#include <errno.h>

#include "../../../include/ws_key.h"
#include "../../../tasks/ws_group_word.h"
#include "../../support/ws_letters.h"

#define TASKS 8u

static ws_pool_t *pool;
static test_gate_t gate, held;
static ws_au32_t running, most, begun;
static ws_au64_t order[64];
static ws_au32_t ordered;

static void note(uint64_t what)
{
  ws_store_relaxed(&order[ws_add_relaxed(&ordered, 1) % 64], what); // relaxed: read after the tasks
}

/// A task with a limit: counts how many of it run at once, and stands in the gate.
static void background(void *arg)
{
  const uint32_t now = ws_add_relaxed(&running, 1) + 1; // relaxed: a count
  uint32_t seen = ws_load_relaxed(&most); // relaxed: a count
  while (now > seen && !ws_cas_acq_rel(&most, &seen, now))
    ;
  note((uintptr_t)arg);
  ws_add_relaxed(&begun, 1); // relaxed: a count
  test_gate_task(&gate);
  ws_sub_acq_rel(&running, 1);
}

static void create_with(ws_settings_t *settings, uint32_t limit)
{
  settings->rule[0] = (ws_rule_t){.func = background, .limit = limit};
  settings->rules = 1;
  pool = test_create(settings);
  test_gate_init(&gate);
  test_gate_init(&held);
  test_letters_forget();
  ws_init_store(&running, 0);
  ws_init_store(&most, 0);
  ws_init_store(&begun, 0);
  ws_init_store(&ordered, 0);
}

static void create(uint32_t workers, uint32_t limit)
{
  ws_settings_t settings = test_settings(workers);
  create_with(&settings, limit);
}

static void destroy(void)
{
  test_destroy(pool);
  test_gate_destroy(&gate);
  test_gate_destroy(&held);
}

static void push_background(uint32_t tasks)
{
  for (uint32_t i = 0; i < tasks; i++)
    test_push(pool, background, (void *)(uintptr_t)(i + 1), NULL);
}

static void as_many_run_as_the_limit_allows(void)
{
  for (uint32_t limit = 1; limit <= 3; limit++) {
    create(4, limit);
    push_background(TASKS);
    CU_ASSERT_TRUE(test_gate_await(&gate, limit));
    CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, TASKS - limit);
    test_gate_let(&gate, TASKS);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&begun), TASKS); // relaxed: after the wait
    CU_ASSERT_EQUAL(ws_load_relaxed(&most), limit); // relaxed: as above
    CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 0);
    destroy();
  }
}

/// With one worker the tasks run in the order of their pushes.
static void the_oldest_goes_first(void)
{
  create(1, 1);
  push_background(TASKS);
  test_gate_let(&gate, TASKS);
  CU_ASSERT_TRUE(test_gate_await(&gate, TASKS));
  test_destroy(pool);
  for (uint32_t i = 0; i < TASKS; i++)
    CU_ASSERT_EQUAL(ws_load_relaxed(&order[i]), i + 1); // relaxed: after the pool
  test_gate_destroy(&gate);
  test_gate_destroy(&held);
}

/// Background work occupies its one worker: a burst has all the others.
static void a_burst_has_the_other_workers(void)
{
  create(4, 1);
  push_background(TASKS);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  for (uint32_t i = 0; i < 3; i++)
    test_push(pool, test_gate_task, &held, NULL);
  CU_ASSERT_TRUE(test_gate_await(&held, 3)); // all three stand there at once
  CU_ASSERT_EQUAL(ws_load_relaxed(&begun), 1); // relaxed: no other one can begin
  test_gate_let(&held, 3);
  test_gate_let(&gate, TASKS);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&most), 1); // relaxed: after the wait
  destroy();
}

/// The thread that waits runs its tasks above the limit: the one that holds the place goes on after that.
static void a_wait_runs_its_own_above_the_limit(void)
{
  create(1, 1);
  test_push(pool, background, NULL, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1)); // the only worker, the only place
  ws_group_t group;
  ws_group_init(&group, 3);
  for (uint32_t i = 0; i < 3; i++)
    test_push(pool, background, NULL, &group);
  test_gate_let(&gate, 3); // one of them lets the worker go
  test_gate_let(&gate, 1);
  ws_group_wait(&group, pool);
  CU_ASSERT_TRUE(ws_group_done(&group));
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&begun), 4); // relaxed: after the wait
  destroy();
}

static void *wait_for_group(void *group)
{
  ws_group_wait(group, pool);
  return NULL;
}

static bool has_sleeper(void *group)
{
  return ws_group_has_sleepers(group);
}

/// The holder of the place may need what comes after a wait that sleeps already: that wait runs no task.
static void a_task_of_a_group_for_which_a_thread_sleeps_does_not_wait(void)
{
  create(2, 1);
  push_background(1);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  ws_group_t group;
  ws_group_init(&group, 1);
  test_threads_t threads = {.count = 0};
  test_spawn(&threads, wait_for_group, &group);
  CU_ASSERT_TRUE(test_until(has_sleeper, &group));
  test_push(pool, background, NULL, &group);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  test_gate_let(&gate, 2);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  destroy();
}

static void nest(void *depth_arg)
{
  const uintptr_t depth = (uintptr_t)depth_arg;
  if (depth == 0)
    return;
  ws_group_t group;
  ws_group_init(&group, 3);
  for (uint32_t i = 0; i < 3; i++)
    test_push(pool, nest, (void *)(depth - 1), &group);
  ws_group_wait(&group, pool);
}

/// A task that has the only place waits for tasks of its own function.
static void a_task_with_a_place_may_wait_for_its_like(void)
{
  for (uint32_t workers = 1; workers <= 3; workers++) {
    ws_settings_t settings = test_settings(workers);
    settings.rule[0] = (ws_rule_t){.func = nest, .limit = 1};
    settings.rules = 1;
    pool = test_create(&settings);
    for (uint32_t i = 0; i < 4; i++)
      test_push(pool, nest, (void *)(uintptr_t)3, NULL);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_EQUAL(TEST_SUM(pool, run_tasks), 4 * (1 + 3 + 9 + 27));
    test_destroy(pool);
  }
}

static ws_group_t nested;

static void push_two(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < 2; i++)
    test_push(pool, background, NULL, &nested);
}

/// The task that pushes may wait for its group while it has the only place itself.
static void what_a_task_pushes_with_a_group_has_no_limit(void)
{
  create(3, 1);
  ws_group_init(&nested, 2);
  test_push(pool, push_two, NULL, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 2)); // both stand there at once
  test_gate_let(&gate, 2);
  ws_group_wait(&nested, pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&most), 2); // relaxed: after the wait
  destroy();
}

static ws_au32_t stop_chain;

/// Work that never ends: each task pushes the next one.
static void chain(void *unused)
{
  if (!ws_load_relaxed(&stop_chain)) // relaxed: soon
    test_push(pool, chain, unused, NULL);
}

static bool has_begun(void *count)
{
  return ws_load_relaxed(&begun) >= (uint32_t)(uintptr_t)count; // relaxed: a count
}

static void other_work_without_end_starves_none(void)
{
  create(1, 1);
  ws_init_store(&stop_chain, 0);
  for (uint32_t i = 0; i < 3; i++)
    test_push(pool, chain, NULL, NULL);
  push_background(TASKS);
  test_gate_let(&gate, TASKS);
  CU_ASSERT_TRUE(test_until(has_begun, (void *)(uintptr_t)TASKS));
  ws_store_relaxed(&stop_chain, 1); // relaxed: soon
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  destroy();
}

static ws_au32_t again;

/// "Estimates not ready, try later": pushes itself, twice.
static void try_later(void *arg)
{
  note((uintptr_t)arg);
  if (ws_add_relaxed(&again, 1) < 2) // relaxed: one at a time
    test_push(pool, try_later, arg, NULL);
}

static void a_limited_task_that_pushes_itself_goes_behind(void)
{
  ws_settings_t settings = test_settings(1);
  settings.rule[0] = (ws_rule_t){.func = try_later, .limit = 1};
  settings.rules = 1;
  pool = test_create(&settings);
  test_gate_init(&gate);
  ws_init_store(&ordered, 0);
  ws_init_store(&again, 0);
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  test_push(pool, try_later, (void *)1, NULL);
  test_push(pool, try_later, (void *)2, NULL);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  static const uint64_t expected[] = {1, 2, 1, 2};
  CU_ASSERT_EQUAL(ws_load_relaxed(&ordered), 4); // relaxed: after the wait
  for (uint32_t i = 0; i < 4; i++)
    CU_ASSERT_EQUAL(ws_load_relaxed(&order[i]), expected[i]); // relaxed: as above
  test_gate_destroy(&gate);
  test_destroy(pool);
}

static bool is_aborting(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->state) == WS_ABORTING;
}

static void *let_one_go(void *unused)
{
  const bool aborting = test_until(is_aborting, unused);
  test_gate_let(&gate, 1);
  return (void *)(uintptr_t)aborting;
}

/// The one that runs ends when the abort has begun: no other one begins.
static void an_abort_skips_the_line(void)
{
  create(2, 1);
  push_background(TASKS);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  test_threads_t threads = {.count = 0};
  test_spawn(&threads, let_one_go, NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_ABORT), TASKS - 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&begun), 1); // relaxed: after the stop
  destroy();
}

static void a_stop_runs_the_line(void)
{
  create(2, 1);
  push_background(TASKS);
  test_gate_let(&gate, TASKS);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&begun), TASKS); // relaxed: after the stop
  CU_ASSERT_EQUAL(ws_load_relaxed(&most), 1); // relaxed: as above
  destroy();
}

static void exit_task(void *unused)
{
  (void)unused;
  pthread_exit(NULL);
}

/// A task that ends its thread gives its place back.
static void a_task_that_ends_its_thread_leaves_its_place(void)
{
  ws_settings_t settings = test_settings(2);
  settings.rule[0] = (ws_rule_t){.func = exit_task, .limit = 1};
  settings.rules = 1;
  pool = test_create(&settings);
  for (uint32_t i = 0; i < TASKS; i++)
    test_push(pool, exit_task, NULL, NULL);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 0);
  CU_ASSERT_EQUAL(TEST_SUM(pool, run_tasks), TASKS);
  test_destroy(pool);
}

static ws_au32_t cancelled;

static void count_cancel(void *unused)
{
  (void)unused;
  ws_add_relaxed(&cancelled, 1); // relaxed: a count
}

/// A cancel that waits does not wait for the place.
static void a_cancelled_task_leaves_the_line(void)
{
  create(2, 1);
  ws_init_store(&cancelled, 0);
  test_push(pool, background, NULL, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  ws_key_t key;
  ws_key_init(&key);
  ws_keyed_t task[3];
  for (uint32_t i = 0; i < 3; i++) {
    task[i] = (ws_keyed_t){.key = &key, .func = background, .on_cancel = count_cancel};
    CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &task[i]), 0);
  }
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 3);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), 3); // while the place is taken
  CU_ASSERT_EQUAL(ws_load_relaxed(&cancelled), 3); // relaxed: after the wait
  CU_ASSERT_EQUAL(ws_load_relaxed(&begun), 1); // relaxed: none of them can have begun
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  destroy();
}

static void exit_at_cancel(void *unused)
{
  pthread_exit(unused);
}

/// A task that an abort skips gives its place back once, also if its notice ends the thread.
static void a_notice_that_ends_its_thread_leaves_its_place(void)
{
  create(2, 1);
  push_background(1);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  ws_key_t key;
  ws_key_init(&key);
  ws_keyed_t task = {.key = &key, .func = background, .on_cancel = exit_at_cancel};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &task), 0);
  test_threads_t threads = {.count = 0};
  test_spawn(&threads, let_one_go, NULL);
  ws_pool_stop(pool, WS_STOP_ABORT);
  test_join(&threads);
  CU_ASSERT_EQUAL(pool->tasks.limit[0].running, 0);
  destroy();
}

static ws_au32_t locked, waits, joined, joined_in_time;

static bool is_set(void *flag)
{
  return ws_load_acquire((ws_au32_t *)flag) != 0;
}

static void set(void *flag)
{
  ws_store_release((ws_au32_t *)flag, 1);
}

/// Hold the lock of the line until the burst is over. Its last task ends when the main thread has run the
/// others.
static void *hold_lock(void *unused)
{
  pthread_mutex_lock(&pool->tasks.limit[0].lock);
  set(&locked);
  const bool waited = test_until(is_set, &waits);
  test_gate_let(&held, 1);
  ws_store_release(&joined_in_time, waited && test_until(is_set, &joined));
  pthread_mutex_unlock(&pool->tasks.limit[0].lock);
  return unused;
}

/// However long the line of tasks is for which no thread waits, a wait for other tasks does not read it.
static void a_burst_does_not_read_the_line(void)
{
  create(2, 1);
  ws_init_store(&locked, 0);
  ws_init_store(&waits, 0);
  ws_init_store(&joined, 0);
  push_background(TASKS);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  ws_group_t group;
  ws_group_init(&group, 2);
  test_push(pool, test_gate_task, &held, &group);
  CU_ASSERT_TRUE(test_gate_await(&held, 1)); // the workers stand in the gates
  test_threads_t threads = {.count = 0};
  test_spawn(&threads, hold_lock, NULL);
  CU_ASSERT_TRUE(test_until(is_set, &locked));
  test_push(pool, set, &waits, &group);
  ws_group_wait(&group, pool);
  set(&joined);
  test_join(&threads);
  CU_ASSERT_TRUE(ws_load_acquire(&joined_in_time));
  test_gate_let(&gate, TASKS);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  destroy();
}

/// The line is as long as settings.queue_capacity, and longer where queues grow.
static void a_full_line_does_what_a_full_queue_does(void)
{
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 2;
  settings.full = WS_FULL_FAIL;
  create_with(&settings, 1);
  const ws_task_t task = {.func = background};
  test_push(pool, background, NULL, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  CU_ASSERT_EQUAL(ws_pool_push(pool, task), -EAGAIN);
  test_gate_let(&gate, 3);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&begun), 3); // relaxed: after the wait
  destroy();
  settings.full = WS_FULL_GROW;
  create_with(&settings, 1);
  push_background(40);
  test_gate_let(&gate, 40);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&begun), 40); // relaxed: after the wait
  for (uint32_t i = 0; i < 40; i++)
    CU_ASSERT_EQUAL(ws_load_relaxed(&order[i]), i + 1); // relaxed: as above
  destroy();
}

static void note_task(void *what)
{
  note((uintptr_t)what);
}

static void note_late(void *what)
{
  note((uintptr_t)what);
}

static bool have_run(void *count)
{
  return ws_load_relaxed(&ordered) >= (uint32_t)(uintptr_t)count; // relaxed: a count
}

static void a_function_has_its_priority(void)
{
  ws_settings_t settings = test_settings(1);
  settings.rule[0] = (ws_rule_t){.func = note_late, .has_priority = true, .priority = WS_PRIORITY_LOW};
  settings.rules = 1;
  pool = test_create(&settings);
  pool->settings.age_ns_max = UINT64_MAX; // no task grows old, however long the process stands still
  test_gate_init(&gate);
  ws_init_store(&ordered, 0);
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  const ws_task_t tasks[] = {{.func = note_late, .arg = (void *)3, .priority = WS_PRIORITY_HIGH},
                             {.func = note_task, .arg = (void *)1},
                             {.func = note_late, .arg = (void *)4},
                             {.func = note_task, .arg = (void *)2}};
  CU_ASSERT_EQUAL(ws_pool_push_batch(pool, tasks, 4), 4);
  test_gate_let(&gate, 1);
  CU_ASSERT_TRUE(test_until(have_run, (void *)4)); // not in a wait, which would run them beside the worker
  test_gate_destroy(&gate);
  test_destroy(pool);
  for (uint32_t i = 0; i < 4; i++)
    CU_ASSERT_EQUAL(ws_load_relaxed(&order[i]), i + 1); // relaxed: after the pool
}

static ws_priority_t seen_priority;

static void see(void *unused)
{
  (void)unused;
  seen_priority = ws_current_task()->priority;
}

/// The place is not visible in the task that runs.
static void the_present_task_is_as_it_was_pushed(void)
{
  ws_settings_t settings = test_settings(1);
  settings.rule[0] = (ws_rule_t){.func = see, .limit = 1};
  settings.rules = 1;
  pool = test_create(&settings);
  seen_priority = WS_PRIORITY_LOW;
  test_push(pool, see, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(seen_priority, WS_PRIORITY_NORMAL);
  test_destroy(pool);
}

static int push_in_child(void *unused)
{
  (void)unused;
  return ws_pool_push(pool, (ws_task_t){.func = background}) == -ESRCH ? 0 : 1;
}

/// The parent's tasks may hold the lock of the line at the fork: the child does not take it.
static void a_child_takes_no_lock(void)
{
  create(2, 1);
  push_background(2);
  pthread_mutex_lock(&pool->tasks.limit[0].lock);
  CU_ASSERT_EQUAL(test_in_child(push_in_child, NULL), 0);
  pthread_mutex_unlock(&pool->tasks.limit[0].lock);
  test_gate_let(&gate, 2);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  destroy();
}

TEST_MAIN("limit", TEST_CASE(as_many_run_as_the_limit_allows), TEST_CASE(the_oldest_goes_first),
          TEST_CASE(a_burst_has_the_other_workers), TEST_CASE(a_wait_runs_its_own_above_the_limit),
          TEST_CASE(a_task_of_a_group_for_which_a_thread_sleeps_does_not_wait),
          TEST_CASE(a_task_with_a_place_may_wait_for_its_like),
          TEST_CASE(other_work_without_end_starves_none),
          TEST_CASE(a_limited_task_that_pushes_itself_goes_behind), TEST_CASE(an_abort_skips_the_line),
          TEST_CASE(what_a_task_pushes_with_a_group_has_no_limit), TEST_CASE(a_stop_runs_the_line),
          TEST_CASE(a_task_that_ends_its_thread_leaves_its_place),
          TEST_CASE(a_cancelled_task_leaves_the_line),
          TEST_CASE(a_notice_that_ends_its_thread_leaves_its_place),
          TEST_CASE(a_burst_does_not_read_the_line), TEST_CASE(a_full_line_does_what_a_full_queue_does),
          TEST_CASE(a_function_has_its_priority), TEST_CASE(the_present_task_is_as_it_was_pushed),
          TEST_CASE(a_child_takes_no_lock))
