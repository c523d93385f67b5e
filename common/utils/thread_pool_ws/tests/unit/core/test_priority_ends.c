// SPDX-License-Identifier: BSD-3-Clause
/// @file test_priority_ends.c
/// Tasks of three priorities: wrong ones, full queues, no memory, the end of pools and threads. Linked with
/// --wrap of ws_os_map, ws_work_visible and ws_steal.
#include <errno.h>
#include <string.h>

#include "../../../core/ws_next.h"
#include "../../../tasks/ws_places.h"
#include "../../../tasks/ws_queue.h"
#include "../../support/ws_letters.h"
#include "../../support/ws_seam.h"

static ws_au32_t no_memory; ///< bool: no more memory can be mapped

static void *ws_os_map_seam(size_t bytes)
{
  return ws_load_relaxed(&no_memory) ? NULL : __real_ws_os_map(bytes);
}

static ws_au32_t blind; ///< bool: workers see no task
static ws_au32_t blind_until_look; ///< bool: that ends when a thread outside looks

static bool sees_nothing(void)
{
  return ws_worker_index() >= 0 && ws_load_relaxed(&blind);
}

static bool ws_work_visible_seam(ws_tasks_t *tasks)
{
  if (ws_worker_index() < 0 && ws_xchg_acq_rel(&blind_until_look, 0))
    ws_store_relaxed(&blind, 0);
  return !sees_nothing() && __real_ws_work_visible(tasks);
}

static bool ws_steal_seam(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  return !sees_nothing() && __real_ws_steal(pool, here, task);
}

static ws_pool_t *pool;
static test_gate_t gate;

static ws_au32_t told;

static void note_skipped(void *tells, const ws_task_t *task)
{
  if (tells == &told && task->func == test_letter_task && !ws_current_task())
    ws_add_relaxed(&told, 1);
}

static void create(uint32_t workers, bool fifo, ws_full_t full)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = WS_SPIN_OFF;
  settings.fifo = fifo;
  settings.skipped = note_skipped;
  settings.skipped_arg = &told;
  settings.full = full;
  pool = test_create(&settings);
  test_letters_forget();
  test_gate_init(&gate);
}

static void destroy(void)
{
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static void tasks_are_checked(void)
{
  create(1, false, WS_FULL_GROW);
  static const char letter = 'A';
  ws_task_t tasks[3];
  for (uint32_t i = 0; i < 3; i++)
    tasks[i] = (ws_task_t){
        .func = test_letter_task, .arg = (void *)(uintptr_t)&letter, .priority = (ws_priority_t)i};
  CU_ASSERT_EQUAL(ws_pool_push_batch(pool, tasks, 3), 3);
  tasks[2].priority = (ws_priority_t)3;
  CU_ASSERT_EQUAL(ws_pool_push(pool, tasks[2]), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_try_push(pool, tasks[2]), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_push_batch(pool, tasks, 3), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_letters_count(), 3);
  destroy();
}

/// Queues of each priority grow, ...
static void full_queues(void)
{
  char letters[301];
  memset(letters, 'a', 300);
  letters[300] = '\0';
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  const uint64_t bytes = test_stats(pool).queue_bytes;
  test_letters_push(pool, letters, NULL);
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 300);
  CU_ASSERT_TRUE(test_stats(pool).queue_bytes > bytes);
  test_letters_release(&gate, 300);
  destroy();
}

/// ... refuse, or run inline, as the setting says.
static void full_queues_without_growth(void)
{
  char letters[] = "A";
  create(1, false, WS_FULL_FAIL);
  test_letters_hold(pool, &gate);
  const uint32_t capacity = (uint32_t)pool->settings.queue_capacity;
  const ws_task_t task = {.func = test_letter_task, .arg = letters, .priority = WS_PRIORITY_HIGH};
  for (uint32_t i = 0; i < capacity; i++)
    CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  CU_ASSERT_EQUAL(ws_pool_push(pool, task), -EAGAIN);
  const ws_task_t normal = {.func = test_letter_task, .arg = letters};
  for (uint32_t i = 0; i < capacity; i++)
    CU_ASSERT_EQUAL(ws_pool_push(pool, normal), 0);
  CU_ASSERT_EQUAL(ws_pool_push(pool, normal), -EAGAIN);
  test_letters_release(&gate, 2 * capacity);
  destroy();

  create(1, false, WS_FULL_INLINE);
  test_letters_hold(pool, &gate);
  for (uint32_t i = 0; i < capacity; i++)
    CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  CU_ASSERT_EQUAL(test_letters_count(), 0);
  CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  CU_ASSERT_EQUAL(test_letters_count(), 1);
  CU_ASSERT_EQUAL(TEST_SUM(pool, inline_tasks), 1);
  test_letters_release(&gate, capacity + 1);
  destroy();
}

static void without_memory_the_push_runs_the_task(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  ws_store_relaxed(&no_memory, 1);
  test_letters_push(pool, "A", NULL);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "A");
  ws_store_relaxed(&no_memory, 0);
  test_letters_push(pool, "B", NULL);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "A");
  test_letters_release(&gate, 2);
  destroy();
}

static void stops_handle_every_priority(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  ws_group_t group;
  ws_group_init(&group, 9);
  test_letters_push(pool, "a1Ab2Bc3C", &group);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_TRUE(ws_group_done(&group));
  CU_ASSERT_EQUAL(test_letters_count(), 9);
  destroy();
}

static void *abort_pool(void *skipped)
{
  *(int64_t *)skipped = ws_pool_stop(pool, WS_STOP_ABORT);
  return NULL;
}

static bool is_aborted(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->state) != WS_RUNNING; // all that an abort sets is set
}

