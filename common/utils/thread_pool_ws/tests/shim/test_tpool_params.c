// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_params.c
/// OAI's parameter string: what is read, what is refused and how that is said, strings drawn by chance, and
/// the entries that are ours.
#include "../../shim/common/ws_tpool_params.h"
#include "../support/ws_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[128];

/// @return whether @p text gives exactly these cores
static bool gives(const char *text, uint32_t count, const int32_t *cores, bool says_inline)
{
  ws_tpool_params_t params;
  if (ws_tpool_params_read(&params, text, message, sizeof(message)) != 0)
    return false;
  const bool same = params.count == count && params.says_inline == says_inline
                    && (count == 0 || memcmp(params.cores, cores, count * sizeof(*cores)) == 0);
  ws_tpool_params_free(&params);
  return same;
}

static bool refuses(const char *text, const char *said)
{
  ws_tpool_params_t params;
  message[0] = '\0';
  const int result = ws_tpool_params_read(&params, text, message, sizeof(message));
  if (result == 0)
    ws_tpool_params_free(&params);
  return result == -EINVAL && strstr(message, said) != NULL && params.cores == NULL && params.options == NULL;
}

static void lists(void)
{
  CU_ASSERT_TRUE(gives("", 0, NULL, false));
  CU_ASSERT_TRUE(gives("n", 0, NULL, true));
  CU_ASSERT_TRUE(gives("N", 0, NULL, true));
  CU_ASSERT_TRUE(gives("none", 0, NULL, true));
  CU_ASSERT_TRUE(gives("-1", 1, (int32_t[]){-1}, false));
  CU_ASSERT_TRUE(gives("0", 1, (int32_t[]){0}, false));
  CU_ASSERT_TRUE(gives("1,2,-1,1023", 4, (int32_t[]){1, 2, -1, 1023}, false));
  CU_ASSERT_TRUE(gives(" 3 ,\t4\n", 2, (int32_t[]){3, 4}, false));
  CU_ASSERT_TRUE(gives("n,1", 1, (int32_t[]){1}, true));
  CU_ASSERT_TRUE(gives("1,,2,", 2, (int32_t[]){1, 2}, false));
  CU_ASSERT_TRUE(gives("+5,007", 2, (int32_t[]){5, 7}, false));
}

static void bad_entries_are_named(void)
{
  CU_ASSERT_TRUE(refuses("1,x,2", "entry 2 \"x\""));
  CU_ASSERT_TRUE(refuses("-3", "entry 1 \"-3\" is below -1"));
  CU_ASSERT_TRUE(refuses("0,1,99999999999999999999", "entry 3 \"99999999999999999999\""));
  CU_ASSERT_TRUE(refuses("1024", "0 to 1023"));
  CU_ASSERT_TRUE(refuses("1;2", "entry 1 \"1;2\""));
  CU_ASSERT_TRUE(refuses("2-4", "entry 1 \"2-4\""));
  CU_ASSERT_TRUE(refuses("1,2 3", "entry 2 \"2 3\""));
  CU_ASSERT_TRUE(refuses("-", "entry 1 \"-\""));
  CU_ASSERT_TRUE(refuses("0x3", "entry 1 \"0x3\""));
  CU_ASSERT_TRUE(refuses("spin=auto,spi=off", "entry 2 \"spi=off\""));
  CU_ASSERT_TRUE(refuses("1,cpu_max=5", "entry 2 \"cpu_max=5\""));
  CU_ASSERT_TRUE(refuses("spin=auto,1x", "entry 2 \"1x\""));
}

