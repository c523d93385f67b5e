// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_test.c
/// ws_test.h: the program's main, the watchdog, pools that it can describe.
#include "ws_test.h"

#include "../../sleep/ws_wake.h"

#define POOLS_MAX 64

static struct {
  const char *suite, *test;
  ws_pool_t *pool[POOLS_MAX];
} running;

test_warnings_t test_warnings;
void (*test_seams_reset)(void) = NULL;
ws_au32_t test_refused;

static void describe(ws_pool_t *pool)
{
  ws_stats_t s;
  ws_worker_stats_t worker[8];
  const uint32_t filled = ws_pool_stats(pool, &s, worker, 8);
  dprintf(2,
          "  pool %p: workers %u awake %u active %u cpus %u queued %llu skipped %llu lanes %u;"
          " state %u searching %u blocked %u helpers %u outside %u lifted %u guard %u\n",
          (void *)pool, s.workers, s.workers_awake, s.workers_active, s.cpus,
          (unsigned long long)s.queued_tasks, (unsigned long long)s.skipped_tasks, s.lanes_used,
          ws_load_relaxed(&pool->state), ws_searching(pool), ws_load_relaxed(&ws_sleep_pool(pool)->blocked),
          ws_load_relaxed(&ws_sleep_pool(pool)->helpers), ws_load_relaxed(&ws_sleep_pool(pool)->outside),
          ws_load_relaxed(&ws_sleep_pool(pool)->lifted), ws_load_relaxed(&ws_sleep_pool(pool)->guard));
  for (uint32_t i = 0; i < filled; i++)
    dprintf(2, "    worker %u: run %llu stolen %llu parks %llu wakes %llu\n", i,
            (unsigned long long)worker[i].run_tasks, (unsigned long long)worker[i].stolen_tasks,
            (unsigned long long)worker[i].parks, (unsigned long long)worker[i].wakes_sent);
}

/// Not async-signal-safe in the letter; the program ends here in any case. It barks twice, two seconds apart:
/// a test that has only starved has moved by then.
static void bark(int signal_number)
{
  static bool again;
  dprintf(2, "\nWATCHDOG: %s: %s does not end\n", running.suite, running.test);
  for (uint32_t i = 0; i < POOLS_MAX; i++)
    if (running.pool[i])
      describe(running.pool[i]);
  if (!again) {
    again = true;
    alarm(2);
    return;
  }
  _exit(1);
}

static void watch(const char *test)
{
  const char *stress = getenv("WS_STRESS_SECONDS");
  running.test = test;
  alarm(2 * (unsigned)TEST_DEADLINE_S + (stress ? 50 * (unsigned)atoi(stress) : 0)); // a slow machine's hour
}

static struct {
  test_suite_t *first, **end;
  test_suite_t *suite; ///< that runs
  const test_case_t *test; ///< of it, that comes next; NULL = none
  int words;
  char **word; ///< names that were chosen
} plan = {.end = &plan.first};

void test_add_case(test_suite_t *suite, test_case_t *test)
{
  test_case_t **at = &suite->first;
  while (*at && (*at)->line <= test->line)
    at = &(*at)->next;
  test->next = *at;
  *at = test;
}

void test_add(test_suite_t *suite)
{
  *plan.end = suite;
  plan.end = &suite->next;
}

const char *test_suite_name(void)
{
  return running.suite;
}

const char *test_case_name(void)
{
  return running.test;
}

static bool is_chosen(const test_suite_t *suite, const test_case_t *test)
{
  bool chosen = plan.words == 0;
  for (int i = 0; i < plan.words; i++)
    chosen |= strcmp(plan.word[i], suite->name) == 0 || strcmp(plan.word[i], test->name) == 0;
  return chosen;
}

/// CUnit calls functions without an argument: it calls this one for each chosen case, in their order.
static void next_case(void)
{
  while (!plan.test || !is_chosen(plan.suite, plan.test)) {
    if (!plan.test)
      plan.suite = plan.suite->next;
    plan.test = plan.test ? plan.test->next : plan.suite->first;
  }
  const test_case_t *test = plan.test;
  plan.test = test->next;
  running.suite = plan.suite->name;
  watch(test->name);
  if (test_seams_reset)
    test_seams_reset();
  if (plan.suite->seams)
    plan.suite->seams();
  fflush(stdout); // the case's name, in case it crashes
  test->run();
  CU_ASSERT_EQUAL(ws_load_relaxed(&test_refused), 0);
  ws_store_relaxed(&test_refused, 0);
}

