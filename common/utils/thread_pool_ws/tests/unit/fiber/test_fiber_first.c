// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_first.c
/// What the first fiber of a process changes: signals, and the thread for time limits. Linked with
/// --wrap=ws_os_thread_create.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "../../../fiber/ws_lot.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

static ws_au32_t no_threads;

static int ws_os_thread_create_seam(pthread_t *thread, void *(*func)(void *arg), void *arg)
{
  return ws_load_acquire(&no_threads) ? EAGAIN : __real_ws_os_thread_create(thread, func, arg);
}

static void do_nothing(void *unused)
{
  (void)unused;
}

static void run_one(void)
{
  scene_begin(1);
  push_fiber(do_nothing, NULL, NULL);
  ws_pool_wait(scene.pool);
  scene_end();
}

static int raise_default(void *unused)
{
  (void)unused;
  run_one();
  raise(SIGSEGV);
  return 0;
}

static int raise_ignored(void *unused)
{
  (void)unused;
  signal(SIGSEGV, SIG_IGN);
  run_one();
  raise(SIGSEGV);
  raise(SIGSEGV);
  return 3;
}

static void end_with_four(int number)
{
  (void)number;
  _exit(4);
}

static int raise_handled(void *unused)
{
  (void)unused;
  signal(SIGSEGV, end_with_four);
  run_one();
  raise(SIGSEGV);
  return 0;
}

/// A SIGSEGV that a program sends does what it did before there were fibers.
static void test_sent_signal(void)
{
  const int by_default = test_in_child(raise_default, NULL);
  CU_ASSERT(TEST_SANITIZED ? by_default != 0 : by_default == 128 + SIGSEGV);
  CU_ASSERT_EQUAL(test_in_child(raise_ignored, NULL), 3);
  CU_ASSERT_EQUAL(test_in_child(raise_handled, NULL), 4);
}

enum { INTERRUPTED_FIBERS = 8, TURNS = 100 };

static ws_au32_t handled, sends;

static void count_handled(int unused)
{
  (void)unused;
  ws_add_relaxed(&handled, 1); // relaxed: a count
}

static void *interrupt_workers(void *unused)
{
  for (uint32_t i = 0; ws_load_relaxed(&sends); i++) { // relaxed: the join orders
    pthread_kill(scene.pool->worker[i % 2]->thread, SIGUSR1);
    sched_yield();
  }
  return unused;
}

static void yield_and_sleep(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < TURNS; i++) {
    note(ws_yield());
    note(ws_sleep_ns(1000) == 0);
  }
}

/// Handlers run on the stacks of fibers, while these switch, and while their workers sleep.
static void interrupt_fibers(int flags)
{
  const struct sigaction action = {.sa_handler = count_handled, .sa_flags = flags};
  struct sigaction before;
  test_threads_t sender = {0};
  test_patience_t patience = {0};
  sigaction(SIGUSR1, &action, &before);
  scene_begin(2);
  ws_store_relaxed(&handled, 0); // relaxed: no other thread
  ws_store_relaxed(&sends, 1); // relaxed: no other thread
  test_spawn(&sender, interrupt_workers, NULL);
  do {
    ws_group_init(&scene.group, INTERRUPTED_FIBERS);
    for (uint32_t i = 0; i < INTERRUPTED_FIBERS; i++)
      push_fiber(yield_and_sleep, NULL, &scene.group);
    ws_group_wait(&scene.group, NULL);
  } while (ws_load_relaxed(&handled) < TURNS && test_is_patient(&patience)); // relaxed: a count
  CU_ASSERT_TRUE(ws_load_relaxed(&handled) >= TURNS); // relaxed: a count
  ws_store_relaxed(&sends, 0); // relaxed: the join orders
  test_join(&sender);
  scene_end();
  sigaction(SIGUSR1, &before, NULL);
}

static void test_handlers_on_workers(void)
{
  interrupt_fibers(0);
  interrupt_fibers(SA_ONSTACK);
}

static ws_sem_t sem, last;

static void wait_limited(void *unused)
{
  (void)unused;
  note(ws_sem_wait_until(&sem, 1) == -ETIMEDOUT);
  note(ws_sem_wait_until(&sem, 0) == -ETIMEDOUT);
  write_letter('w');
  note(ws_sem_wait_until(&last, UINT64_MAX - 1) == 0);
}

