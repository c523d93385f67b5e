// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_first.c
/// What the first fiber of a process changes for signals.
#include <sched.h>
#include <signal.h>

#include "fiber_scene.h"

static void run_one(void)
{
  scene_begin(1);
  push_fiber(set_value, NULL, NULL);
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

/// A SIGSEGV that a program sends does what it did before there were fibers.
static void test_sent_signal(void)
{
  const int by_default = test_in_child(raise_default, NULL);
  CU_ASSERT(TEST_SANITIZED ? by_default != 0 : by_default == 128 + SIGSEGV);
  CU_ASSERT_EQUAL(test_in_child(raise_ignored, NULL), 3);
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

TEST_MAIN("fiber_first", TEST_CASE(test_sent_signal), TEST_CASE(test_handlers_on_workers))
