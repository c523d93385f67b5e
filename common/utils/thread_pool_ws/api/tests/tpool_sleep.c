// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_sleep.c
/// sleep() in a program of the original tpool (WS_TPOOL_DIR), linked with --wrap=sleep. Its main thread
/// sleeps as long as its jobs do, and then looks what they do: it can be first. Here the main thread begins
/// its sleep when all other threads sleep, and returns when they do again. A thread that waits for a CPU does
/// not sleep.
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../tests/support/ws_test.h"

#define LOOKS 3u ///< in a row, 10 ms apart: a timer that has run out meanwhile shows

unsigned int __real_sleep(unsigned int seconds);
unsigned int __wrap_sleep(unsigned int seconds);

static bool others_sleep(void)
{
  bool sleep = true;
  DIR *tasks = opendir("/proc/self/task");
  for (const struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
    const int32_t tid = atoi(task->d_name);
    sleep = sleep && (tid <= 0 || tid == getpid() || ws_os_thread_sleeps(tid));
  }
  if (tasks)
    closedir(tasks);
  return sleep;
}

static void await_others(void)
{
  test_patience_t patience = {0};
  for (uint32_t looks = 0; looks < LOOKS && test_is_patient(&patience); test_sleep_ms(10))
    looks = others_sleep() ? looks + 1 : 0;
}

unsigned int __wrap_sleep(unsigned int seconds)
{
  const bool is_main = ws_os_tid() == getpid();
  if (is_main)
    await_others();
  const unsigned int left = __real_sleep(seconds);
  if (is_main)
    await_others();
  return left;
}
