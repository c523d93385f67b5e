// SPDX-License-Identifier: BSD-3-Clause
/// @file test_ws_sched.c
/// The interface ws_sched: as a program would use it by the description in its header, the life of a task,
/// and what is refused. Linked with --wrap of ws_os_map, pthread_create and ws_pool_push, which can be made
/// to fail.
#define _GNU_SOURCE
#include "ws_sched_test.h"

#include <errno.h>
#include <sched.h> // a program may include both
#include <string.h>

#define TASKS 200u

/// Calls that succeed before one fails; UINT32_MAX: none fails.
static uint32_t maps_left = UINT32_MAX, threads_left = UINT32_MAX;

void *__real_ws_os_map(size_t bytes);
void *__wrap_ws_os_map(size_t bytes);

void *__wrap_ws_os_map(size_t bytes)
{
  if (maps_left == 0)
    return NULL;
  maps_left -= maps_left < UINT32_MAX;
  return __real_ws_os_map(bytes);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
  if (threads_left == 0)
    return EAGAIN;
  threads_left -= threads_left < UINT32_MAX;
  return __real_pthread_create(thread, attr, body, arg);
}

static bool refuses_push;

int __real_ws_pool_push(ws_pool_t *pool, ws_task_t task);
int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task);

int __wrap_ws_pool_push(ws_pool_t *pool, ws_task_t task)
{
  return refuses_push ? -EAGAIN : __real_ws_pool_push(pool, task);
}

/// A caller's arguments, with the result in them.
typedef struct {
  uint64_t number, square, runs;
} item_t;

static void compute(void *item_arg)
{
  item_t *item = item_arg;
  item->square = item->number * item->number;
  item->runs++;
}

static void runs_each_task_once(void)
{
  static item_t item[TASKS];
  static ws_sched_task_t task[TASKS];
  for (uint32_t workers = 1; workers <= 4; workers++) {
    ws_sched_t *sched = sched_init(workers, TASKS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(sched);
    for (uint32_t i = 0; i < TASKS; i++) {
      item[i] = (item_t){.number = i};
      CU_ASSERT_EQUAL_FATAL(sched_task_init(&task[i], compute, &item[i], (ws_priority_t)(i % 3)), 0);
    }
    for (uint64_t round = 1; round <= 3; round++) {
      for (uint32_t i = 0; i < TASKS; i++)
        CU_ASSERT_EQUAL_FATAL(sched_post(sched, &task[i]), 0); // the same tasks again in each round
      CU_ASSERT_EQUAL(sched_execute(sched), 0);
      for (uint32_t i = 0; i < TASKS; i++) {
        CU_ASSERT_EQUAL_FATAL(sched_is_complete(&task[i]), 1);
        CU_ASSERT(item[i].square == (uint64_t)i * i && item[i].runs == round);
      }
    }
    CU_ASSERT_EQUAL(sched_fini(sched), 0);
  }
}

#define NODES 511u

static struct {
  ws_sched_t *sched;
  ws_sched_task_t task[NODES];
  ws_au32_t ran[NODES];
} tree;

/// Node i posts its children, 2 i + 1 and 2 i + 2. It cannot post itself.
static void grow(void *ran_arg)
{
  const uint32_t node = (uint32_t)((ws_au32_t *)ran_arg - tree.ran);
  ws_add_relaxed(&tree.ran[node], 1);
  if (sched_post(tree.sched, &tree.task[node]) != -EBUSY)
    ws_add_relaxed(&test_refused, 1);
  for (uint32_t child = 2 * node + 1; child <= 2 * node + 2 && child < NODES; child++)
    if (sched_post(tree.sched, &tree.task[child]) != 0)
      ws_add_relaxed(&test_refused, 1);
}

static void execute_waits_for_tasks_of_tasks(void)
{
  memset(&tree, 0, sizeof tree);
  tree.sched = sched_init(2, NODES);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree.sched);
  for (uint32_t i = 0; i < NODES; i++)
    sched_task_init(&tree.task[i], grow, &tree.ran[i], (ws_priority_t)(i % 3));
  CU_ASSERT_EQUAL(sched_post(tree.sched, &tree.task[0]), 0);
  CU_ASSERT_EQUAL(sched_execute(tree.sched), 0);
  for (uint32_t i = 0; i < NODES; i++)
    CU_ASSERT_EQUAL_FATAL(ws_load_relaxed(&tree.ran[i]), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&test_refused), 0);
  CU_ASSERT_EQUAL(sched_fini(tree.sched), 0);
}

