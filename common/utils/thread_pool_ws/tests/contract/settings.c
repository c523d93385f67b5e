// SPDX-License-Identifier: BSD-3-Clause
/// @file settings.c
/// Every shape: what goes beyond the host's own pool. Entries of ours in the parameter string, the
/// environment, and the page of statistics at the end.
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../host/host_threads.h"
#include "contract.h"

static tpool_t *pool_of(const char *params)
{
  char text[256];
  snprintf(text, sizeof(text), "%s", params);
  tpool_t *pool = contract_memory();
  initTpool(text, pool, false);
  return pool;
}

static uint32_t threads(void)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < host_threads_count(); i++)
    count += strncmp(host_thread(i).name, "Tpool", 5) == 0;
  return count;
}

/// The pool of @p params must have two threads; its process ends before it does.
static int work(const char *params)
{
  tpool_t *pool = pool_of(params);
  return threads() == 2 && pool_works(pool) ? 0 : 1;
}

static int work_and_end(const char *params)
{
  tpool_t *pool = pool_of(params);
  const bool worked = pool_works(pool);
  contract_end(pool);
  return worked ? 0 : 1;
}

static int work_twice(const char *params)
{
  return pool_works(pool_of(params)) && pool_works(pool_of(params)) ? 0 : 1;
}

/// As a user without rights runs it.
static int work_twice_without_capabilities(const char *params)
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
    {"work_twice_without_capabilities", work_twice_without_capabilities},
    {"work_after_a_log_line", work_after_a_log_line},
    {"work_and_end", work_and_end},
    {NULL, NULL},
};

/// @return whether a pool of @p params works and says @p said
static bool says(const char *params, const char *said)
{
  char text[CONTRACT_TEXT_SIZE] = "";
  if (contract_run_child("work", params, text) == 0 && strstr(text, said))
    return true;
  printf("\"%s\" does not say \"%s\": %s\n", params, said, text);
  return false;
}

/// A wrong one is said, and the pool works.
static void entries_beside_the_cores(void)
{
  if (!contract_ours_only("the host's own has no such entries"))
    return;
  CU_ASSERT_TRUE(says("-1,-1", "spin auto (at most 10 % of a core each)\n"));
  CU_ASSERT_TRUE(says("-1,-1,spin=off", "spin off\n"));
  CU_ASSERT_TRUE(says("SPIN=Auto,-1,-1,spin_cpu_max=5", "spin auto (at most 5 % of a core each)\n"));
  CU_ASSERT_TRUE(says("-1,spin=fixed:40,-1", "spin fixed 40 us\n"));
  CU_ASSERT_TRUE(says("-1,spin=fixed:12.5,-1", "spin fixed 12.5 us\n"));
  CU_ASSERT_TRUE(says("-1,-1,spin=soon", "parameters \"-1,-1,spin=soon\": entry 3 \"spin=soon\": invalid"));
  CU_ASSERT_TRUE(says("-1,-1,spin=soon", "spin off\n"));
  CU_ASSERT_TRUE(says("-1,spin_cpu_max=lots,-1", "entry 2 \"spin_cpu_max=lots\": invalid"));
  CU_ASSERT_TRUE(says("-1,spin_cpu_max=lots,-1", "spin off\n"));
}

/// @return how often @p text holds @p part
static uint32_t times(const char *text, const char *part)
{
  uint32_t count = 0;
  for (const char *found = text; (found = strstr(found, part)); found += strlen(part))
    count++;
  return count;
}

/// Entries of ours make no thread. Shape A: such a list ends the process (params_empty_string).
static void a_list_without_a_thread_is_warned_of(void)
{
  static const struct {
    const char *params, *said;
  } lists[] = {{"spin=auto", "pool Tpool#1: the list of cores \"spin=auto\" has settings and no thread"},
               {"report=0,spin=off", "the list of cores \"report=0,spin=off\" has settings"},
               {"n,spin=auto", NULL},
               {"n", NULL}};
  if (!contract_ours_only("the host's own has no such entries"))
    return;
  for (size_t i = CONTRACT_TASKS ? 0 : 2; i < sizeof(lists) / sizeof(lists[0]); i++) {
    char text[CONTRACT_TEXT_SIZE] = "";
    CU_ASSERT_EQUAL(contract_run_child("work_twice", lists[i].params, text), 0);
    CU_ASSERT_EQUAL(times(text, "no workers, tasks run inline"), 2);
    CU_ASSERT_EQUAL(times(text, "and no thread, so the pool has no workers"), lists[i].said ? 2 : 0);
    CU_ASSERT_TRUE(!lists[i].said || strstr(text, lists[i].said));
  }
}

/// An entry takes precedence over the environment.
static void entries_before_the_environment(void)
{
  if (!contract_ours_only("the host's own reads no such variable"))
    return;
  setenv("TPOOL_WS_SPIN", "fixed:33", 1);
  CU_ASSERT_TRUE(says("-1,-1", "spin fixed 33 us\n"));
  CU_ASSERT_TRUE(says("-1,-1,spin=off", "spin off\n"));
  setenv("TPOOL_WS_SPIN", "whenever", 1);
  CU_ASSERT_TRUE(says("-1,-1", "TPOOL_WS_SPIN=\"whenever\""));
  CU_ASSERT_TRUE(says("-1,-1", "spin off\n"));
  unsetenv("TPOOL_WS_SPIN");
}

