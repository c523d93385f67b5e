// SPDX-License-Identifier: BSD-3-Clause
/// @file test_threads.c
/// The pool's threads: their names, what they take from their creator, and what processes that a task starts
/// take from them.
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../../support/ws_test.h"

enum { SLACK_NS = 70000 };

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

typedef struct {
  const char *name;
  uint32_t count;
  int32_t tid; ///< of the last one that was found
} called_t;

static bool has_as_many(void *called_arg)
{
  called_t *called = called_arg;
  uint32_t found = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
    char text[256] = "";
    const int32_t tid = atoi(entry->d_name);
    if (tid <= 0 || !status_of(tid, "Name:\t", text, sizeof(text)))
      continue;
    text[strcspn(text, "\n")] = '\0';
    if (strcmp(text, called->name) != 0)
      continue;
    called->tid = tid;
    found++;
  }
  if (tasks)
    closedir(tasks);
  return found == called->count;
}

/// A thread that was joined is in /proc for a moment longer, under an emulator for a long one. If it ends
/// while the kernel lists the threads, those after it are missing.
static bool are_called(const char *name, uint32_t count)
{
  return test_until(has_as_many, &(called_t){name, count, 0});
}

static int32_t thread_called(const char *name)
{
  called_t called = {name, 1, 0};
  return test_until(has_as_many, &called) ? called.tid : 0;
}

static bool blocks(int32_t tid, int signal_number)
{
  char text[256] = "";
  CU_ASSERT_TRUE(status_of(tid, "SigBlk:\t", text, sizeof(text)));
  return (strtoull(text, NULL, 16) >> (signal_number - 1)) & 1;
}

/// @return @p pool, when its threads have set themselves up: for one without a CPU its creation waits 2 s
static ws_pool_t *started(ws_pool_t *pool)
{
  ws_started_wait(pool, WS_STARTED_GUARD, WS_STARTED_GUARD, 0);
  ws_started_wait(pool, WS_STARTED_WORKERS, pool->workers, 0);
  return pool;
}

static const int from_outside[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGPROF, 40};
static const int from_inside[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static bool block_one(int signal_number, sigset_t *before)
{
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal_number);
  return pthread_sigmask(SIG_BLOCK, &one, before) == 0;
}