static bool has_letter(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.letters) > 0;
}

/// @return whether a wait for the semaphore has announced itself
static bool is_waited(void *unused)
{
  (void)unused;
  return ws_load_acquire((const ws_au32_t *)(const void *)&last.word) & 1;
}

/// The thread for time limits cannot be made: the fiber blocks its worker, with the same results. Later the
/// thread can be made.
static int wait_without_alarms(void *unused)
{
  (void)unused;
  bool good = true;
  scene_begin(1);
  for (uint32_t round = 0; round < 2; round++) {
    const bool none = round == 0;
    ws_store_release(&no_threads, none);
    ws_store_release(&scene.letters, 0);
    ws_sem_init(&sem, 0);
    ws_sem_init(&last, 0);
    push_fiber(wait_limited, NULL, NULL);
    good = good && test_until(has_letter, NULL) && test_until(is_waited, NULL);
    good = good && (none ? parked() == 0 : await_parked(1));
    ws_sem_post(&last, 1);
    ws_pool_wait(scene.pool);
  }
  good = good && ws_load_relaxed(&scene.errors) == 0;
  scene_end();
  return good ? CHILD_GOOD : 1;
}

static void test_no_alarms(void)
{
  CU_ASSERT_EQUAL(test_in_child(wait_without_alarms, NULL), CHILD_GOOD);
}

#define DAY_NS UINT64_C(86400000000000)

static void wait_a_day(void *unused)
{
  (void)unused;
  write_letter('w');
  note(ws_sem_wait_until(&last, ws_os_now_ns() + DAY_NS) == -ECANCELED);
}

/// The fiber blocks its worker until tomorrow. An abort ends that wait, too.
static int abort_without_alarms(void *unused)
{
  (void)unused;
  scene_begin(1);
  ws_store_release(&no_threads, 1);
  ws_sem_init(&last, 0);
  push_fiber(wait_a_day, NULL, NULL);
  bool good = test_until(has_letter, NULL) && test_until(is_waited, NULL);
  good = good && parked() == 0;
  good = good && ws_pool_stop(scene.pool, WS_STOP_ABORT) == 0; // hangs if the wait goes on
  good = good && ws_load_relaxed(&scene.errors) == 0;
  scene_end();
  return good ? CHILD_GOOD : 1;
}

static void test_abort_without_alarms(void)
{
  CU_ASSERT_EQUAL(test_in_child(abort_without_alarms, NULL), CHILD_GOOD);
}

static int push_with(ws_group_t *group, ws_group_t *tag)
{
  const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES, .tag = tag};
  return ws_fiber_push(scene.pool, do_nothing, NULL, group, &options);
}

/// A tag for a group and a group for a tag are refused: each switch would complete, or write beside, a unit.
static void test_group_and_tag(void)
{
  scene_begin(1);
  ws_group_init(&scene.group, 1);
  CU_ASSERT_EQUAL(push_with(ws_group_tag(&scene.group), NULL), -EINVAL);
  CU_ASSERT_EQUAL(push_with(ws_group_weak_tag(&scene.group), NULL), -EINVAL);
  CU_ASSERT_EQUAL(push_with(NULL, &scene.group), -EINVAL);
  CU_ASSERT_EQUAL(push_with(NULL, ws_group_tag(&scene.group)), 0);
  CU_ASSERT_EQUAL(push_with(NULL, ws_group_weak_tag(&scene.group)), 0);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  CU_ASSERT_FALSE(ws_group_done(&scene.group));
  CU_ASSERT_EQUAL(push_with(&scene.group, NULL), 0);
  ws_group_wait(&scene.group, scene.pool);
  scene_end();
}

static void test_seams(void)
{
  seam.ws_os_thread_create = ws_os_thread_create_seam;
}

TEST_MAIN_SEAMS(test_seams, "fiber_first", TEST_CASE(test_sent_signal), TEST_CASE(test_no_alarms),
                TEST_CASE(test_abort_without_alarms), TEST_CASE(test_group_and_tag),
                TEST_CASE(test_handlers_on_workers)) // last: from then on there is the thread for time limits