static void a_long_entry_is_cut_in_the_message(void)
{
  char text[2000];
  memset(text, 'z', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  CU_ASSERT_TRUE(refuses(text, "entry 1 \"zzz"));
  CU_ASSERT_TRUE(strlen(message) < sizeof(message));
}

static void a_thousand_entries(void)
{
  char text[4001] = "";
  int32_t cores[1000];
  for (uint32_t i = 0; i < 1000; i++) {
    cores[i] = (int32_t)(i % 100);
    snprintf(text + strlen(text), 5, "%d,", cores[i]);
  }
  CU_ASSERT_TRUE(gives(text, 1000, cores, false));
}

static void floating(void)
{
  ws_tpool_params_t params;
  CU_ASSERT_EQUAL(ws_tpool_params_float(&params, 0), 0);
  CU_ASSERT_TRUE(params.count == 0 && params.says_inline);
  ws_tpool_params_free(&params);
  CU_ASSERT_EQUAL(ws_tpool_params_float(&params, 300), 0);
  CU_ASSERT_TRUE(params.count == 300 && !params.says_inline);
  CU_ASSERT_TRUE(params.cores[0] == -1 && params.cores[299] == -1);
  ws_tpool_params_free(&params);
}

/// @return whether the list is shown as @p shown in @p bytes bytes
static bool shows(const char *text, size_t bytes, const char *shown)
{
  ws_tpool_params_t params;
  char out[64] = "";
  CU_ASSERT_EQUAL_FATAL(ws_tpool_params_read(&params, text, message, sizeof(message)), 0);
  ws_tpool_params_text(&params, out, bytes);
  ws_tpool_params_free(&params);
  return strlen(out) < bytes && strcmp(out, shown) == 0;
}

static void a_list_in_short(void)
{
  CU_ASSERT_TRUE(shows("n", 64, "") && shows("7", 64, "7") && shows("2,3,-1", 64, "2,3,-1"));
  CU_ASSERT_TRUE(shows("-1,-1,-1,-1", 64, "-1 x4") && shows("1,spin=auto,1,2,2,-1", 64, "1 x2,2 x2,-1"));
  CU_ASSERT_TRUE(shows("1023,1022,1021,1020,1019", 32, "1023,1022,1021,..."));
}

static void entries_are_numbered_as_they_stand(void)
{
  ws_tpool_params_t params;
  CU_ASSERT_EQUAL_FATAL(ws_tpool_params_read(&params, ",4,n,spin=off,-1,,9", message, sizeof(message)), 0);
  CU_ASSERT_EQUAL_FATAL(params.count, 3);
  CU_ASSERT_TRUE(params.entry[0] == 2 && params.entry[1] == 5 && params.entry[2] == 7);
  ws_tpool_params_free(&params);
}

/// A second reader of the text, one entry at a time, with functions of the C library.
static int oracle(char *text, int32_t *cores, uint32_t *count)
{
  char *rest = NULL;
  *count = 0;
  for (char *entry = strtok_r(text, ",", &rest); entry; entry = strtok_r(NULL, ",", &rest)) {
    entry += strspn(entry, " \t");
    if (*entry == '\0' || *entry == 'n' || *entry == 'N')
      continue;
    char *end = NULL;
    const long core = strtol(entry, &end, 10);
    if (end == entry || end[strspn(end, " \t")] != '\0' || core < -1 || core > 1023)
      return -EINVAL;
    cores[(*count)++] = (int32_t)core;
  }
  return 0;
}

static void strings_by_chance(void)
{
  static const char alphabet[] = "0123456789,,,,--+ nNx\t";
  uint64_t state = test_seed();
  uint32_t differences = 0, accepted = 0;
  for (uint32_t round = 0; round < 200000; round++) {
    char text[25], copy[25];
    int32_t cores[25];
    uint32_t count = 0;
    const size_t length = test_random(&state) % 24;
    for (size_t i = 0; i < length; i++)
      text[i] = alphabet[test_random(&state) % (sizeof(alphabet) - 1)];
    text[length] = '\0';
    memcpy(copy, text, sizeof(text));
    ws_tpool_params_t params;
    const int result = ws_tpool_params_read(&params, text, message, sizeof(message));
    const bool same =
        result == oracle(copy, cores, &count)
        && (result < 0
            || (params.count == count && memcmp(params.cores, cores, count * sizeof(cores[0])) == 0));
    if (!same && differences++ == 0)
      printf("\n  \"%s\" ", text);
    accepted += result == 0;
    ws_tpool_params_free(&params);
  }
  CU_ASSERT_EQUAL(differences, 0);
  CU_ASSERT_TRUE(accepted > 1000);
}

static ws_priority_t priority;

/// @brief Read and apply @p text, which must hold two floating threads.
static ws_settings_t applied(const char *text)
{
  ws_settings_t settings = test_settings(1);
  settings.spin = WS_SPIN_HOT; // what no entry can give
  settings.spin_cpu_max_percent = 33;
  ws_tpool_params_t params;
  const int result = ws_tpool_params_read(&params, text, message, sizeof(message));
  CU_ASSERT_EQUAL_FATAL(result, 0);
  CU_ASSERT_TRUE(params.count == 2 && params.cores[0] == -1 && params.cores[1] == -1 && !params.says_inline);
  ws_tpool_params_apply(&params, &settings, &priority);
  ws_tpool_params_free(&params);
  return settings;
}

static void entries_of_ours_anywhere(void)
{
  ws_settings_t settings = applied("-1,-1");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_HOT && settings.spin_cpu_max_percent == 33);
  settings = applied("spin=off,-1,-1");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_OFF && settings.spin_cpu_max_percent == 33);
  settings = applied("-1, SPIN = Auto ,-1,spin_cpu_max=7");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_AUTO && settings.spin_cpu_max_percent == 7);
  settings = applied("-1,-1,Spin_CPU_Max=\t100,spin=fixed:12.5,");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_FIXED && settings.spin_lead_ns == 12500);
  CU_ASSERT_EQUAL(settings.spin_cpu_max_percent, 100);
  settings = applied("spin=off,-1,spin=auto,-1");
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_AUTO);
  CU_ASSERT_EQUAL(test_warnings.count, 0);
  ws_tpool_params_t params;
  CU_ASSERT_EQUAL(ws_tpool_params_read(&params, "n,spin=auto", message, sizeof(message)), 0);
  CU_ASSERT_TRUE(params.says_inline && params.count == 0);
  ws_tpool_params_free(&params);
}

