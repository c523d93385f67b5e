// SPDX-License-Identifier: BSD-3-Clause
/// @file test_report.c
/// The page that a pool prints about itself: complete for any pool, within its bounds for any numbers
/// (--wrap=ws_pool_prewake_stats_sized), and printed at the stop only for who asked for it.

#include "../../support/ws_death.h"
#include "../../support/ws_seam.h"

#define LINES_MAX 100u
#define COLUMNS_MAX 100u

static struct {
  uint32_t count, too_long;
  char text[LINES_MAX + 1][COLUMNS_MAX + 1];
} page;

static struct {
  bool given; ///< by the test instead of by the pool
  ws_prewake_stats_t stats;
} prewake;

static void ws_pool_prewake_stats_sized_seam(const struct ws_pool_s *pool, ws_prewake_stats_t *stats,
                                             size_t bytes)
{
  if (prewake.given)
    *stats = prewake.stats;
  else
    __real_ws_pool_prewake_stats_sized(pool, stats, bytes);
}

static void keep(void *arg, const char *text)
{
  if (arg != &page || page.count >= LINES_MAX || strlen(text) > COLUMNS_MAX || strchr(text, '\n'))
    page.too_long++;
  else
    snprintf(page.text[page.count], sizeof(page.text[0]), "%s", text);
  page.count++;
}

/// @return a pool whose pre-wake says what the test does
static ws_pool_t *begin_given(const ws_prewake_stats_t *stats)
{
  prewake.given = true;
  prewake.stats = *stats;
  return test_pool(2);
}

static void end_given(ws_pool_t *pool)
{
  prewake.given = false;
  test_destroy(pool);
}

static void take_page(ws_pool_t *pool)
{
  memset(&page, 0, sizeof(page));
  ws_pool_report(pool, keep, &page);
  CU_ASSERT_EQUAL(page.too_long, 0);
  CU_ASSERT_TRUE(page.count > 0 && page.count <= LINES_MAX);
}

/// @return whether a line holds both
static bool page_has(const char *head, const char *text)
{
  for (uint32_t i = 0; i < page.count && i < LINES_MAX; i++)
    if (strstr(page.text[i], head) && strstr(page.text[i], text))
      return true;
  printf("\n  no line with \"%s\" and \"%s\" ", head, text);
  return false;
}

/// No quotient of nothing by nothing.
static bool page_has_numbers_only(void)
{
  for (uint32_t i = 0; i < page.count && i < LINES_MAX; i++)
    if (strstr(page.text[i], "nan") || strstr(page.text[i], "inf"))
      return false;
  return true;
}

static bool is_complete(void)
{
  static const char *const head[] = {
      "report",       "  spin ",   "  workers ", "  queues ",    "  watchdog ", "  placed ",
      "  pushes ",    "  period ", "  level ",   "  pre-wakes ", "  lead ",     "  busy-poll ",
      "  cut short ", "  starts ", "  slept ",   "  < 250 us ",  "  < 1 ms ",   "  < 4 ms ",
      "  < 16 ms ",   "  longer ", "  thread ",  "  outside ",
  };
  bool complete = true;
  for (size_t i = 0; i < TEST_COUNT(head); i++)
    complete &= page_has(head[i], "");
  return complete;
}

TEST_CASE(a_pool_that_ran)
{
  ws_pool_t *pool = test_pool(3);
  ws_au64_t count = {0};
  for (uint32_t round = 0; round < 20; round++) {
    test_burst(pool, 25, test_count_task, &count);
  }
  take_page(pool);
  CU_ASSERT_TRUE(is_complete() && page_has_numbers_only());
  CU_ASSERT_TRUE(page_has("workers", "3 of 3") && page_has("worker 2", ""));
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  take_page(pool); // also when it has stopped
  CU_ASSERT_TRUE(is_complete());
  uint64_t run = 0, tasks;
  for (uint32_t i = 0; i < page.count; i++)
    if (sscanf(page.text[i], "  worker %*u %lu", &tasks) == 1
        || sscanf(page.text[i], "  outside %lu", &tasks) == 1)
      run += tasks;
  CU_ASSERT_EQUAL(run, 500);
  test_destroy(pool);
}

/// Without workers, and with more than have lines of their own.
TEST_CASE(any_number_of_workers)
{
  ws_pool_t *none = test_pool(0), *many = test_pool(20);
  for (uint32_t round = 0; round < 2; round++) {
    take_page(none);
    CU_ASSERT_TRUE(is_complete() && page_has_numbers_only());
    CU_ASSERT_TRUE(page_has("workers", "0 of 0"));
    test_push(none, test_empty_task, NULL, NULL);
  }
  take_page(many);
  CU_ASSERT_TRUE(page_has("worker 7", "") && page_has("12 more", ""));
  test_destroy(none);
  test_destroy(many);
}

