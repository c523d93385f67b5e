// SPDX-License-Identifier: BSD-3-Clause
/// @file settings.c
/// Every shape: what goes beyond the host's own pool. Entries of ours in the parameter string, the
/// environment, what is said about each pool, and the page of statistics at the end.
#include <linux/capability.h>
#include <sys/syscall.h>

#include "../host/host_threads.h"
#include "contract.h"

/// The pool of @p params must have two threads; its process ends before it does.
static int work(const char *params)
{
  tpool_t *pool = contract_pool_of(params);
  return host_threads_count() == 2 && contract_runs(pool, 30) ? 0 : 1;
}

static int work_and_end(const char *params)
{
  tpool_t *pool = contract_pool_of(params);
  const bool worked = contract_runs(pool, 30);
  contract_end(pool);
  return worked ? 0 : 1;
}

static int work_twice(const char *params)
{
  return contract_runs(contract_pool_of(params), 30) && contract_runs(contract_pool_of(params), 30) ? 0 : 1;
}

/// As a user without rights runs it.
static int work_without_rights(const char *params)
{
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
  return syscall(SYS_capset, &header, none) == 0 ? work_twice(params) : 2;
}

/// The host's log leaves the escape sequence that ends its colour at the beginning of the next line.
static int work_after_a_log_line(const char *params)
{
  dup2(STDERR_FILENO, STDOUT_FILENO);
  setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
  printf("a line\n\033[0m");
  return work(params);
}

const contract_child_t settings_children[] = {
    {"work", work},
    {"work_twice", work_twice},
    {"work_without_rights", work_without_rights},
    {"work_after_a_log_line", work_after_a_log_line},
    {"work_and_end", work_and_end},
    {NULL, NULL},
};

#define NO_WORKERS "no workers, tasks run inline"
#define NO_THREAD "and no thread, so the pool has no workers"
#define PAGE "\nthread_pool_ws: report of pool Tpool#1\n"

/// An invalid setting is said, and the pool works.
static const struct {
  const char *child, *params;
  const char *environment; ///< a variable and its value, or empty
  struct {
    uint32_t times;
    const char *text;
  } said[3];
} rows[] = {
    {"work", "-1,-1", "", {{1, "spin auto (at most 10 % of a core each)\n"}}},
    {"work",
     "-1,-1,spin=soon",
     "",
     {{1, "parameters \"-1,-1,spin=soon\": entry 3 \"spin=soon\": invalid"}, {1, "spin off\n"}}},
    // An entry takes precedence over the environment. An error of the environment is said once for all pools,
    // one of a list for each.
    {"work", "-1,-1", "TPOOL_WS_SPIN=fixed:33", {{1, "spin fixed 33 us\n"}}},
    {"work", "-1,-1,spin=off", "TPOOL_WS_SPIN=fixed:33", {{1, "spin off\n"}}},
    {"work_twice", "-1,-1", "TPOOL_WS_SPIN=whenever", {{1, "TPOOL_WS_SPIN=\"whenever\""}, {2, "spin off\n"}}},
    {"work_twice", "-1,-1", "TPOOL_WS_NOTHING=1", {{1, "TPOOL_WS_NOTHING"}}},
    {"work_twice", "-1,-1,spin=soon", "", {{2, "entry 3 \"spin=soon\""}}},
    // Both pools of a host are called Tpool; the number and the list tell them apart.
    {"work_twice",
     "-1,-1",
     "",
     {{1, ", pool Tpool#1: 2 workers ("},
      {1, ", pool Tpool#2: 2 workers ("},
      {2, ", core list -1 x2, spin auto"}}},
    // The pool warns once of each thing that it has no rights for.
    {"work_without_rights",
     "-1,-1",
     "",
     {{2, "0 real-time)"}, {1, "Tpool#1 have no real-time priority"}, {1, "setcap cap_sys_nice+ep"}}},
    {"work_without_rights",
     "0,-1",
     "",
     {{2, "(0 pinned, 0 real-time)"}, {1, "are not pinned"}, {0, "cannot run on CPU"}}},
    {"work_after_a_log_line", "-1,-1", "", {{1, "a line\n\033[0m\nthread_pool_ws "}}},
// Entries of ours make no thread. In shape A such a list ends the process.
#if CONTRACT_TASKS
    {"work_twice",
     "spin=auto",
     "",
     {{2, NO_WORKERS}, {2, NO_THREAD}, {1, "pool Tpool#1: the list of cores \"spin=auto\" has settings"}}},
    {"work_twice", "report=0,spin=off", "", {{2, "the list of cores \"report=0,spin=off\" has settings"}}},
#endif
    {"work_twice", "n,spin=auto", "", {{2, NO_WORKERS}, {0, NO_THREAD}}},
    {"work_twice", "n", "", {{2, NO_WORKERS}, {0, NO_THREAD}}},
    // One page about each pool, whether it is ended or not.
    {"work", "-1,-1", "", {{0, "report"}}},
    {"work_and_end", "-1,-1", "", {{0, "report"}}},
    {"work", "-1,-1,report=0", "TPOOL_WS_REPORT=1", {{0, "report of"}}},
    {"work", "-1,-1", "TPOOL_WS_REPORT=1", {{1, PAGE}, {1, "report"}, {1, "  outside "}}},
    {"work_and_end", "-1,-1", "TPOOL_WS_REPORT=1", {{1, PAGE}, {1, "report"}, {1, "  outside "}}},
};

/// @return how often @p text holds @p part
static uint32_t times(const char *text, const char *part)
{
  uint32_t count = 0;
  for (const char *found = text; (found = strstr(found, part)); found += strlen(part))
    count++;
  return count;
}

CONTRACT_CASE(what_is_read_and_said)
{
  if (!contract_ours_only("the host's own has no such entries, and says nothing"))
    return;
  for (size_t i = 0; i < TEST_COUNT(rows); i++) {
    char text[CONTRACT_TEXT_SIZE] = "";
    unsetenv("TPOOL_WS_SPIN");
    unsetenv("TPOOL_WS_NOTHING");
    unsetenv("TPOOL_WS_REPORT");
    if (*rows[i].environment)
      putenv((char *)(uintptr_t)rows[i].environment);
    const int status = contract_run_child(rows[i].child, rows[i].params, text);
    bool good = status == 0;
    for (size_t s = 0; s < TEST_COUNT(rows[i].said) && rows[i].said[s].text; s++)
      good &= times(text, rows[i].said[s].text) == rows[i].said[s].times;
    if (!good)
      printf("rows[%zu], \"%s\": status %d: %s\n", i, rows[i].params, status, text);
    CU_ASSERT_TRUE(good);
  }
}

TEST_MAIN("settings")