static void a_task_in_use_is_refused(void)
{
  static item_t item = {.number = 7};
  hold(1, 4);
  ws_sched_task_t task;
  CU_ASSERT_EQUAL(sched_task_init(&task, compute, &item, WS_PRIORITY_LOW), 0);
  CU_ASSERT_EQUAL(sched_post(held.sched, &task), 0);
  ws_sched_task_t *const in_use[] = {&task, held.holder}; // queued, and running
  for (uint32_t i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(sched_is_complete(in_use[i]), 0);
    CU_ASSERT_EQUAL(sched_post(held.sched, in_use[i]), -EBUSY);
    CU_ASSERT_EQUAL(sched_task_init(in_use[i], test_empty_task, NULL, WS_PRIORITY_HIGH), -EBUSY);
  }
  CU_ASSERT_EQUAL(item.runs, 0);
  let_go();
  CU_ASSERT_EQUAL(item.runs, 1); // with the function of its first preparation
  CU_ASSERT_EQUAL(sched_is_complete(&task), 1);
  CU_ASSERT_EQUAL(sched_task_init(&task, compute, &item, WS_PRIORITY_HIGH), 0);
  CU_ASSERT_EQUAL(sched_post(held.sched, &task), 0);
  CU_ASSERT_EQUAL(sched_execute(held.sched), 0);
  end_held();
  CU_ASSERT_EQUAL(item.runs, 2);
}

static void fini_runs_what_is_posted(void)
{
  item_t item[10] = {{0}};
  ws_sched_task_t task[11];
  hold(1, 12);
  for (uint32_t i = 0; i < 10; i++) {
    sched_task_init(&task[i], compute, &item[i], WS_PRIORITY_NORMAL);
    CU_ASSERT_EQUAL(sched_post(held.sched, &task[i]), 0);
  }
  sched_task_init(&task[10], open_gate, &held.gate, WS_PRIORITY_NORMAL);
  CU_ASSERT_EQUAL(sched_post(held.sched, &task[10]), 0); // the thread in sched_fini() runs it
  end_held();
  for (uint32_t i = 0; i < 10; i++)
    CU_ASSERT_EQUAL(item[i].runs, 1);
}

static int inside[2];

static void wait_and_end_inside(void *sched)
{
  inside[0] = sched_execute(sched);
  inside[1] = sched_fini(sched);
}

