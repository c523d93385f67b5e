// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_cores.c
/// Which cores a thread can be pinned to, found out without a thread that runs there: a core may be held by a
/// real-time thread for good.
#define _GNU_SOURCE
#include "../../shim/common/ws_tpool_cores.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../support/ws_test.h"

static ws_au32_t moves, moves_of_itself; ///< of a thread by another one, and by itself

TEST_WRAP(int, sched_setaffinity, (pid_t thread, size_t bytes, const cpu_set_t *set))
{
  ws_stat_add(thread == 0 || thread == ws_os_tid() ? &moves_of_itself : &moves, 1);
  return __real_sched_setaffinity(thread, bytes, set);
}

TEST_WRAP(int, pthread_setaffinity_np, (pthread_t thread, size_t bytes, const cpu_set_t *set))
{
  ws_stat_add(pthread_equal(thread, pthread_self()) ? &moves_of_itself : &moves, 1);
  return __real_pthread_setaffinity_np(thread, bytes, set);
}

TEST_CASE(no_thread_goes_to_a_core_to_try_it)
{
  char text[256];
  const int32_t cores[] = {-1, (int32_t)test_cpu(0)};
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof(before), &before);
  ws_stat_store(&moves, 0);
  ws_stat_store(&moves_of_itself, 0);
  CU_ASSERT_EQUAL(ws_tpool_cores_bad(cores, 2), -1);
  ws_tpool_cores_text(text, sizeof(text));
  CU_ASSERT_EQUAL(ws_stat_load(&moves_of_itself), 0);
  CU_ASSERT_TRUE(ws_stat_load(&moves) > 2);
  sched_getaffinity(0, sizeof(after), &after);
  CU_ASSERT_TRUE(CPU_EQUAL(&before, &after));
}

TEST_CASE(a_core_that_is_not_there_is_found)
{
  const int32_t core = (int32_t)test_cpu(0);
  const int32_t cores[] = {core, -1, core, CPU_SETSIZE - 1, INT32_MAX};
  CU_ASSERT_EQUAL(ws_tpool_cores_bad(cores, 3), -1);
  CU_ASSERT_EQUAL(ws_tpool_cores_bad(cores, 4), 3);
  CU_ASSERT_EQUAL(ws_tpool_cores_bad(cores + 4, 1), 0);
  CU_ASSERT_EQUAL(ws_tpool_cores_bad(cores, 0), -1);
}

TEST_CASE(the_cores_that_are_there_are_named)
{
  char text[256], first[16];
  ws_tpool_cores_text(text, sizeof(text));
  snprintf(first, sizeof(first), "%d", (int32_t)test_cpu(0));
  CU_ASSERT_TRUE(strstr(text, first) != NULL);
  CU_ASSERT_EQUAL(strspn(text, "0123456789,-"), strlen(text));
}

TEST_MAIN("tpool_cores")