TEST_CASE(each_mode_is_named)
{
  static const char *const named[] = {
      [WS_SPIN_OFF] = "off",
      [WS_SPIN_FIXED] = "fixed, 12.5 us ahead; busy-polls at most 13 % of a core each",
      [WS_SPIN_AUTO] = "auto, busy-polls at most 13 % of a core each; 1 us late weighs as 7 us of CPU time",
      [WS_SPIN_HOT] = "hot: workers busy-poll without a limit",
  };
  ws_settings_t settings = test_settings(0);
  settings.spin_price = 7;
  settings.spin_cpu_max_percent = 13;
  ws_pool_t *pool = test_create(&settings);
  for (uint32_t spin = WS_SPIN_OFF; spin <= WS_SPIN_HOT; spin++) {
    CU_ASSERT_EQUAL(ws_pool_set_spin(pool, (ws_spin_t)spin, 12500), 0); // what holds now
    take_page(pool);
    CU_ASSERT_TRUE(page_has("  spin ", named[spin]));
  }
  test_destroy(pool);
}

static const ws_prewake_stats_t some_stats = {
    .bursts = 2000,
    .expected_bursts = 1900,
    .absent_bursts = 17,
    .period_ns = 500000,
    .period_bursts = 2,
    .level = 1,
    .level_changes = 3,
    .hits = 1801,
    .lates = 55,
    .misses = 19,
    .unused = 5,
    .lead_p50_ns = 22500,
    .lead_p99_ns = 61000,
    .spin_ns = 2u * 2000 * 25000,
    .capped_spins = 41,
    .preempted_spins = 42,
    .throttled_looks = 43,
    .started_bursts = 1999,
    .late_ns_p90 = 17500,
    .wake[WS_WAKE_PUSH][2] = {.wakes = 1234, .p50_ns = 31200, .p99_ns = 88800},
    .wake[WS_WAKE_TIMER][4] = {.wakes = 99, .p50_ns = 11100, .p99_ns = 22200},
};

TEST_CASE(what_prewake_says_is_shown)
{
  static const struct {
    const char *head, *text;
  } lines[] = {{"pushes", "2000 after a pause, 1900 of them when expected (95.0 %)"},
               {"pushes", "17 expected, did not come"},
               {"period", "500.0 us with 2 bursts"},
               {"level", "1 of 2; changed 3 times"},
               {"pre-wakes", "in time 1801, too late 55, for no burst 19; found no task left 5"},
               {"lead", "p50 22.5 us, p99 61.0 us"},
               {"busy-poll", "25.0 us a burst, 10.0 % of a core"},
               {"cut short", "41"},
               {"cut short", "42"},
               {"cut short", "43"},
               {"starts", "1999 bursts on workers, nine of ten within 17.5 us"},
               {"< 4 ms", "1234     31.2     88.8"},
               {"longer", "99     11.1     22.2"}};
  ws_pool_t *pool = begin_given(&some_stats);
  take_page(pool);
  CU_ASSERT_TRUE(is_complete());
  for (uint32_t i = 0; i < TEST_COUNT(lines); i++)
    CU_ASSERT_TRUE(page_has(lines[i].head, lines[i].text));
  end_given(pool);
}

/// @return how many numbers of the page are @p number. Digits beside a number are its own
static uint32_t numbers(const char *number)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < page.count && i < LINES_MAX; i++)
    for (const char *at = page.text[i]; (at = strpbrk(at, "0123456789")); at += strspn(at, "0123456789"))
      count += strspn(at, "0123456789") == strlen(number) && strncmp(at, number, strlen(number)) == 0;
  return count;
}

/// A line that is longer than the page is wide goes on below, and no number is cut.
TEST_CASE(no_number_breaks_the_page)
{
  ws_prewake_stats_t most;
  memset(&most, 0xff, sizeof(most));
  ws_pool_t *pool = begin_given(&most);
  take_page(pool);
  CU_ASSERT_TRUE(is_complete() && page_has_numbers_only());
  // Pushes 3, period 1, level 1, pre-wakes 4, cut short 3, starts 1; wakes of two kinds after five sleeps.
  CU_ASSERT_EQUAL(numbers("18446744073709551615"), 3 + 1 + 1 + 4 + 3 + 1 + 2 * 5);
  end_given(pool);
}

static bool reports;

static void stop_twice(void)
{
  ws_settings_t settings = test_settings(1);
  settings.report = reports;
  ws_pool_t *pool = test_create(&settings);
  ws_pool_stop(pool, WS_STOP_ABORT);
  test_destroy(pool); // stopped already: says nothing again
}

TEST_CASE(printed_at_the_stop_if_asked_for)
{
  static char text[8192];
  reports = true;
  CU_ASSERT_EQUAL(death_status(stop_twice, text, sizeof(text)), 0);
  const char *first = strstr(text, "thread_pool_ws: report of pool ");
  CU_ASSERT_TRUE(first && strstr(text, "  outside ") && !strstr(strchr(first, '\n'), "report of pool "));
  reports = false;
  CU_ASSERT_EQUAL(death_status(stop_twice, text, sizeof(text)), 0);
  CU_ASSERT_STRING_EQUAL(text, "");
}

TEST_MAIN_SEAMS("report", SEAM(ws_pool_prewake_stats_sized))