static void waits_inside_a_task_are_refused(void)
{
  ws_sched_t *sched = sched_init(1, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(sched);
  ws_sched_task_t task;
  CU_ASSERT_EQUAL(sched_task_init(&task, wait_and_end_inside, sched, WS_PRIORITY_NORMAL), 0);
  CU_ASSERT_EQUAL(sched_post(sched, &task), 0);
  CU_ASSERT_EQUAL(sched_execute(sched), 0);
  CU_ASSERT(inside[0] == -EDEADLK && inside[1] == -EDEADLK);
  CU_ASSERT_EQUAL(sched_post(sched, &task), 0); // nothing has ended
  CU_ASSERT_EQUAL(sched_fini(sched), 0);
}

/// @return the error of a start that must fail
static int start_error(uint32_t workers, uint32_t capacity)
{
  errno = 0;
  ws_sched_t *sched = sched_init(workers, capacity);
  const int error = sched ? 0 : errno;
  sched_fini(sched);
  return error;
}

/// Each mapping of a start fails once, and each thread.
static void too_little_is_told_at_the_start(void)
{
  uint32_t maps = 0;
  for (maps_left = 0; start_error(2, 8) == ENOMEM; maps_left = maps)
    maps++;
  maps_left = UINT32_MAX;
  CU_ASSERT(maps >= 1 + 3); // the pool, and a queue for each priority
  for (uint32_t threads = 0; threads < 2; threads++) {
    threads_left = threads;
    CU_ASSERT_EQUAL(start_error(2, 8), EAGAIN);
  }
  threads_left = UINT32_MAX;
}

/// None of that uses up the only place.
static void bad_input_is_refused(void)
{
  static const uint32_t sizes[][2] = {{0, 1}, {1025, 1}, {1, 0}, {1, WS_SCHED_CAPACITY_MAX + 1}};
  for (uint32_t i = 0; i < TEST_COUNT(sizes); i++)
    CU_ASSERT_EQUAL(start_error(sizes[i][0], sizes[i][1]), EINVAL);
  ws_sched_t *sched = sched_init(1, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(sched);
  ws_sched_task_t task, copy, raw = {0}; // prepared, copied, not prepared
  CU_ASSERT_EQUAL(sched_task_init(&task, test_empty_task, NULL, WS_PRIORITY_NORMAL), 0);
  memcpy(&copy, &task, sizeof copy);
  const int results[] = {sched_task_init(NULL, test_empty_task, NULL, WS_PRIORITY_NORMAL),
                         sched_task_init(&raw, NULL, NULL, WS_PRIORITY_NORMAL),
                         sched_task_init(&raw, test_empty_task, NULL, (ws_priority_t)3),
                         sched_task_init(&raw, test_empty_task, NULL, (ws_priority_t)-1),
                         sched_post(sched, &raw),
                         sched_is_complete(&raw),
                         sched_post(sched, &copy),
                         sched_is_complete(&copy),
                         sched_post(NULL, &task),
                         sched_post(sched, NULL),
                         sched_is_complete(NULL),
                         sched_execute(NULL),
                         sched_fini(NULL)};
  for (uint32_t i = 0; i < TEST_COUNT(results); i++)
    CU_ASSERT_EQUAL(results[i], -EINVAL);
  CU_ASSERT_EQUAL(sched_post(sched, &task), 0);
  CU_ASSERT_EQUAL(sched_fini(sched), 0);
  CU_ASSERT_EQUAL(sched_yield(), 0); // the system's
}

/// The queue that threads without one share may refuse a task that has a place.
static void a_refused_post_keeps_no_place(void)
{
  item_t item = {.number = 5};
  ws_sched_task_t task;
  ws_sched_t *sched = sched_init(1, 1);
  CU_ASSERT_EQUAL(sched_task_init(&task, compute, &item, WS_PRIORITY_NORMAL), 0);
  refuses_push = true;
  for (uint32_t round = 0; round < 3; round++) {
    CU_ASSERT_EQUAL(sched_post(sched, &task), -EAGAIN);
    CU_ASSERT_EQUAL(sched_is_complete(&task), 1);
  }
  refuses_push = false;
  CU_ASSERT_EQUAL(sched_post(sched, &task), 0);
  CU_ASSERT_EQUAL(sched_fini(sched), 0);
  CU_ASSERT_EQUAL(item.runs, 1);
}

TEST_MAIN("ws_sched", TEST_CASE(runs_each_task_once), TEST_CASE(execute_waits_for_tasks_of_tasks),
          TEST_CASE(a_task_in_use_is_refused), TEST_CASE(fini_runs_what_is_posted),
          TEST_CASE(waits_inside_a_task_are_refused), TEST_CASE(too_little_is_told_at_the_start),
          TEST_CASE(bad_input_is_refused), TEST_CASE(a_refused_post_keeps_no_place))
