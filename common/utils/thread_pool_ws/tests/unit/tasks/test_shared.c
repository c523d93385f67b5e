// SPDX-License-Identifier: BSD-3-Clause
/// @file test_shared.c
/// A queue that all threads share: bounds, order, takes from the middle, growth, exactly once with several
/// threads. Linked with --wrap of ws_os_map and pthread_mutex_init.
#include "../../../tasks/ws_shared.h"

#include <sched.h>
#include <string.h>

#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define TASKS (TEST_SANITIZED ? 15000u : 60000u)
enum { PUSHERS = 2, TAKERS = 4, CAPACITY = 4, KIND = WS_KIND_NORMAL };

static bool no_memory;
static int protocol; ///< of the last lock that has attributes

static void *ws_os_map_seam(size_t bytes)
{
  return no_memory ? NULL : __real_ws_os_map(bytes);
}

static int pthread_mutex_init_seam(pthread_mutex_t *lock, const pthread_mutexattr_t *attributes)
{
  if (attributes)
    pthread_mutexattr_getprotocol(attributes, &protocol);
  return __real_pthread_mutex_init(lock, attributes);
}

static ws_tasks_t tasks;
static ws_queue_t pushers[2];
static ws_group_t group;

static void begin(void)
{
  memset(&tasks, 0, sizeof(tasks));
  tasks.kinds = KIND + 1;
  ws_shared_init(&tasks.shared[KIND], CAPACITY);
}

static bool moved; ///< what is pushed

static bool push(uintptr_t number, ws_group_t *of, uint32_t by, bool grow)
{
  const ws_task_t task = {.func = test_empty_task, .arg = (void *)number, .group = of};
  const bool has_room = ws_shared_begin(&tasks, KIND, grow);
  if (has_room)
    ws_shared_link(&tasks, KIND, &task, &pushers[by], moved);
  return has_room;
}

/// @return the number of the oldest task; 0 = there is none
static uintptr_t take(void)
{
  ws_task_t task = {0};
  return ws_shared_take(&tasks, KIND, &task) ? (uintptr_t)task.arg : 0;
}

static uintptr_t take_wanted(ws_wanted_t wanted, ws_seen_t *seen)
{
  ws_task_t task = {0};
  return ws_shared_take_wanted(&tasks, KIND, &wanted, seen, &task) ? (uintptr_t)task.arg : 0;
}

static void empty_full_and_oldest_first(void)
{
  begin();
  CU_ASSERT_EQUAL(protocol, PTHREAD_PRIO_INHERIT);
  for (uint32_t lap = 0; lap < 100; lap++) {
    CU_ASSERT_EQUAL(take(), 0);
    for (uintptr_t i = 1; i <= CAPACITY; i++)
      CU_ASSERT_TRUE(push(i, NULL, 0, false));
    CU_ASSERT_FALSE(push(5, NULL, 0, false));
    CU_ASSERT_TRUE(ws_shared_size(&tasks, KIND) == CAPACITY && ws_shared_count(&tasks) == CAPACITY);
    for (uintptr_t i = 1; i <= CAPACITY; i++)
      CU_ASSERT_EQUAL(take(), i);
    CU_ASSERT_EQUAL(ws_shared_count(&tasks), 0);
  }
  ws_shared_free(&tasks.shared[KIND]);
}

/// A take from the middle frees its cell at once. Each task is read once, however often a wait looks.
static void a_wait_takes_what_it_may_run(void)
{
  const ws_wanted_t strong = {.group = &group}, weak = {.group = &group, .weak = true};
  ws_seen_t seen = {0}, seen_anew = {0}, seen_by_pusher = {0}, seen_by_all = {0};
  begin();
  push(1, NULL, 0, false);
  push(2, &group, 1, false);
  push(3, ws_group_weak_tag(&group), 1, false);
  const ws_wanted_t own = {.group = &group, .pusher = &pushers[0], .after = 3};
  const ws_wanted_t own_only = {.group = &group, .pusher = &pushers[0], .after = 5, .own_only = true};
  push(4, NULL, 0, false);
  CU_ASSERT_EQUAL(take_wanted(strong, &seen), 2);
  CU_ASSERT_TRUE(push(5, NULL, 1, false));
  CU_ASSERT_EQUAL(take_wanted(strong, &seen), 0);
  CU_ASSERT_EQUAL(seen.number, 5);
  CU_ASSERT_EQUAL(take_wanted(weak, &seen), 0); // it has read that one
  CU_ASSERT_EQUAL(take_wanted(weak, &seen_anew), 3);
  CU_ASSERT_EQUAL(take_wanted(own, &seen_by_pusher), 4);
  CU_ASSERT_EQUAL(take_wanted(own, &seen_by_pusher), 0);
  CU_ASSERT_EQUAL(take(), 1);
  push(7, &group, 1, false);
  moved = true;
  push(6, NULL, 0, false);
  push(8, &group, 0, false);
  moved = false;
  CU_ASSERT_EQUAL(take_wanted(own_only, &seen_by_all), 8);
  CU_ASSERT_EQUAL(take_wanted(own_only, &seen_by_all), 0);
  CU_ASSERT_TRUE(take() == 5 && take() == 7 && take() == 6);
  ws_shared_free(&tasks.shared[KIND]);
}

