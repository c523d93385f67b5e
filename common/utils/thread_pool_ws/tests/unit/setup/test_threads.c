// SPDX-License-Identifier: BSD-3-Clause
/// @file test_threads.c
/// What the pool's threads take from their creator, and what processes that a task starts take from them.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../support/ws_test.h"

/// @return what the kernel writes of a thread after @p field in its status
static bool status_of(int32_t tid, const char *field, char *text, int bytes)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
  FILE *file = fopen(path, "r");
  bool found = false;
  while (file && !found && fgets(text, bytes, file))
    found = strncmp(text, field, strlen(field)) == 0;
  if (file)
    fclose(file);
  if (found)
    memmove(text, text + strlen(field), strlen(text) - strlen(field) + 1);
  return found;
}

/// @return the thread called @p name, 0 = none is listed
static int32_t listed(const char *name)
{
  int32_t found = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
    char text[256] = "";
    const int32_t tid = atoi(entry->d_name);
    if (tid > 0 && status_of(tid, "Name:\t", text, sizeof(text)) && strcspn(text, "\n") == strlen(name)
        && strncmp(text, name, strlen(name)) == 0)
      found = tid;
  }
  if (tasks)
    closedir(tasks);
  return found;
}

static bool is_listed(void *name)
{
  return listed(name) != 0;
}

/// While a thread of an earlier pool ends, the kernel's list may be cut short.
static int32_t thread_called(const char *name)
{
  return test_until(is_listed, (void *)(uintptr_t)name) ? listed(name) : 0;
}

static bool blocks(int32_t tid, int signal_number)
{
  char text[256] = "";
  CU_ASSERT_TRUE(status_of(tid, "SigBlk:\t", text, sizeof(text)));
  return (strtoull(text, NULL, 16) >> (signal_number - 1)) & 1;
}

static const int from_outside[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGPROF, 40};
static const int from_inside[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static void check_signals(int32_t tid)
{
  CU_ASSERT_NOT_EQUAL(tid, 0);
  for (uint32_t i = 0; tid && i < TEST_COUNT(from_outside); i++)
    CU_ASSERT_TRUE(blocks(tid, from_outside[i]));
  for (uint32_t i = 0; tid && i < TEST_COUNT(from_inside); i++)
    CU_ASSERT_FALSE(blocks(tid, from_inside[i]));
}

/// Creation returns when all have started, so nothing of this is a race.
static void signals_do_not_reach_the_pool(void)
{
  ws_pool_t *pool = test_pool(2);
  check_signals(ws_tid(pool->worker[0]));
  check_signals(ws_tid(pool->worker[1]));
  if (pool->guarded || pool->watched)
    check_signals(thread_called("ws_guard"));
  for (uint32_t i = 0; i < TEST_COUNT(from_outside); i++) // the creator is as it was
    CU_ASSERT_FALSE(blocks(getpid(), from_outside[i]));
  test_destroy(pool);
}

static int host_thread(void *unused, uint32_t index, int32_t cpu, void *(*func)(void *arg), void *arg)
{
  (void)unused;
  (void)index;
  (void)cpu;
  pthread_t thread;
  return pthread_create(&thread, NULL, func, arg);
}

static void a_host_decides_on_signals_itself(void)
{
  ws_settings_t settings = test_settings(1);
  settings.thread_create = host_thread;
  ws_pool_t *pool = test_create(&settings);
  for (uint32_t i = 0; i < TEST_COUNT(from_outside); i++)
    CU_ASSERT_FALSE(blocks(ws_tid(pool->worker[0]), from_outside[i]));
  test_destroy(pool);
}

typedef struct {
  uint32_t slack_ns, blocked; ///< of the child
  int status;
} child_t;

static void fork_task(void *child_arg)
{
  child_t *child = child_arg;
  int result[2];
  if (pipe(result) < 0)
    return;
  const pid_t pid = fork();
  if (pid == 0) {
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    child_t seen = {.slack_ns = (uint32_t)prctl(PR_GET_TIMERSLACK)};
    for (uint32_t i = 0; i < TEST_COUNT(from_outside); i++)
      seen.blocked += sigismember(&set, from_outside[i]) == 1;
    _exit(write(result[1], &seen, sizeof(seen)) == sizeof(seen) ? 0 : 1);
  }
  child_t seen = {0};
  const bool read_all = pid > 0 && read(result[0], &seen, sizeof(seen)) == sizeof(seen);
  waitpid(pid, &seen.status, 0);
  seen.status = read_all ? seen.status : -1;
  *child = seen;
  close(result[0]);
  close(result[1]);
}

/// The creator blocks one signal, and has a timer slack of its own.
static void a_forked_child_is_as_the_creator(void)
{
  const int before_ns = prctl(PR_GET_TIMERSLACK);
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR2);
  prctl(PR_SET_TIMERSLACK, 70000ul);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  ws_pool_t *pool = test_pool(1);
  child_t child = {.status = -1};
  ws_group_t group;
  ws_group_init(&group, 1);
  test_push(pool, fork_task, &child, &group);
  ws_group_wait(&group, NULL); // the worker runs it
  CU_ASSERT_EQUAL(child.status, 0);
  CU_ASSERT_EQUAL(child.slack_ns, 70000);
  CU_ASSERT_EQUAL(child.blocked, 1);
  test_destroy(pool);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  prctl(PR_SET_TIMERSLACK, (unsigned long)before_ns);
}

/// A thread of class BATCH preempts no worker.
static void the_guard_preempts_no_thread(void)
{
  ws_pool_t *pool = test_pool(2);
  CU_ASSERT_EQUAL(sched_getscheduler(thread_called("ws_guard")), SCHED_BATCH);
  test_destroy(pool);
}

/// A pinned creator must not keep the guard from the CPU that a blocked worker leaves free.
static void the_guard_may_run_beside_the_workers(void)
{
  if (test_cpus() < 2) {
    printf("(skipped: one CPU) ");
    return;
  }
  cpu_set_t all, one, guard;
  sched_getaffinity(0, sizeof(all), &all);
  size_t creator = 0;
  while (!CPU_ISSET(creator, &all))
    creator++;
  size_t core = creator + 1;
  while (!CPU_ISSET(core, &all))
    core++;
  CPU_ZERO(&one);
  CPU_SET(creator, &one);
  sched_setaffinity(0, sizeof(one), &one);
  const int32_t cores[] = {(int32_t)core};
  ws_settings_t settings = test_settings(1);
  settings.cores = cores;
  settings.core_count = 1;
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_EQUAL(sched_getaffinity(thread_called("ws_guard"), sizeof(guard), &guard), 0);
  CU_ASSERT_TRUE(CPU_ISSET(core, &guard) && CPU_ISSET(creator, &guard));
  CU_ASSERT_EQUAL(CPU_COUNT(&guard), 2);
  test_destroy(pool);
  sched_setaffinity(0, sizeof(all), &all);
}

TEST_MAIN("threads", TEST_CASE(signals_do_not_reach_the_pool), TEST_CASE(a_host_decides_on_signals_itself),
          TEST_CASE(a_forked_child_is_as_the_creator), TEST_CASE(the_guard_may_run_beside_the_workers),
          TEST_CASE(the_guard_preempts_no_thread))
