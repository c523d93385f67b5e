// SPDX-License-Identifier: BSD-3-Clause
/// @file test_survive.c
/// Tasks that end the thread that runs them: each counts as run, its group ends, and pool, workers, waits and
/// stops go on as if it had returned. Each case runs in a child process, for a hang ends with that.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "../../../pool/ws_process.h"
#include "../../support/ws_test.h"

enum { TASKS = 5 };

/// How a task ends its thread.
typedef enum { BY_EXIT, BY_CANCEL, HOWS } how_t;

typedef struct {
  ws_pool_t *pool, *other;
  test_gate_t gate;
  how_t how;
  ws_group_t ended, left; ///< of a task that ends its thread, and of those that it leaves in the queue
  ws_au64_t begun, cleaned, after_wait, may_end;
  ws_au64_t stale; ///< times that these were taken for descendants of that one
} scene_t;

static scene_t scene;

static void note_cleanup(void *unused)
{
  (void)unused;
  ws_add_relaxed(&scene.cleaned, 1);
}

static void leave(void)
{
  if (scene.how == BY_EXIT)
    pthread_exit(NULL);
  pthread_cancel(pthread_self());
  pthread_testcancel();
  pthread_exit(NULL); // the second task of a thread that ends: it is cancelled only once
}

/// A task with a cleanup handler of its own.
static void end_thread(void *unused)
{
  ws_add_relaxed(&scene.begun, 1);
  pthread_cleanup_push(note_cleanup, unused);
  leave();
  pthread_cleanup_pop(0);
}

static void begin(how_t how, uint32_t workers)
{
  ws_settings_t settings = test_settings(workers);
  settings.full = WS_FULL_INLINE;
  settings.queue_capacity = 16;
  scene = (scene_t){.pool = test_create(&settings), .other = test_create(&settings), .how = how};
}

static void hold(ws_pool_t *pool, test_gate_t *gate)
{
  test_gate_init(gate);
  test_push(pool, test_gate_task, gate, NULL);
  test_gate_await(gate, 1);
}

/// Threads that ended have left nothing behind. @return 0, or the number of errors
static int end(uint64_t begun)
{
  if (test_value(&scene.begun) != begun || test_value(&scene.cleaned) != begun
      || test_value(&scene.after_wait) != 0)
    return 2;
  if (ws_load_relaxed(&scene.pool->helpers) != 0 || ws_load_relaxed(&scene.pool->blocked) != 0
      || ws_process_helpers() != 0)
    return 3;
  ws_group_t group;
  ws_au64_t count = {0};
  ws_group_init(&group, 10);
  for (uint32_t i = 0; i < 10; i++)
    test_push(scene.pool, test_count_task, &count, &group);
  ws_group_wait(&group, NULL); // the workers run them
  if (test_value(&count) != 10 || ws_pool_wait(scene.pool) != 0 || ws_pool_wait(scene.other) != 0)
    return 4;
  for (uint32_t i = 0; i < ws_queue_count(&scene.pool->tasks); i++)
    if (scene.pool->tasks.queue[i]->depth != 0 || scene.pool->tasks.queue[i]->mark)
      return 10; // its owner is in no task, and does not wait
  ws_pool_destroy(scene.pool);
  ws_pool_destroy(scene.other);
  return ws_load_relaxed(&test_refused) == 0 ? 0 : 5;
}

static void in_thread(void *(*body)(void *))
{
  test_threads_t threads = {0};
  test_spawn(&threads, body, NULL);
  test_join(&threads);
}

static void push_and_wait(ws_pool_t *pool, void (*task)(void *), uint32_t count)
{
  ws_group_t group;
  ws_group_init(&group, count);
  for (uint32_t i = 0; i < count; i++)
    test_push(pool, task, NULL, &group);
  ws_group_wait(&group, pool);
}

static void *help_and_end(void *unused)
{
  push_and_wait(scene.pool, end_thread, TASKS);
  ws_add_relaxed(&scene.after_wait, 1);
  return unused;
}

static int helper(void *how)
{
  begin(*(const how_t *)how, 1);
  hold(scene.pool, &scene.gate);
  in_thread(help_and_end); // it runs all of them: the group lies on its stack, and its wait goes on
  test_gate_let(&scene.gate, 1);
  return end(TASKS);
}

static void wait_inside(void *unused)
{
  (void)unused;
  ws_blocking_begin();
  push_and_wait(scene.other, end_thread, TASKS);
  ws_add_relaxed(&scene.after_wait, 1);
}

