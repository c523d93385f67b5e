// SPDX-License-Identifier: BSD-3-Clause
/// @file settings.c
/// Every shape: what goes beyond the host's own pool. Entries of ours in the parameter string, the
/// environment, and the page of statistics at the end.
#include <stdio.h>

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

const contract_child_t settings_children[] = {
    {"work", work},
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
  CU_ASSERT_TRUE(says("-1,-1,spin=soon", "\"soon\""));
  CU_ASSERT_TRUE(says("-1,-1,spin=soon", "spin off\n"));
  CU_ASSERT_TRUE(says("-1,spin_cpu_max=lots,-1", "\"lots\""));
  CU_ASSERT_TRUE(says("-1,spin_cpu_max=lots,-1", "spin off\n"));
}

/// What the environment sets, an entry sets anew.
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
    CU_ASSERT_EQUAL(contract_run_child(child[i], "-1,-1", text), 0);
    unsetenv("TPOOL_WS_REPORT");
    const char *page = strstr(text, "thread_pool_ws: pool Tpool:\n");
    const char *end = page ? strstr(page, "  outside ") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    CU_ASSERT_PTR_NULL(strstr(end, "report")); // no second one
  }
}

const contract_case_t settings_cases[] = {
    CASE(entries_beside_the_cores),
    CASE(entries_before_the_environment),
    CASE(report_where_the_environment_asks),
    CASES_END,
};