static void an_abort_skips_every_priority(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  ws_group_t group;
  ws_group_init(&group, 9);
  test_letters_push(pool, "a1Ab2Bc3C", &group);
  int64_t skipped = 0;
  test_threads_t threads = {0};
  ws_store_relaxed(&told, 0);
  test_spawn(&threads, abort_pool, &skipped);
  CU_ASSERT_TRUE(test_until(is_aborted, NULL));
  test_gate_let(&gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(skipped, 9);
  CU_ASSERT_EQUAL(ws_load_relaxed(&told), 9);
  CU_ASSERT_TRUE(ws_group_done(&group));
  CU_ASSERT_EQUAL(test_letters_count(), 0);
  destroy();
}

static void *push_and_end(void *letters)
{
  test_letters_push(pool, letters, NULL);
  return NULL;
}

static void tasks_of_an_ended_thread_run(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  for (uint32_t i = 0; i < 2; i++) { // the second thread inherits the lane
    test_threads_t threads = {0};
    test_spawn(&threads, push_and_end, (void *)(uintptr_t) "a1A");
    test_join(&threads);
  }
  test_letters_release(&gate, 6);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "AA11aa");
  destroy();
}

/// Workers sleep between the pushes: none may be overlooked, whatever its priority.
static void sleeping_workers_are_woken(void)
{
  create(3, false, WS_FULL_GROW);
  static const char *const letters[3] = {"a", "1", "A"};
  for (uint32_t i = 1; i <= 60; i++) {
    test_letters_push(pool, letters[i % 3], NULL);
    CU_ASSERT_TRUE_FATAL(test_letters_await(i));
    if (i % 10 == 0)
      CU_ASSERT_TRUE(test_until_quiet(pool));
  }
  destroy();
}

static void a_thread_without_a_lane_has_priorities(void)
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = 0;
  pool = test_create(&settings);
  test_letters_forget();
  test_gate_init(&gate);
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "a1A", NULL);
  test_letters_release(&gate, 3);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "A1a");
  destroy();
}

static void await_three_letters(void *seen)
{
  ws_store_relaxed((ws_au32_t *)seen, test_letters_await(3));
}

/// A wait lifts unrelated tasks off its own and puts them back. A worker that looks meanwhile sees none and
/// goes to sleep: it is woken for them, because the wait may last for long.
static void tasks_that_a_wait_moves_are_not_forgotten(void)
{
  create(1, false, WS_FULL_GROW);
  ws_store_relaxed(&blind, 1); // as if the worker looked while the tasks are lifted
  ws_group_t group;
  ws_group_init(&group, 1);
  ws_au32_t seen = {0};
  test_letters_push(pool, "1", NULL);
  test_push(pool, await_three_letters, &seen, &group);
  test_letters_push(pool, "23", NULL);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  ws_store_relaxed(&blind_until_look, 1); // the wait looks when it has taken its task
  ws_group_wait(&group, pool);
  CU_ASSERT_TRUE(ws_load_relaxed(&seen));
  destroy();
}

static ws_au32_t below_pushed, below_ran;

static void run_below(void *unused)
{
  (void)unused;
  ws_store_release(&below_ran, 1);
}

static bool has_pushed_below(void *unused)
{
  (void)unused;
  return ws_load_acquire(&below_pushed) != 0;
}

static bool has_run_below(void *unused)
{
  (void)unused;
  return ws_load_acquire(&below_ran) != 0;
}

typedef struct {
  ws_group_t group;
  ws_priority_t priority;
} family_t;

/// Waits for its child in a way that the pool cannot see.
static void push_below(void *family_arg)
{
  family_t *family = family_arg;
  const ws_task_t child = {.func = run_below, .group = &family->group, .priority = family->priority};
  if (ws_pool_push(pool, child) != 0)
    ws_add_relaxed(&test_refused, 1);
  ws_store_release(&below_pushed, 1);
  test_until(has_run_below, NULL);
}

/// The pool's only worker does not run the child: the thread that waits for the group does.
static void a_wait_reaches_tasks_of_the_workers_queues(void)
{
  for (ws_priority_t priority = WS_PRIORITY_NORMAL; priority <= WS_PRIORITY_LOW; priority++) {
    create(1, false, WS_FULL_GROW);
    family_t family = {.priority = priority};
    ws_group_init(&family.group, 2);
    ws_store_relaxed(&below_pushed, 0);
    ws_store_relaxed(&below_ran, 0);
    test_push(pool, push_below, &family, &family.group);
    CU_ASSERT_TRUE(test_until(has_pushed_below, NULL)); // a wait that sleeps would not see the child
    ws_group_wait(&family.group, pool);
    CU_ASSERT_TRUE(has_run_below(NULL));
    destroy();
  }
}

static void test_seams(void)
{
  seam.ws_os_map = ws_os_map_seam;
  seam.ws_work_visible = ws_work_visible_seam;
  seam.ws_steal = ws_steal_seam;
}

TEST_MAIN_SEAMS(test_seams, "priority_ends", TEST_CASE(tasks_are_checked), TEST_CASE(full_queues),
                TEST_CASE(full_queues_without_growth), TEST_CASE(without_memory_the_push_runs_the_task),
                TEST_CASE(stops_handle_every_priority), TEST_CASE(an_abort_skips_every_priority),
                TEST_CASE(tasks_of_an_ended_thread_run), TEST_CASE(sleeping_workers_are_woken),
                TEST_CASE(a_thread_without_a_lane_has_priorities),
                TEST_CASE(tasks_that_a_wait_moves_are_not_forgotten),
                TEST_CASE(a_wait_reaches_tasks_of_the_workers_queues))