static void *help_inside_and_end(void *unused)
{
  push_and_wait(scene.pool, wait_inside, 2);
  ws_add_relaxed(&scene.after_wait, 1);
  return unused;
}

static int nested_helper(void *how)
{
  begin(*(const how_t *)how, 1);
  hold(scene.pool, &scene.gate);
  test_gate_t other_gate;
  hold(scene.other, &other_gate);
  in_thread(help_inside_and_end);
  test_gate_let(&scene.gate, 1);
  test_gate_let(&other_gate, 1);
  return end(2 * TASKS);
}

static int worker(void *how)
{
  begin(*(const how_t *)how, 2);
  ws_group_t group;
  ws_group_init(&group, 3 * TASKS);
  for (uint32_t i = 0; i < 3 * TASKS; i++)
    test_push(scene.pool, end_thread, NULL, &group);
  ws_group_wait(&group, NULL);
  if (test_warnings_with("ended its thread") == 0)
    return 6;
  return end(3 * TASKS);
}

static void note_root(void *unused)
{
  (void)unused;
  if (ws_load_relaxed(&ws_self()->worker->queue.root) == &scene.ended)
    ws_add_relaxed(&scene.stale, 1);
}

static void push_and_end(void *unused)
{
  for (uint32_t i = 0; i < TASKS; i++)
    test_push(scene.pool, note_root, NULL, &scene.left);
  end_thread(unused);
}

/// The group of the ended task may be gone: nothing in the queue may be taken for part of it.
static int worker_with_a_legacy(void *how)
{
  begin(*(const how_t *)how, 1);
  ws_group_init(&scene.ended, 1);
  ws_group_init(&scene.left, TASKS);
  test_push(scene.pool, push_and_end, NULL, &scene.ended);
  ws_group_wait(&scene.left, NULL);
  if (test_value(&scene.stale) != 0 || !ws_group_done(&scene.ended))
    return 11;
  return end(1);
}

static int worker_in_a_wait(void *how)
{
  begin(*(const how_t *)how, 1);
  test_gate_t other_gate;
  hold(scene.other, &other_gate); // or its worker may run all of them, and the wait returns
  ws_group_t group;
  ws_group_init(&group, 1);
  test_push(scene.pool, wait_inside, NULL, &group);
  ws_group_wait(&group, NULL);
  test_gate_let(&other_gate, 1);
  return end(TASKS);
}

static void *wait_for_pool(void *unused)
{
  for (uint32_t i = 0; i < TASKS; i++)
    test_push(scene.pool, end_thread, NULL, NULL);
  while (ws_pool_wait(scene.pool) != 0) // it ends in the first task, and leaves the others to the worker
    continue;
  ws_add_relaxed(&scene.after_wait, 1);
  return unused;
}

static bool all_have_ended(void *unused)
{
  (void)unused;
  return test_value(&scene.cleaned) == TASKS;
}

static int wait_for_all(void *how)
{
  begin(*(const how_t *)how, 1);
  hold(scene.pool, &scene.gate);
  in_thread(wait_for_pool);
  const bool first = test_value(&scene.begun) == 1;
  test_gate_let(&scene.gate, 1);
  if (!first || !test_until(all_have_ended, NULL)) // this thread must not run one
    return 7;
  return end(TASKS);
}

static void *stop_pool(void *unused)
{
  for (uint32_t i = 0; i < TASKS; i++)
    test_push(scene.pool, end_thread, NULL, NULL);
  test_gate_let(&scene.gate, 1);
  ws_pool_stop(scene.pool, WS_STOP_DRAIN);
  return unused; // or it has ended in a task that the stop has run
}

static int stop(void *how)
{
  begin(*(const how_t *)how, 1);
  hold(scene.pool, &scene.gate);
  in_thread(stop_pool);
  if (ws_load_relaxed(&scene.pool->state) != WS_STOPPED || test_value(&scene.begun) != TASKS)
    return 8;
  ws_pool_destroy(scene.pool);
  ws_pool_destroy(scene.other);
  return 0;
}

static void *push_inline(void *unused)
{
  for (uint32_t i = 0; i < 16; i++)
    test_push(scene.pool, test_empty_task, NULL, NULL);
  test_push(scene.pool, end_thread, NULL, NULL); // full: runs here
  ws_add_relaxed(&scene.after_wait, 1);
  return unused;
}

static int inline_task(void *how)
{
  begin(*(const how_t *)how, 1);
  hold(scene.pool, &scene.gate);
  in_thread(push_inline);
  test_gate_let(&scene.gate, 1);
  return end(1);
}

static bool never(void *unused)
{
  (void)unused;
  return false;
}