/// As threads that the creator makes.
TEST_CASE(workers_block_what_their_creator_blocks)
{
  sigset_t before;
  CU_ASSERT_TRUE(block_one(SIGUSR2, &before));
  ws_pool_t *pool = started(test_pool(2));
  for (uint32_t worker = 0; worker < 2; worker++)
    for (uint32_t i = 0; i < TEST_COUNT(from_outside); i++)
      CU_ASSERT_EQUAL(blocks(ws_tid(pool->worker[worker]), from_outside[i]), from_outside[i] == SIGUSR2);
  test_destroy(pool);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int class_of(int32_t tid)
{
  return (int)syscall(SYS_sched_getscheduler, tid); // musl lacks the function
}

/// And it preempts no worker: a thread of class BATCH.
TEST_CASE(no_handler_runs_on_the_guard)
{
  ws_pool_t *pool = started(test_pool(2));
  const int32_t guard = thread_called("ws_guard");
  CU_ASSERT_EQUAL(class_of(guard), SCHED_BATCH);
  for (uint32_t i = 0; i < TEST_COUNT(from_outside); i++) {
    CU_ASSERT_TRUE(blocks(guard, from_outside[i]));
    CU_ASSERT_FALSE(blocks(getpid(), from_outside[i])); // the creator is as it was
  }
  for (uint32_t i = 0; i < TEST_COUNT(from_inside); i++)
    CU_ASSERT_FALSE(blocks(guard, from_inside[i]));
  test_destroy(pool);
}

static void become(int class)
{
  syscall(SYS_sched_setscheduler, 0, class, &(struct sched_param){0});
}

TEST_CASE(a_class_is_lent_only_if_it_goes_first)
{
  ws_pool_t *pool = started(test_pool(2));
  const int32_t guard = thread_called("ws_guard"), worker = ws_tid(pool->worker[0]);
  become(SCHED_BATCH);
  ws_os_lend_class(worker);
  CU_ASSERT_EQUAL(class_of(worker), SCHED_OTHER);
  become(SCHED_OTHER);
  CU_ASSERT_EQUAL(class_of(guard), SCHED_BATCH);
  ws_os_lend_class(guard);
  CU_ASSERT_EQUAL(class_of(guard), SCHED_OTHER);
  ws_os_lend_class(0);
  test_destroy(pool);
}

/// @return the signals that a program has blocked which popen() starts: the shell, which may change the mask
/// of what it starts itself; UINT64_MAX = unknown
static uint64_t blocked_in_program(void)
{
  char line[256];
  uint64_t mask = UINT64_MAX;
  FILE *program = popen("while read -r line; do echo \"$line\"; done < /proc/self/status", "r");
  while (program && fgets(line, sizeof(line), program))
    if (strncmp(line, "SigBlk:\t", 8) == 0)
      mask = strtoull(line + 8, NULL, 16);
  if (program)
    pclose(program);
  return mask;
}

/// @return the signals that it has blocked, of those from outside, and 10 if its timer slack is not the
/// creator's
static int look_as_child(void *unused)
{
  sigset_t set;
  int blocked = prctl(PR_GET_TIMERSLACK) == SLACK_NS ? 0 : 10;
  sigprocmask(SIG_BLOCK, NULL, &set);
  for (uint32_t i = 0; i < TEST_COUNT(from_outside); i++)
    blocked += sigismember(&set, from_outside[i]) == 1;
  return blocked;
}

typedef struct {
  int status; ///< of the child
  uint64_t program_blocks;
} forked_t;

static void fork_task(void *forked_arg)
{
  forked_t *forked = forked_arg;
  forked->program_blocks = blocked_in_program();
  forked->status = test_in_child(look_as_child, NULL);
}

/// The creator blocks one signal, and has a timer slack of its own. A program that popen() starts has the
/// same mask, and the worker's slack.
TEST_CASE(a_child_is_as_the_creator)
{
  const int before_ns = prctl(PR_GET_TIMERSLACK);
  sigset_t before;
  prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS);
  CU_ASSERT_TRUE(block_one(SIGUSR2, &before));
  ws_pool_t *pool = test_pool(1);
  forked_t forked = {.status = -1};
  test_on_workers(pool, 1, fork_task, &forked);
  CU_ASSERT_EQUAL(forked.status, 1);
  CU_ASSERT_EQUAL(forked.program_blocks, UINT64_C(1) << (SIGUSR2 - 1));
  test_destroy(pool);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  prctl(PR_SET_TIMERSLACK, (unsigned long)before_ns);
}

/// A pinned creator must not keep the guard from the CPU that a blocked worker leaves free.
TEST_CASE(the_guard_may_run_beside_the_workers)
{
  TEST_SKIP_IF(test_cpus() < 2, "one CPU");
  cpu_set_t all, one, guard;
  sched_getaffinity(0, sizeof(all), &all);
  const size_t creator = test_cpu(0), core = test_cpu(1);
  CPU_ZERO(&one);
  CPU_SET(creator, &one);
  sched_setaffinity(0, sizeof(one), &one);
  const int32_t cores[] = {(int32_t)core};
  ws_settings_t settings = test_settings(1);
  settings.cores = cores;
  settings.core_count = 1;
  ws_pool_t *pool = started(test_create(&settings));
  CU_ASSERT_EQUAL(sched_getaffinity(thread_called("ws_guard"), sizeof(guard), &guard), 0);
  CU_ASSERT_TRUE(CPU_ISSET(core, &guard) && CPU_ISSET(creator, &guard));
  CU_ASSERT_EQUAL(CPU_COUNT(&guard), 2);
  test_destroy(pool);
  sched_setaffinity(0, sizeof(all), &all);
}

TEST_CASE(threads_carry_their_names)
{
  char name[] = "a_very_long_name_of_a_pool";
  CU_ASSERT_TRUE(are_called("ws_guard", 0)); // of the cases before
  ws_settings_t settings = test_settings(101);
  settings.name = name;
  settings.queue_capacity = 4;
  ws_pool_t *pool = test_create(&settings);
  memset(name, 'x', sizeof(name) - 1); // the pool must not need it any more
  CU_ASSERT_TRUE(are_called("a_very_long_na0", 1));
  CU_ASSERT_TRUE(are_called("a_very_long_n99", 1));
  CU_ASSERT_TRUE(are_called("a_very_long_100", 1));
  CU_ASSERT_TRUE(are_called("ws_guard", 1));
  test_destroy(pool);
  CU_ASSERT_TRUE(are_called("a_very_long_na0", 0));
  CU_ASSERT_TRUE(are_called("ws_guard", 0));
}

TEST_MAIN("threads")
