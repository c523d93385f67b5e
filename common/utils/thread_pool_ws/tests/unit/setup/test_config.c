// SPDX-License-Identifier: BSD-3-Clause
/// @file test_config.c
/// Settings from texts and from the environment: what is read, what is refused, how that is said, and that a
/// wrong text never leaves a mode that was not asked for.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "../../support/ws_test.h"

#define LEAD_UNTOUCHED 777u
#define PERCENT_UNTOUCHED 33u

static bool privileged; ///< the process has more rights than its user

unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);

unsigned long __wrap_getauxval(unsigned long type)
{
  return privileged && type == AT_SECURE ? 1 : __real_getauxval(type);
}

static ws_settings_t fresh(void)
{
  ws_settings_t settings = test_settings(1);
  settings.spin = WS_SPIN_HOT; // what no text can give
  settings.spin_lead_ns = LEAD_UNTOUCHED;
  settings.spin_cpu_max_percent = PERCENT_UNTOUCHED;
  return settings;
}

static bool gives(const char *text, ws_spin_t spin, uint64_t lead_ns)
{
  ws_settings_t settings = fresh();
  return ws_settings_spin_text(&settings, text) == 0 && settings.spin == spin
         && settings.spin_lead_ns == lead_ns && test_warnings.count == 0;
}

static void modes_that_are_read(void)
{
  CU_ASSERT_TRUE(gives("off", WS_SPIN_OFF, LEAD_UNTOUCHED));
  CU_ASSERT_TRUE(gives("auto", WS_SPIN_AUTO, LEAD_UNTOUCHED));
  CU_ASSERT_TRUE(gives(" \tAuTo \r\n", WS_SPIN_AUTO, LEAD_UNTOUCHED));
  CU_ASSERT_TRUE(gives("OFF", WS_SPIN_OFF, LEAD_UNTOUCHED));
  CU_ASSERT_TRUE(gives("fixed:40", WS_SPIN_FIXED, 40000));
  CU_ASSERT_TRUE(gives("FIXED:0", WS_SPIN_FIXED, 0));
  CU_ASSERT_TRUE(gives("fixed:12.5", WS_SPIN_FIXED, 12500));
  CU_ASSERT_TRUE(gives("fixed:0.001", WS_SPIN_FIXED, 1));
  CU_ASSERT_TRUE(gives("fixed:3.14159265358979", WS_SPIN_FIXED, 3141));
  CU_ASSERT_TRUE(gives("fixed:0000000000012", WS_SPIN_FIXED, 12000));
  CU_ASSERT_TRUE(gives("fixed:10000", WS_SPIN_FIXED, 10000000));
  CU_ASSERT_TRUE(gives("fixed:10000.000", WS_SPIN_FIXED, 10000000));
}

static const char *const wrong_modes[] = {
    "",
    " ",
    "\n",
    ",",
    "=",
    "0",
    "1",
    "on",
    "hot",
    "of",
    "offf",
    "off off",
    "off,",
    "auto:",
    "auto:5",
    "autoo",
    "aut",
    "au to",
    "fixed",
    "fixed:",
    "fixed: ",
    "fixed: 40",
    "fixed :40",
    "fixed=40",
    "fixed40",
    "fixed:-1",
    "fixed:+1",
    "fixed:-0",
    "fixed:.5",
    "fixed:5.",
    "fixed:5.5.",
    "fixed:1.2.3",
    "fixed:5,5",
    "fixed:1e3",
    "fixed:0x10",
    "fixed:40us",
    "fixed:40 us",
    "fixed:nan",
    "fixed:inf",
    "fixed:10001",
    "fixed:10000.5",
    "fixed:4294967296",
    "fixed:4294967336",
    "fixed:18446744073709551616",
    "fixed:99999999999999999999999999999999999999999999999999999999999999999999999",
    "fixed:40\x01",
    "fixed:4\xc2\xa0",
    "\xff\xfe",
    "%s%n",
    "fixed:%d",
    "off;auto",
    "spin=auto",
    "\"auto\"",
    "a text that is a good deal longer than what a warning shows of it, so that it is cut somewhere"};

static void wrong_modes_are_off_and_said(void)
{
  for (size_t i = 0; i < TEST_COUNT(wrong_modes); i++) {
    ws_settings_t settings = fresh();
    const bool refused = ws_settings_spin_text(&settings, wrong_modes[i]) == -EINVAL
                         && settings.spin == WS_SPIN_OFF && settings.spin_lead_ns == LEAD_UNTOUCHED;
    char shown[41];
    snprintf(shown, sizeof(shown), "%s", wrong_modes[i]);
    const bool said = test_warnings.count == 1 && test_warnings_with(shown) == 1
                      && test_warnings_with("fixed:<us> with 0 to 10000); ") == 1
                      && test_warnings_with("pre-wake is off") == 1;
    if (!refused || !said)
      printf("\n  \"%s\" ", wrong_modes[i]);
    CU_ASSERT_TRUE(refused && said);
  }
}