/// Other threads take the task that a wait would read next, and push into its cell.
static void a_wait_goes_on_where_others_take(void)
{
  const ws_wanted_t wanted = {.group = &group};
  begin();
  for (uint32_t others = 0; others <= 2; others++) {
    ws_seen_t seen = {0};
    push(1, NULL, 1, true);
    push(2, &group, 1, true);
    for (uintptr_t i = 3; i < 3 + others; i++)
      push(i, NULL, 1, true);
    push(9, &group, 1, true);
    CU_ASSERT_EQUAL(take_wanted(wanted, &seen), 2);
    for (uint32_t i = 0; i <= others; i++)
      CU_ASSERT_NOT_EQUAL(take(), 9);
    push(10, &group, 1, true);
    CU_ASSERT_EQUAL(take_wanted(wanted, &seen), 9);
    CU_ASSERT_EQUAL(take_wanted(wanted, &seen), 10);
    CU_ASSERT_EQUAL(take_wanted(wanted, &seen), 0);
  }
  ws_shared_free(&tasks.shared[KIND]);
}

static bool is_even(const ws_task_t *task, void *unused)
{
  return !unused && (uintptr_t)task->arg % 2 == 0;
}

static void it_grows_and_is_sifted_in_order(void)
{
  begin();
  no_memory = true;
  CU_ASSERT_FALSE(ws_shared_reserve(&tasks.shared[KIND]) || push(1, NULL, 0, true));
  no_memory = false;
  uintptr_t last = CAPACITY;
  for (uintptr_t i = 1; i <= CAPACITY; i++)
    CU_ASSERT_TRUE(push(i, NULL, 0, false));
  CU_ASSERT_EQUAL(take(), 1); // the oldest cell is not the first one
  CU_ASSERT_EQUAL(ws_shared_grown_bytes(&tasks, KIND), 0);
  while (last < 5 * CAPACITY)
    CU_ASSERT_TRUE(push(++last, NULL, 0, true));
  CU_ASSERT_TRUE(ws_shared_grown_bytes(&tasks, KIND) > 0);
  no_memory = true;
  while (push(last + 1, NULL, 0, true))
    last++;
  no_memory = false;
  CU_ASSERT_EQUAL(ws_shared_sift(&tasks, is_even, NULL), last / 2);
  for (uintptr_t i = 3; i <= last; i += 2)
    CU_ASSERT_EQUAL(take(), i);
  CU_ASSERT_EQUAL(ws_shared_count(&tasks), 0);
  ws_shared_free(&tasks.shared[KIND]);
}

static ws_au32_t taken[PUSHERS * TASKS + 1];
static ws_au64_t total, next_pusher;

static void *push_many(void *unused)
{
  const uint64_t first = ws_add_relaxed(&next_pusher, 1) * TASKS;
  for (uint64_t i = 1; i <= TASKS; i++)
    while (!push(first + i, i % 3 ? NULL : &group, 0, first > 0 && i % 100 == 0))
      sched_yield();
  return unused;
}

/// @param chooses  only tasks of the group
static void *take_many(void *chooses)
{
  while (ws_load_relaxed(&total) < PUSHERS * TASKS) {
    ws_seen_t seen = {0};
    const uintptr_t number = chooses ? take_wanted((ws_wanted_t){.group = &group}, &seen) : take();
    if (number == 0)
      sched_yield();
    ws_add_relaxed(&taken[number], 1);
    ws_add_relaxed(&total, number > 0);
  }
  return NULL;
}

static void several_threads_take_each_task_once(void)
{
  test_threads_t threads = {0};
  begin();
  for (uint32_t i = 0; i < PUSHERS; i++)
    test_spawn(&threads, push_many, NULL);
  for (uint32_t i = 0; i < TAKERS; i++)
    test_spawn(&threads, take_many, i % 2 ? &group : NULL);
  test_join(&threads);
  uint32_t wrong = 0;
  for (uint32_t i = 1; i <= PUSHERS * TASKS; i++)
    wrong += ws_load_relaxed(&taken[i]) != 1;
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(ws_shared_count(&tasks), 0);
  ws_shared_free(&tasks.shared[KIND]);
}

static void test_seams(void)
{
  seam.ws_os_map = ws_os_map_seam;
  seam.pthread_mutex_init = pthread_mutex_init_seam;
}

TEST_MAIN_SEAMS(test_seams, "shared", TEST_CASE(empty_full_and_oldest_first),
                TEST_CASE(a_wait_takes_what_it_may_run), TEST_CASE(a_wait_goes_on_where_others_take),
                TEST_CASE(it_grows_and_is_sifted_in_order), TEST_CASE(several_threads_take_each_task_once))