int test_run(int count, char **words)
{
  struct sigaction action = {.sa_handler = bark};
  sigaction(SIGALRM, &action, NULL);
  setvbuf(stdout, NULL, _IOLBF, 0);
  plan.words = count;
  plan.word = words;
  plan.suite = plan.first;
  plan.test = plan.first ? plan.first->first : NULL;
  if (CU_initialize_registry() != CUE_SUCCESS)
    return 1;
  uint32_t chosen = 0;
  for (const test_suite_t *suite = plan.first; suite; suite = suite->next) {
    CU_pSuite registered = NULL;
    for (const test_case_t *test = suite->first; test; test = test->next) {
      if (!is_chosen(suite, test))
        continue;
      if (!registered)
        registered = CU_add_suite(suite->name, NULL, NULL);
      if (!registered || !CU_add_test(registered, test->name, next_case))
        return 1;
      chosen++;
    }
  }
  if (chosen == 0)
    return 77;
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  const bool failed = CU_get_number_of_failures() > 0 || CU_get_number_of_tests_run() != chosen;
  CU_cleanup_registry();
  return failed ? 1 : 0;
}

static void keep_warning(void *unused, const char *message)
{
  if (test_warnings.count < TEST_WARNINGS_MAX)
    snprintf(test_warnings.text[test_warnings.count], sizeof(test_warnings.text[0]), "%s", message);
  test_warnings.count++;
}

uint32_t test_warnings_with(const char *text)
{
  uint32_t found = 0;
  for (uint32_t i = 0; i < test_warnings.count && i < TEST_WARNINGS_MAX; i++)
    found += strstr(test_warnings.text[i], text) != NULL;
  return found;
}

ws_settings_t test_settings(uint32_t workers)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = workers;
  settings.queue_capacity = 256;
  settings.warn = keep_warning;
  memset(&test_warnings, 0, sizeof(test_warnings));
  return settings;
}

ws_pool_t *test_create(const ws_settings_t *settings)
{
  ws_pool_t *pool = NULL;
  const int result = ws_pool_create(&pool, settings);
  if (result < 0) {
    fprintf(stderr, "%s: ws_pool_create: %s\n", running.test, strerror(-result));
    exit(1);
  }
  for (uint32_t i = 0; i < POOLS_MAX; i++) {
    if (!running.pool[i]) {
      running.pool[i] = pool;
      break;
    }
  }
  return pool;
}

ws_pool_t *test_pool(uint32_t workers)
{
  const ws_settings_t settings = test_settings(workers);
  return test_create(&settings);
}

void test_destroy(ws_pool_t *pool)
{
  ws_pool_destroy(pool);
  for (uint32_t i = 0; i < POOLS_MAX; i++)
    if (running.pool[i] == pool)
      running.pool[i] = NULL;
}

ws_stats_t test_stats(ws_pool_t *pool)
{
  ws_stats_t stats;
  ws_pool_stats(pool, &stats, NULL, 0);
  return stats;
}

uint64_t test_sum(ws_pool_t *pool, size_t offset)
{
  static ws_worker_stats_t worker[WS_WORKERS_MAX];
  ws_stats_t total;
  uint64_t sum = 0;
  const uint32_t filled = ws_pool_stats(pool, &total, worker, WS_WORKERS_MAX);
  for (uint32_t i = 0; i < filled; i++)
    sum += *(const uint64_t *)(const void *)((const char *)&worker[i] + offset);
  return sum + *(const uint64_t *)(const void *)((const char *)&total.outside + offset);
}

/// A program that links the shared library does not see it: there a worker with a timer counts as parked.
__attribute__((weak)) uint32_t ws_prewake_armed(const struct ws_pool_s *pool);

/// A worker whose bit is set looks once more before it sleeps.
static bool is_parked(void *pool_arg)
{
  ws_pool_t *pool = pool_arg;
  bool parked = test_stats(pool).workers_awake == 0 && (!ws_prewake_armed || ws_prewake_armed(pool) == 0);
  for (uint32_t i = 0; parked && i < pool->workers; i++)
    parked = !test_thread_runs(ws_tid(pool->worker[i]));
  return parked;
}

bool test_until_quiet(ws_pool_t *pool)
{
  for (test_patience_t patience = {0}; test_is_patient(&patience);) {
    if (!test_until(is_parked, pool))
      return false;
    const uint64_t parks = TEST_SUM(pool, parks), looks = test_stats(pool).guard_looks;
    const bool is_looked_after =
        ws_load_relaxed(&ws_sleep_pool(pool)->guard) == WS_GUARD_STANDING; // for about 10 ms more
    test_sleep_ms(is_looked_after ? 20 : 2);
    if (is_parked(pool) && TEST_SUM(pool, parks) == parks && test_stats(pool).guard_looks == looks)
      return true;
  }
  return false;
}