static void an_error_in_the_environment_is_reported_once(void)
{
  char text[CONTRACT_TEXT_SIZE] = "";
  if (!contract_ours_only("the host's own reads no such variable"))
    return;
  setenv("TPOOL_WS_SPIN", "whenever", 1);
  setenv("TPOOL_WS_NOTHING", "1", 1);
  CU_ASSERT_EQUAL(contract_run_child("work_twice", "-1,-1", text), 0);
  unsetenv("TPOOL_WS_NOTHING");
  unsetenv("TPOOL_WS_SPIN");
  CU_ASSERT_EQUAL(times(text, "TPOOL_WS_SPIN=\"whenever\""), 1);
  CU_ASSERT_EQUAL(times(text, "TPOOL_WS_NOTHING"), 1);
  CU_ASSERT_EQUAL(times(text, "spin off\n"), 2); // it holds for both
  CU_ASSERT_EQUAL(contract_run_child("work_twice", "-1,-1,spin=soon", text), 0);
  CU_ASSERT_EQUAL(times(text, "entry 3 \"spin=soon\""), 2); // each has a list of its own
}

/// Both pools of a host are called Tpool; the number and the list tell them apart.
static void pools_of_one_name_are_told_apart(void)
{
  char text[CONTRACT_TEXT_SIZE] = "";
  if (!contract_ours_only("the host's own says nothing"))
    return;
  CU_ASSERT_EQUAL(contract_run_child("work_twice", "-1,-1", text), 0);
  CU_ASSERT_EQUAL(times(text, ", pool Tpool#1: 2 workers ("), 1);
  CU_ASSERT_EQUAL(times(text, ", pool Tpool#2: 2 workers ("), 1);
  CU_ASSERT_EQUAL(times(text, ", core list -1 x2, spin auto"), 2);
}

static void lost_priority_is_said_once(void)
{
  char text[CONTRACT_TEXT_SIZE] = "";
  if (!contract_ours_only("the host's own says nothing"))
    return;
  CU_ASSERT_EQUAL(contract_run_child("work_twice_without_capabilities", "-1,-1", text), 0);
  CU_ASSERT_EQUAL(times(text, "0 real-time)"), 2);
  CU_ASSERT_EQUAL(times(text, "Tpool#1 have no real-time priority"), 1);
  CU_ASSERT_EQUAL(times(text, "setcap cap_sys_nice+ep"), 1);
}

static void lost_cores_are_said_once(void)
{
  char text[CONTRACT_TEXT_SIZE] = "";
  if (!contract_ours_only("the host's own says nothing"))
    return;
  CU_ASSERT_EQUAL(contract_run_child("work_twice_without_capabilities", "0,-1", text), 0);
  CU_ASSERT_EQUAL(times(text, "(0 pinned, 0 real-time)"), 2);
  CU_ASSERT_EQUAL(times(text, "are not pinned"), 1);
  CU_ASSERT_EQUAL(times(text, "cannot run on CPU"), 0);
}

static void the_first_line_begins_at_the_margin(void)
{
  char text[CONTRACT_TEXT_SIZE] = "";
  if (!contract_ours_only("the host's own says nothing"))
    return;
  CU_ASSERT_EQUAL(contract_run_child("work_after_a_log_line", "-1,-1", text), 0);
  CU_ASSERT_EQUAL(times(text, "a line\n\033[0m\nthread_pool_ws "), 1);
}

/// One page about each pool, whether it is ended or not.
static void report_where_the_environment_asks(void)
{
  static const char *const child[] = {"work", "work_and_end"};
  if (!contract_ours_only("the host's own has no report"))
    return;
  for (size_t i = 0; i < sizeof(child) / sizeof(child[0]); i++) {
    char text[CONTRACT_TEXT_SIZE] = "";
    CU_ASSERT_EQUAL(contract_run_child(child[i], "-1,-1", text), 0);
    CU_ASSERT_PTR_NULL(strstr(text, "report"));
    setenv("TPOOL_WS_REPORT", "1", 1);
    CU_ASSERT_EQUAL(contract_run_child(child[i], "-1,-1,report=0", text), 0);
    CU_ASSERT_PTR_NULL(strstr(text, "report of"));
    CU_ASSERT_EQUAL(contract_run_child(child[i], "-1,-1", text), 0);
    unsetenv("TPOOL_WS_REPORT");
    const char *page = strstr(text, "\nthread_pool_ws: report of pool Tpool#1\n");
    const char *end = page ? strstr(page, "  outside ") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    CU_ASSERT_EQUAL(times(text, "report"), 1); // one page, one heading
  }
}

const contract_case_t settings_cases[] = {
    CASE(entries_beside_the_cores),          CASE(a_list_without_a_thread_is_warned_of),
    CASE(entries_before_the_environment),    CASE(an_error_in_the_environment_is_reported_once),
    CASE(pools_of_one_name_are_told_apart),  CASE(lost_priority_is_said_once),
    CASE(lost_cores_are_said_once),          CASE(the_first_line_begins_at_the_margin),
    CASE(report_where_the_environment_asks), CASES_END,
};