/// The process goes on, and nothing spins.
static void wrong_entries_of_ours_are_named_and_turn_it_off(void)
{
  static const char *const wrong[] = {"spin=",        "spin=on",        "spin=hot",         "spin=fixed",
                                      "spin=fixed:x", "spin_cpu_max=",  "spin_cpu_max=101", "spin_cpu_max=-1",
                                      "spin",         "spin:auto",      "spin_cpu=5",       "spinner",
                                      "spin_max=5",   "spin =auto=off", "spin_cpu_max"};
  for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
    char text[100];
    snprintf(text, sizeof(text), "-1,%s,-1,spin=auto", wrong[i]); // a good one after it changes nothing
    CU_ASSERT_EQUAL(applied(text).spin, WS_SPIN_OFF);
    const char *value = strchr(wrong[i], '=');
    CU_ASSERT_TRUE(test_warnings.count == 1 && test_warnings_with("off") == 1);
    CU_ASSERT_EQUAL(test_warnings_with(value ? value + 1 : wrong[i]), 1);
  }
}

static void entries_of_priority(void)
{
  static const struct {
    const char *text;
    ws_priority_t priority;
  } good[] = {{"-1,-1", WS_PRIORITY_NORMAL},
              {"-1,prio=high,-1", WS_PRIORITY_HIGH},
              {"PRIO = Low ,-1,-1", WS_PRIORITY_LOW},
              {"prio=low,-1,-1,prio=normal", WS_PRIORITY_NORMAL},
              {"-1,-1,prio=low,spin=off", WS_PRIORITY_LOW}};
  for (size_t i = 0; i < TEST_COUNT(good); i++) {
    const ws_settings_t settings = applied(good[i].text);
    CU_ASSERT_EQUAL(priority, good[i].priority);
    CU_ASSERT_EQUAL(settings.spin, strstr(good[i].text, "spin") ? WS_SPIN_OFF : WS_SPIN_HOT);
    CU_ASSERT_EQUAL(test_warnings.count, 0);
  }
  static const char *const wrong[] = {"prio=", "prio=urgent", "prio", "priority=high", "prio:low"};
  for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
    char text[100];
    snprintf(text, sizeof(text), "prio=low,-1,%s,-1", wrong[i]);
    CU_ASSERT_EQUAL(applied(text).spin, WS_SPIN_HOT); // pre-wake has nothing to do with it
    CU_ASSERT_EQUAL(priority, WS_PRIORITY_NORMAL);
    CU_ASSERT_TRUE(test_warnings.count == 1 && test_warnings_with(wrong[i]) == 1);
  }
}

TEST_MAIN("tpool_params", TEST_CASE(lists), TEST_CASE(bad_entries_are_named),
          TEST_CASE(a_long_entry_is_cut_in_the_message), TEST_CASE(a_thousand_entries), TEST_CASE(floating),
          TEST_CASE(a_list_in_short), TEST_CASE(entries_are_numbered_as_they_stand),
          TEST_CASE(strings_by_chance), TEST_CASE(entries_of_ours_anywhere),
          TEST_CASE(wrong_entries_of_ours_are_named_and_turn_it_off), TEST_CASE(entries_of_priority))