/// Texts by chance: whatever is accepted is one of the modes, whatever is not is off.
static void texts_by_chance(void)
{
  static const char alphabet[] = "offautoixed:0123456789.. -OA\t";
  static const char *const heads[] = {"", "fixed:", "off", "auto"};
  uint64_t state = test_seed();
  uint32_t wrong = 0, accepted = 0;
  for (uint32_t round = 0; round < 50000; round++) {
    char text[32];
    size_t length = (size_t)snprintf(text, sizeof(text), "%s", heads[test_random(&state) % 4]);
    for (uint64_t more = test_random(&state) % 8; more > 0; more--)
      text[length++] = alphabet[test_random(&state) % (sizeof(alphabet) - 1)];
    text[length] = '\0';
    ws_settings_t settings = fresh();
    const int result = ws_settings_spin_text(&settings, text);
    accepted += result == 0;
    wrong += settings.spin == WS_SPIN_HOT || settings.spin_lead_ns > 10000000
             || result != (test_warnings.count == 1 ? -EINVAL : 0)
             || (result < 0 && settings.spin != WS_SPIN_OFF);
  }
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_TRUE(accepted > 1000);
}

static bool gives_percent(const char *text, uint32_t percent)
{
  ws_settings_t settings = fresh();
  return ws_settings_spin_cpu_max_text(&settings, text) == 0 && settings.spin_cpu_max_percent == percent
         && settings.spin == WS_SPIN_HOT && test_warnings.count == 0;
}

static void percentages(void)
{
  CU_ASSERT_TRUE(gives_percent("0", 0));
  CU_ASSERT_TRUE(gives_percent("7", 7));
  CU_ASSERT_TRUE(gives_percent(" 100 ", 100));
  CU_ASSERT_TRUE(gives_percent("050", 50));
  static const char *const wrong[] = {
      "",    " ",   "-1",  "+5",  "101",        "5%",         "5.0",
      "5 5", "0x5", "ten", "1e1", "4294967296", "4294967306", "18446744073709551626",
      "5,"};
  for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
    ws_settings_t settings = fresh();
    CU_ASSERT_EQUAL(ws_settings_spin_cpu_max_text(&settings, wrong[i]), -EINVAL);
    CU_ASSERT_TRUE(settings.spin == WS_SPIN_OFF && settings.spin_cpu_max_percent == 0);
    CU_ASSERT_TRUE(test_warnings.count == 1 && test_warnings_with(wrong[i]) == 1);
  }
}

/// @brief Set variables, NULL = none. @return the settings that they give
static ws_settings_t environment(const char *spin, const char *cpu_max, const char *report)
{
  const char *const value[] = {spin, cpu_max, report};
  static const char *const name[] = {"TPOOL_WS_SPIN", "TPOOL_WS_SPIN_CPU_MAX", "TPOOL_WS_REPORT"};
  ws_settings_t settings = fresh();
  for (size_t i = 0; i < TEST_COUNT(name); i++)
    if (value[i])
      setenv(name[i], value[i], 1);
  ws_settings_environment(&settings);
  for (size_t i = 0; i < TEST_COUNT(name); i++)
    unsetenv(name[i]);
  return settings;
}

static void variables_that_are_read(void)
{
  ws_settings_t settings = environment("fixed:25", "40", "1");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_FIXED && settings.spin_lead_ns == 25000);
  CU_ASSERT_TRUE(settings.spin_cpu_max_percent == 40 && settings.report);
  CU_ASSERT_EQUAL(test_warnings.count, 0);
  settings = environment("auto", NULL, "0");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_AUTO && settings.spin_cpu_max_percent == PERCENT_UNTOUCHED);
  CU_ASSERT_TRUE(!settings.report && test_warnings.count == 0);
}

static void unset_or_empty_changes_nothing(void)
{
  for (uint32_t empty = 0; empty < 2; empty++) {
    const char *text = empty ? "" : NULL;
    const ws_settings_t settings = environment(text, text, text);
    CU_ASSERT_TRUE(settings.spin == WS_SPIN_HOT && settings.spin_lead_ns == LEAD_UNTOUCHED);
    CU_ASSERT_TRUE(settings.spin_cpu_max_percent == PERCENT_UNTOUCHED && !settings.report);
    CU_ASSERT_EQUAL(test_warnings.count, 0);
  }
}

