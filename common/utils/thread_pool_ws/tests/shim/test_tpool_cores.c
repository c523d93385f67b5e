// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_cores.c
/// Which cores a thread can be pinned to, found out without a thread that runs there: a core may be held by a
/// real-time thread for good.
#include "../../shim/common/ws_tpool_cores.h"

#include <limits.h>

#include "../support/ws_test.h"

static ws_au32_t moves, moves_of_itself; ///< of a thread by another one, and by itself

TEST_WRAP(int, sched_setaffinity, (pid_t thread, size_t bytes, const cpu_set_t *set))
{
  ws_stat_add(thread == 0 || thread == ws_os_tid() ? &moves_of_itself : &moves, 1);
  return __real_sched_setaffinity(thread, bytes, set);
}

static uint64_t mask; ///< of the calling thread; 0 = its own

TEST_WRAP(int, sched_getaffinity, (pid_t thread, size_t bytes, cpu_set_t *set))
{
  if (!mask)
    return __real_sched_getaffinity(thread, bytes, set);
  memset(set, 0, bytes);
  memcpy(set, &mask, sizeof(mask));
  return 0;
}

typedef struct {
  const char *path, *text;
} file_t;

static const file_t *files; ///< up to one without a path; NULL = this machine's

TEST_WRAP(FILE *, fopen, (const char *path, const char *mode))
{
  for (const file_t *file = files; file && file->path; file++)
    if (strcmp(file->path, path) == 0)
      return fmemopen((char *)file->text, strlen(file->text), "r");
  return files ? NULL : __real_fopen(path, mode);
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

/// The calling thread may run on @p allowed; -1 ends @p cores.
static void expect_place(ws_tpool_place_t expected, const char *on, const int32_t *cores, uint64_t allowed)
{
  char text[64];
  uint32_t count = 0;
  while (cores[count] != INT32_MIN)
    count++;
  mask = allowed;
  CU_ASSERT_EQUAL(ws_tpool_cores_place(cores, count, text, sizeof(text)), expected);
  CU_ASSERT_STRING_EQUAL(text, on);
  mask = 0;
}

#define LIST(...) ((const int32_t[]){__VA_ARGS__, INT32_MIN})

/// CPUs 0 and 4, 1 and 5, 2 and 6, 3 and 7 are siblings; 2, 3, 6, 7 are isolated.
TEST_CASE(workers_that_cannot_run_at_the_same_time_are_found)
{
  static const file_t machine[] = {{"/sys/devices/system/cpu/online", "0-7\n"},
                                   {"/sys/devices/system/cpu/isolated", "2-3,6-7\n"},
                                   {"/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,5\n"},
                                   {NULL, NULL}};
  static const file_t one[] = {{"/sys/devices/system/cpu/online", "0\n"}, {NULL, NULL}};
  files = machine;
  expect_place(WS_TPOOL_APART, "1-2", LIST(1, 2), 0xff);
  expect_place(WS_TPOOL_APART, "2", LIST(2), 0xff);
  expect_place(WS_TPOOL_ONE_CORE, "2", LIST(2, 2, 2), 0xff);
  expect_place(WS_TPOOL_ONE_CORE, "1,5", LIST(5, 1), 0xff);
  expect_place(WS_TPOOL_ONE_CORE, "3", LIST(-1, -1), 0x08); // a mask that DPDK left, for one
  expect_place(WS_TPOOL_ISOLATED, "2-3,6", LIST(-1, -1), 0x4c);
  expect_place(WS_TPOOL_ISOLATED, "0,2-3,6", LIST(0, -1, -1), 0x4c);
  expect_place(WS_TPOOL_APART, "2-3,6", LIST(-1, 3), 0x4c); // one that floats gets one of them
  expect_place(WS_TPOOL_APART, "0,2-3", LIST(-1, -1), 0x0d);
  CU_ASSERT_EQUAL(ws_tpool_cores_place(NULL, 2, (char[64]){""}, 64), WS_TPOOL_APART);
  files = one;
  expect_place(WS_TPOOL_APART, "0", LIST(-1, -1), 0x01); // it has no other core
  files = NULL;
}

TEST_MAIN("tpool_cores")
