// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_fork.c
/// Fibers in the child of a fork: with pools of its own, time limits and waits for descriptors, whatever
/// fibers of the parent were waiting for.
#include <stdio.h>
#include <stdlib.h>

#include "../sync/fd_scene.h"

enum { FIBERS = 20 };

static ws_sem_t posted;
static int childs[2]; ///< a socket pair of the child

static void wait_for_post(void *unused)
{
  (void)unused;
  note(ws_sem_wait_until(&posted, test_now_ns() + 3600000000000u) == 0);
}

static void read_parents(void *unused)
{
  (void)unused;
  char byte;
  note(ws_fd_read(ends[0], &byte, 1, NEVER) == 1);
}

static void sleep_and_read(void *unused)
{
  (void)unused;
  char byte;
  note(ws_sleep_ns(100000) == 0);
  note(ws_fd_read(childs[0], &byte, 1, NEVER) == 1);
  ws_add_relaxed(&scene.value, 1);
}

/// @return CHILD_GOOD if the fibers of a new pool have slept, and have got a byte each
static int use_own_fibers(void *unused)
{
  (void)unused;
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 2;
  if (parked() != 0 || ws_fiber_push(scene.pool, sleep_and_read, NULL, NULL, NULL) != -ESRCH)
    return 1;
  if (ws_pool_create(&scene.pool, &settings) != 0
      || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, childs) != 0)
    return 2;
  ws_store_relaxed(&scene.value, 0);
  ws_group_init(&scene.group, FIBERS);
  for (uint32_t i = 0; i < FIBERS; i++)
    push_fiber(sleep_and_read, NULL, &scene.group);
  for (uint32_t i = 0; i < FIBERS; i++)
    note(write(childs[1], "x", 1) == 1);
  ws_group_wait(&scene.group, scene.pool);
  ws_pool_destroy(scene.pool);
  if (ws_load_relaxed(&scene.errors) != 0 || ws_load_relaxed(&scene.value) != FIBERS || parked() != 0)
    return 3;
  exit(CHILD_GOOD);
}

/// The parent has a thread for time limits, one for descriptors, and fibers that wait for both.
static void begin_waits(void)
{
  begin(2);
  ws_sem_init(&posted, 0);
  push_fiber(wait_for_post, NULL, NULL);
  push_fiber(read_parents, NULL, NULL);
  CU_ASSERT(await_parked(2));
}

static void end_waits(void)
{
  ws_sem_post(&posted, 1);
  send_byte(ends[1]);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  end();
}

static void test_child_of_a_thread(void)
{
  begin_waits();
  CU_ASSERT_EQUAL(test_in_child(use_own_fibers, NULL), CHILD_GOOD);
  end_waits();
}

static void fork_here(void *status_arg)
{
  *(int *)status_arg = test_in_child(use_own_fibers, NULL);
}

/// The child continues on the fiber's stack, as a thread.
static void test_child_of_a_fiber(void)
{
  int status = 0;
  begin_waits();
  ws_group_init(&scene.group, 1);
  note(ws_fiber_push(scene.pool, fork_here, &status, &scene.group,
                     &(ws_fiber_options_t){.stack_bytes = 1u << 20})
       == 0);
  ws_group_wait(&scene.group, NULL);
  CU_ASSERT_EQUAL(status, CHILD_GOOD);
  end_waits();
}

TEST_MAIN("fiber_fork", TEST_CASE(test_child_of_a_thread), TEST_CASE(test_child_of_a_fiber))