static void wrong_variables_are_named(void)
{
  ws_settings_t settings = environment("always", NULL, NULL);
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_OFF);
  CU_ASSERT_TRUE(test_warnings.count == 1 && test_warnings_with("TPOOL_WS_SPIN=\"always\"") == 1);
  settings = environment("auto", "1000", NULL); // the limit was wrong: no spinning without one
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_OFF);
  CU_ASSERT_TRUE(test_warnings.count == 1 && test_warnings_with("TPOOL_WS_SPIN_CPU_MAX=\"1000\"") == 1);
  settings = environment("auto", "5", "yes");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_AUTO && !settings.report);
  CU_ASSERT_TRUE(test_warnings.count == 1 && test_warnings_with("TPOOL_WS_REPORT=\"yes\"") == 1);
}

static void mistyped_names_are_warned_about(void)
{
  setenv("TPOOL_WS_SPINN", "auto", 1);
  setenv("TPOOL_WS_", "x", 1);
  setenv("TPOOL_W", "x", 1);
  setenv("NOT_TPOOL_WS_SPIN", "x", 1);
  setenv("TPOOL_WS_TRACE", "0", 1); // of trace/ws_provider.c
  const ws_settings_t settings = environment("auto", NULL, NULL);
  unsetenv("TPOOL_WS_SPINN");
  unsetenv("TPOOL_WS_");
  unsetenv("TPOOL_W");
  unsetenv("NOT_TPOOL_WS_SPIN");
  unsetenv("TPOOL_WS_TRACE");
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_AUTO);
  CU_ASSERT_EQUAL(test_warnings.count, 2);
  CU_ASSERT_EQUAL(test_warnings_with("TPOOL_WS_SPINN: unknown"), 1);
}

static void not_read_with_more_rights_than_the_user(void)
{
  privileged = true;
  const ws_settings_t settings = environment("auto", "100", "1");
  privileged = false;
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_HOT && !settings.report);
}

static void defaults_do_not_read_it(void)
{
  setenv("TPOOL_WS_SPIN", "off", 1);
  setenv("TPOOL_WS_REPORT", "1", 1);
  ws_settings_t settings;
  ws_settings_default(&settings);
  unsetenv("TPOOL_WS_SPIN");
  unsetenv("TPOOL_WS_REPORT");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_AUTO && !settings.report);
}

static void read_environment(ws_settings_t *settings, const char *variable, const char *text)
{
  setenv(variable, text, 1);
  ws_settings_environment(settings);
  unsetenv(variable);
}

static const char *take_n(void *unused, uint32_t position, const char *entry, size_t length)
{
  (void)unused;
  return position == 1 && length == 1 && *entry == 'n' ? NULL : "is not n";
}

static bool same(const ws_settings_t *a, const ws_settings_t *b)
{
  return a->spin == b->spin && a->spin_lead_ns == b->spin_lead_ns
         && a->spin_cpu_max_percent == b->spin_cpu_max_percent && a->report == b->report;
}

/// The same text by the call, by a list and by the environment: the same settings, and one warning that names
/// the place.
static void one_entry_three_ways(void)
{
  static const struct {
    const char *name, *variable, *valid, *invalid;
  } entries[] = {{"spin", "TPOOL_WS_SPIN", " fixed:12.5", "soon"},
                 {"spin_cpu_max", "TPOOL_WS_SPIN_CPU_MAX", "50", "101"},
                 {"report", "TPOOL_WS_REPORT", "1", "yes"}};
  for (size_t i = 0; i < 2 * TEST_COUNT(entries); i++) {
    const bool valid = i % 2 == 0;
    const char *name = entries[i / 2].name, *variable = entries[i / 2].variable;
    const char *text = valid ? entries[i / 2].valid : entries[i / 2].invalid;
    char list[64], place[3][64];
    snprintf(list, sizeof(list), "n,%s=%s", name, text);
    snprintf(place[0], sizeof(place[0]), "%s=\"%s\": invalid (valid: ", name, text);
    snprintf(place[1], sizeof(place[1]), "entry 2 \"%s=%s\": invalid (valid: ", name, text);
    snprintf(place[2], sizeof(place[2]), "%s=\"%s\": invalid (valid: ", variable, text);
    ws_settings_t by[3];
    for (uint32_t way = 0; way < 3; way++) {
      by[way] = fresh();
      by[way].report = !valid;
      int result = valid ? 0 : -EINVAL;
      if (way == 0)
        result = ws_settings_entry(&by[way], name, text);
      else if (way == 1)
        result = ws_settings_list(&by[way], list, take_n, NULL);
      else
        read_environment(&by[way], variable, text);
      CU_ASSERT_EQUAL(result, valid ? 0 : -EINVAL);
      CU_ASSERT_EQUAL(test_warnings.count, valid ? 0 : 1);
      CU_ASSERT_TRUE(valid || test_warnings_with(place[way]) == 1);
      CU_ASSERT_TRUE(same(&by[0], &by[way]));
    }
  }
}