static void sleep_until_cancelled(void *unused)
{
  ws_add_relaxed(&scene.begun, 1);
  note_cleanup(unused);
  pause(); // a cancellation point
}

static void *await_without_end(void *unused)
{
  test_push(scene.pool, test_empty_task, NULL, NULL); // it has a lane, and helps
  ws_pool_await(scene.pool, ws_group_tag(&scene), &(ws_event_t){never, sleep_until_cancelled, NULL});
  return unused;
}

static bool has_begun(void *unused)
{
  (void)unused;
  return test_value(&scene.begun) > 0;
}

static int event(void *how)
{
  begin(*(const how_t *)how, 1);
  test_threads_t threads = {0};
  test_spawn(&threads, await_without_end, NULL);
  if (!test_until(has_begun, NULL))
    return 9;
  pthread_cancel(threads.thread[0]);
  test_join(&threads);
  return end(1);
}

/// Ends its thread when the gate is open.
static void end_thread_late(void *unused)
{
  ws_add_relaxed(&scene.begun, 1);
  while (test_value(&scene.may_end) == 0)
    ws_os_now_ns();
  note_cleanup(unused);
  leave();
}

static void *await_and_end(void *unused)
{
  const ws_task_t task = {.func = end_thread_late, .group = ws_group_tag(&scene)};
  if (ws_pool_push(scene.pool, task) == 0)
    ws_pool_await(scene.pool, task.group, &(ws_event_t){never, sleep_until_cancelled, NULL});
  ws_add_relaxed(&scene.after_wait, 1);
  return unused;
}

static void *wait_beside(void *unused)
{
  ws_pool_wait(scene.pool);
  return unused;
}

static bool has_waiter(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&scene.pool->waiters) == 1;
}

static bool sleeps(void *unused)
{
  (void)unused;
  return ws_awake(scene.pool) == 0;
}

/// The last task of the pool ends a thread that awaits an event, while another thread waits for the pool.
static int last_task(void *how)
{
  begin(*(const how_t *)how, 1);
  hold(scene.pool, &scene.gate);
  test_threads_t threads = {0};
  test_spawn(&threads, await_and_end, NULL);
  if (!test_until(has_begun, NULL))
    return 9;
  test_spawn(&threads, wait_beside, NULL);
  if (!test_until(has_waiter, NULL))
    return 9;
  test_gate_let(&scene.gate, 1);
  if (!test_until(sleeps, NULL))
    return 9;
  ws_add_relaxed(&scene.may_end, 1);
  test_join(&threads);
  return end(1);
}

static void each_way(int (*body)(void *how))
{
  for (how_t how = BY_EXIT; how < HOWS; how++) {
    const int result = test_in_child(body, &how);
    if (result != 0)
      printf("\n    %s ends its thread: result %d", how == BY_EXIT ? "an exit" : "a cancellation", result);
    CU_ASSERT_EQUAL(result, 0);
  }
}

#define EACH_WAY(name, body)                                                                                 \
  static void name(void)                                                                                     \
  {                                                                                                          \
    each_way(body);                                                                                          \
  }

EACH_WAY(helper_goes_on_until_its_group_is_done, helper)
EACH_WAY(helper_in_two_pools, nested_helper)
EACH_WAY(worker_goes_on, worker)
EACH_WAY(worker_that_waits_goes_on, worker_in_a_wait)
EACH_WAY(worker_has_left_tasks, worker_with_a_legacy)
EACH_WAY(wait_for_a_pool_ends, wait_for_all)
EACH_WAY(stop_is_finished, stop)
EACH_WAY(task_run_in_a_push, inline_task)
EACH_WAY(last_task_ends_a_thread_that_awaits_an_event, last_task)

static void wait_for_an_event_is_given_up(void)
{
  if (TEST_SANITIZED) { // AddressSanitizer takes the stack of an unwound thread for one in use
    printf("(skipped: a sanitizer) ");
    return;
  }
  CU_ASSERT_EQUAL(test_in_child(event, &(how_t){BY_CANCEL}), 0);
}

TEST_MAIN("survive", TEST_CASE(helper_goes_on_until_its_group_is_done), TEST_CASE(helper_in_two_pools),
          TEST_CASE(worker_goes_on), TEST_CASE(worker_that_waits_goes_on), TEST_CASE(wait_for_a_pool_ends),
          TEST_CASE(stop_is_finished), TEST_CASE(task_run_in_a_push), TEST_CASE(worker_has_left_tasks),
          TEST_CASE(last_task_ends_a_thread_that_awaits_an_event), TEST_CASE(wait_for_an_event_is_given_up))
