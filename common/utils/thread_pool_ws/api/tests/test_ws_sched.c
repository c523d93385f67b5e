// SPDX-License-Identifier: BSD-3-Clause
/// @file test_ws_sched.c
/// The interface ws_sched: the life of a task, and what is refused. Linked with --wrap of ws_os_map,
/// pthread_create and ws_pool_push, which can be made to fail.
#include "ws_sched_test.h"

#include <sched.h> // a program may include both

/// Calls that succeed before one fails; UINT32_MAX: none fails.
static uint32_t maps_left = UINT32_MAX, threads_left = UINT32_MAX;

TEST_WRAP(void *, ws_os_map, (size_t bytes))
{
  if (maps_left == 0)
    return NULL;
  maps_left -= maps_left < UINT32_MAX;
  return __real_ws_os_map(bytes);
}

TEST_WRAP(int, pthread_create,
          (pthread_t * thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg))
{
  if (threads_left == 0)
    return EAGAIN;
  threads_left -= threads_left < UINT32_MAX;
  return __real_pthread_create(thread, attr, body, arg);
}

static bool refuses_push;

TEST_WRAP(int, ws_pool_push, (ws_pool_t * pool, ws_task_t task))
{
  return refuses_push ? -EAGAIN : __real_ws_pool_push(pool, task);
}

TEST_CASE(a_task_in_use_is_refused)
{
  ws_au64_t ran = {0};
  hold(1, 4);
  ws_sched_task_t task;
  CU_ASSERT_EQUAL(sched_task_init(&task, test_count_task, &ran, WS_PRIORITY_LOW), 0);
  CU_ASSERT_EQUAL(sched_post(held.sched, &task), 0);
  ws_sched_task_t *const in_use[] = {&task, held.holder}; // queued, and running
  for (uint32_t i = 0; i < 2; i++) {
    CU_ASSERT_EQUAL(sched_is_complete(in_use[i]), 0);
    CU_ASSERT_EQUAL(sched_post(held.sched, in_use[i]), -EBUSY);
    CU_ASSERT_EQUAL(sched_task_init(in_use[i], test_empty_task, NULL, WS_PRIORITY_HIGH), -EBUSY);
  }
  CU_ASSERT_EQUAL(test_value(&ran), 0);
  let_go();
  CU_ASSERT_EQUAL(test_value(&ran), 1); // with the function of its first preparation
  CU_ASSERT_EQUAL(sched_is_complete(&task), 1);
  CU_ASSERT_EQUAL(sched_task_init(&task, test_count_task, &ran, WS_PRIORITY_HIGH), 0);
  CU_ASSERT_EQUAL(sched_post(held.sched, &task), 0);
  CU_ASSERT_EQUAL(sched_execute(held.sched), 0);
  end_held();
  CU_ASSERT_EQUAL(test_value(&ran), 2);
}

static struct {
  char begun[8]; ///< one letter a task, by the one worker
  ws_au32_t count;
} order;

static void note_letter(void *letter)
{
  order.begun[ws_load_relaxed(&order.count)] = *(const char *)letter;
  ws_add_acq_rel(&order.count, 1);
}

/// The highest priority first. A letter's place in the alphabet is its priority.
TEST_CASE(fini_runs_what_is_posted)
{
  static char posted[] = "acbcab";
  static const ws_priority_t priority[] = {WS_PRIORITY_LOW, WS_PRIORITY_NORMAL, WS_PRIORITY_HIGH};
  ws_sched_task_t task[sizeof posted];
  hold(1, sizeof posted + 1);
  for (uint32_t i = 0; posted[i]; i++) {
    CU_ASSERT_EQUAL(sched_task_init(&task[i], note_letter, &posted[i], priority[posted[i] - 'a']), 0);
    CU_ASSERT_EQUAL(sched_post(held.sched, &task[i]), 0);
  }
  sched_task_init(&task[6], test_gate_let_one, &held.gate, WS_PRIORITY_LOW);
  CU_ASSERT_EQUAL(sched_post(held.sched, &task[6]), 0);
  end_held(); // this thread runs them, and then lets the worker go
  CU_ASSERT_STRING_EQUAL(order.begun, "ccbbaa");
}

static int inside[2];

static void wait_and_end_inside(void *sched)
{
  inside[0] = sched_execute(sched);
  inside[1] = sched_fini(sched);
}

TEST_CASE(waits_inside_a_task_are_refused)
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
TEST_CASE(too_little_is_told_at_the_start)
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
TEST_CASE(bad_input_is_refused)
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
TEST_CASE(a_refused_post_keeps_no_place)
{
  ws_au64_t ran = {0};
  ws_sched_task_t task;
  ws_sched_t *sched = sched_init(1, 1);
  CU_ASSERT_EQUAL(sched_task_init(&task, test_count_task, &ran, WS_PRIORITY_NORMAL), 0);
  refuses_push = true;
  for (uint32_t round = 0; round < 3; round++) {
    CU_ASSERT_EQUAL(sched_post(sched, &task), -EAGAIN);
    CU_ASSERT_EQUAL(sched_is_complete(&task), 1);
  }
  refuses_push = false;
  CU_ASSERT_EQUAL(sched_post(sched, &task), 0);
  CU_ASSERT_EQUAL(sched_fini(sched), 0);
  CU_ASSERT_EQUAL(test_value(&ran), 1);
}

TEST_MAIN("ws_sched")