/// @return whether @p list gives the mode with @p warnings, one of which says @p said
static bool lists(const char *list, ws_spin_t spin, uint32_t warnings, const char *said)
{
  ws_settings_t settings = fresh();
  const int result = ws_settings_list(&settings, list, NULL, NULL);
  const bool as_wanted = settings.spin == spin && test_warnings.count == warnings
                         && (warnings == 0 || test_warnings_with(said) == 1)
                         && result == (warnings ? -EINVAL : 0);
  if (!as_wanted)
    printf("\n  \"%s\" ", list);
  return as_wanted;
}

static void lists_that_are_read(void)
{
  CU_ASSERT_TRUE(lists("", WS_SPIN_HOT, 0, NULL) && lists(" ,,\t", WS_SPIN_HOT, 0, NULL));
  CU_ASSERT_TRUE(lists("spin=off,spin=auto", WS_SPIN_AUTO, 0, NULL)); // the last one
  CU_ASSERT_TRUE(lists(", SPIN = Auto ,Spin_CPU_Max=\t100,", WS_SPIN_AUTO, 0, NULL));
  CU_ASSERT_TRUE(lists("report=1,report=0", WS_SPIN_HOT, 0, NULL));
  CU_ASSERT_TRUE(lists("report=1,7,spin=auto", WS_SPIN_AUTO, 1, "entry 2 \"7\" is no setting (known: spin="));
  CU_ASSERT_TRUE(lists("spi=off", WS_SPIN_HOT, 1, "entry 1 \"spi=off\" is no setting"));
  ws_settings_t settings = fresh();
  CU_ASSERT_EQUAL(ws_settings_list(&settings, NULL, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_settings_list(NULL, "spin=auto", NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, "spinn", "auto"), -EINVAL);
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, NULL, "auto"), -EINVAL);
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_HOT && test_warnings_with("\"spinn\": unknown setting") == 1);
}

/// A mistyped name has the effect of an invalid text, and a valid entry after it changes nothing.
static void invalid_entries_of_a_list(void)
{
  static const char *const wrong[] = {"spin=",        "spin=on",        "spin=hot",         "spin=fixed",
                                      "spin=fixed:x", "spin_cpu_max=",  "spin_cpu_max=101", "spin_cpu_max=-1",
                                      "spin",         "spin:auto",      "spin_cpu=5",       "spinner",
                                      "spin_max=5",   "spin =auto=off", "spin_cpu_max"};
  char list[100], said[100];
  for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
    snprintf(list, sizeof(list), "spin=auto,%s,spin=auto", wrong[i]);
    snprintf(said, sizeof(said), "entry 2 \"%s\": invalid (valid: ", wrong[i]);
    CU_ASSERT_TRUE(lists(list, WS_SPIN_OFF, 1, said));
  }
}

/// An entry that an earlier version had: a warning names it, and the others have their effect.
static void settings_that_are_gone_are_named(void)
{
  static const char *const gone[] = {"prio=low", "prio=decode:high", "limit=decode:2"};
  char list[100], said[100];
  for (size_t i = 0; i < TEST_COUNT(gone); i++) {
    snprintf(list, sizeof(list), "spin=auto,%s", gone[i]);
    snprintf(said, sizeof(said), "entry 2 \"%s\": invalid (valid: nothing, this setting is gone)", gone[i]);
    CU_ASSERT_TRUE(lists(list, WS_SPIN_AUTO, 1, said));
  }
  ws_settings_t settings = fresh();
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, "limit", "decode:2"), -EINVAL);
  CU_ASSERT_EQUAL(test_warnings_with("limit=\"decode:2\": invalid (valid: nothing, this setting is gone)"),
                  1);
  settings = fresh();
  read_environment(&settings, "TPOOL_WS_RULES", "limit=decode:2");
  CU_ASSERT_EQUAL(test_warnings.count, 1);
  CU_ASSERT_EQUAL(
      test_warnings_with("TPOOL_WS_RULES=\"limit=decode:2\": invalid (valid: nothing, this setting"), 1);
}

TEST_MAIN("config", TEST_CASE(modes_that_are_read), TEST_CASE(wrong_modes_are_off_and_said),
          TEST_CASE(texts_by_chance), TEST_CASE(percentages), TEST_CASE(one_entry_three_ways),
          TEST_CASE(lists_that_are_read), TEST_CASE(invalid_entries_of_a_list),
          TEST_CASE(settings_that_are_gone_are_named), TEST_CASE(variables_that_are_read),
          TEST_CASE(unset_or_empty_changes_nothing), TEST_CASE(wrong_variables_are_named),
          TEST_CASE(mistyped_names_are_warned_about), TEST_CASE(not_read_with_more_rights_than_the_user),
          TEST_CASE(defaults_do_not_read_it))
