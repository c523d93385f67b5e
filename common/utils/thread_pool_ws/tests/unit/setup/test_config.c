// SPDX-License-Identifier: BSD-3-Clause
/// @file test_config.c
/// Settings from texts and from the environment: what is read, what is refused, how that is said, and that a
/// wrong text never leaves a mode that was not asked for.
#include <sys/auxv.h>

#include "../../support/ws_seam.h"

#define UNTOUCHED ((ws_spin_t)(WS_SPIN_HOT + 1))
#define LEAD_UNTOUCHED 777u
#define PERCENT_UNTOUCHED 33u

static bool privileged; ///< the process has more rights than its user

static unsigned long getauxval_seam(unsigned long type)
{
  return privileged && type == AT_SECURE ? 1 : __real_getauxval(type);
}

static ws_settings_t fresh(void)
{
  ws_settings_t settings = test_settings(1);
  settings.spin = UNTOUCHED; // what no text can give
  settings.spin_lead_ns = LEAD_UNTOUCHED;
  settings.spin_cpu_max_percent = PERCENT_UNTOUCHED;
  return settings;
}

/// What a text must give: a warning, or none.
typedef struct {
  ws_spin_t spin;
  uint64_t lead_ns;
  uint32_t percent;
  bool report;
  const char *warning; ///< what it has somewhere; NULL = there is none
} given_t;
#define LEAD LEAD_UNTOUCHED
#define PERCENT PERCENT_UNTOUCHED

/// @return whether it is that, with at most one warning
static bool is_given(const ws_settings_t *settings, const given_t *wanted)
{
  const bool same = settings->spin == wanted->spin && settings->spin_lead_ns == wanted->lead_ns
                    && settings->spin_cpu_max_percent == wanted->percent
                    && settings->report == wanted->report;
  return same && test_warnings.count == (wanted->warning ? 1 : 0)
         && (!wanted->warning || test_warnings_with(wanted->warning) == 1);
}

/// @return the text at @p list up to the next '|', in @p text, and go behind that; NULL at the end
static const char *next_text(const char **list, char text[128])
{
  const size_t length = strcspn(*list, "|");
  if (**list == '\0')
    return NULL;
  snprintf(text, 128, "%.*s", (int)length, *list);
  *list += length + ((*list)[length] == '|');
  return text;
}

/// A mistyped name of a setting has the effect of an invalid text, and a valid entry after it changes
/// nothing. An entry that an earlier version had is named, and the others have their effect.
TEST_CASE(lists)
{
  static const struct {
    const char *list;
    given_t given;
  } rows[] = {
      {"", {UNTOUCHED, LEAD, PERCENT, false, NULL}},
      {" ,,\t", {UNTOUCHED, LEAD, PERCENT, false, NULL}},
      {"spin=off", {WS_SPIN_OFF, LEAD, PERCENT, false, NULL}},
      {"spin=off,spin=auto", {WS_SPIN_AUTO, LEAD, PERCENT, false, NULL}}, // the last one
      {", SPIN = Auto ,Spin_CPU_Max=\t100,", {WS_SPIN_AUTO, LEAD, 100, false, NULL}},
      {"spin= \tAuTo \r\n", {WS_SPIN_AUTO, LEAD, PERCENT, false, NULL}},
      {"spin=Hot,spin_cpu_max=5", {WS_SPIN_HOT, LEAD, 5, false, NULL}},
      {"spin=fixed:40", {WS_SPIN_FIXED, 40000, PERCENT, false, NULL}},
      {"spin=FIXED:0", {WS_SPIN_FIXED, 0, PERCENT, false, NULL}},
      {"spin=fixed:12.5", {WS_SPIN_FIXED, 12500, PERCENT, false, NULL}},
      {"spin=fixed:0.001", {WS_SPIN_FIXED, 1, PERCENT, false, NULL}},
      {"spin=fixed:3.14159265358979", {WS_SPIN_FIXED, 3141, PERCENT, false, NULL}},
      {"spin=fixed:0000000000012", {WS_SPIN_FIXED, 12000, PERCENT, false, NULL}},
      {"spin=fixed:10000.000", {WS_SPIN_FIXED, 10000000, PERCENT, false, NULL}},
      {"spin_cpu_max=0", {UNTOUCHED, LEAD, 0, false, NULL}},
      {"spin_cpu_max= 100 ", {UNTOUCHED, LEAD, 100, false, NULL}},
      {"spin_cpu_max=050", {UNTOUCHED, LEAD, 50, false, NULL}},
      {"report=1", {UNTOUCHED, LEAD, PERCENT, true, NULL}},
      {"report=1,report=0", {UNTOUCHED, LEAD, PERCENT, false, NULL}},
      {"report=1,7,spin=auto",
       {WS_SPIN_AUTO, LEAD, PERCENT, true, "entry 2 \"7\" is no setting (known: spin="}},
      {"spi=off", {UNTOUCHED, LEAD, PERCENT, false, "entry 1 \"spi=off\" is no setting"}},
      {"prio=low,spin=auto", {WS_SPIN_AUTO, LEAD, PERCENT, false, "entry 1 \"prio=low\" is no setting"}},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    ws_settings_t settings = fresh();
    const int result = ws_settings_list(&settings, rows[i].list, NULL, NULL);
    const bool right = is_given(&settings, &rows[i].given) && result == (rows[i].given.warning ? -EINVAL : 0);
    if (!right)
      printf("\n  \"%s\" ", rows[i].list);
    CU_ASSERT_TRUE(right);
  }
  const char *at =
      "spin=|spin=on|spin=hot:5|spin=fixed|spin=fixed:x|spin_cpu_max=|spin_cpu_max=101|spin_cpu_max=-1|spin"
      "|spin:auto|spin_cpu=5|spinner|spin_max=5|spin =auto=off|spin_cpu_max";
  char wrong[128], list[256], said[256];
  while (next_text(&at, wrong)) {
    snprintf(list, sizeof(list), "spin=auto,%s,spin=auto", wrong);
    snprintf(said, sizeof(said), "entry 2 \"%s\": invalid (valid: ", wrong);
    ws_settings_t settings = fresh();
    CU_ASSERT_EQUAL(ws_settings_list(&settings, list, NULL, NULL), -EINVAL);
    CU_ASSERT_TRUE(settings.spin == WS_SPIN_OFF && test_warnings.count == 1 && test_warnings_with(said) == 1);
  }
}

TEST_CASE(entries)
{
  ws_settings_t settings = fresh();
  CU_ASSERT_EQUAL(ws_settings_list(&settings, NULL, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_settings_list(NULL, "spin=auto", NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, "spinn", "auto"), -EINVAL);
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, NULL, "auto"), -EINVAL);
  CU_ASSERT_TRUE(settings.spin == UNTOUCHED && test_warnings_with("\"spinn\": unknown setting") == 1);
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, "spin", " fixed:12.5"), 0);
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_FIXED && settings.spin_lead_ns == 12500);
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, "spin_cpu_max", "101"), -EINVAL);
  CU_ASSERT_EQUAL(test_warnings_with("spin_cpu_max=\"101\": invalid (valid: "), 1);
  CU_ASSERT_TRUE(ws_settings_entry(&settings, "live", "1") == 0 && settings.live);
  CU_ASSERT_TRUE(ws_settings_entry(&settings, "live", "2") == -EINVAL && !settings.live);
  CU_ASSERT_TRUE(ws_settings_entry(&settings, "keep_affinity", "1") == 0 && settings.keep_affinity);
  CU_ASSERT_TRUE(ws_settings_entry(&settings, "keep_affinity", "0") == 0 && !settings.keep_affinity);
  CU_ASSERT_TRUE(ws_settings_entry(&settings, "keep_affinity", "no") == -EINVAL && settings.keep_affinity);
  CU_ASSERT_TRUE(ws_settings_entry(&settings, "record_mb", "65536") == 0 && settings.record_mb == 65536);
  static const char *const wrong[] = {"0", "65537", "-1", "64M", "", "4294967297", "99999999999999999999"};
  for (uint32_t i = 0; i < TEST_COUNT(wrong); i++) {
    settings.record_mb = 1;
    CU_ASSERT_EQUAL(ws_settings_entry(&settings, "record_mb", wrong[i]), -EINVAL);
    CU_ASSERT_EQUAL(settings.record_mb, WS_RECORD_MB);
  }
}

/// A warning shows up to 40 bytes of the text.
TEST_CASE(wrong_modes_are_off_and_said)
{
  static const char wrong[] =
      "| |\n|,|=|0|1|on|hot:|of|offf|off off|off,|auto:|auto:5|autoo|aut|au to|fixed|fixed:|fixed: |fixed: 40"
      "|fixed :40|fixed=40|fixed40|fixed:-1|fixed:+1|fixed:-0|fixed:.5|fixed:5.|fixed:5.5.|fixed:1.2.3"
      "|fixed:5,5|fixed:1e3|fixed:0x10|fixed:40us|fixed:40 us|fixed:nan|fixed:inf|fixed:10001|fixed:10000.5"
      "|fixed:4294967296|fixed:4294967336|fixed:18446744073709551616|fixed:40\x01|fixed:4\xc2\xa0|\xff\xfe"
      "|%s%n|fixed:%d|off;auto|spin=auto|\"auto\""
      "|fixed:99999999999999999999999999999999999999999999999999999999999999999999999"
      "|a text that is a good deal longer than what a warning shows of it, so that it is cut somewhere";
  const char *at = wrong;
  char text[128], shown[41];
  while (next_text(&at, text)) {
    ws_settings_t settings = fresh();
    const bool refused = ws_settings_spin_text(&settings, text) == -EINVAL && settings.spin == WS_SPIN_OFF
                         && settings.spin_lead_ns == LEAD_UNTOUCHED;
    snprintf(shown, sizeof(shown), "%.40s", text);
    const bool said = test_warnings.count == 1 && test_warnings_with(shown) == 1
                      && test_warnings_with("fixed:<us> with 0 to 10000); ") == 1
                      && test_warnings_with("pre-wake is off") == 1;
    if (!refused || !said)
      printf("\n  \"%s\" ", text);
    CU_ASSERT_TRUE(refused && said);
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

TEST_CASE(variables)
{
  static const struct {
    const char *spin, *cpu_max, *report;
    given_t given;
  } rows[] = {
      {"fixed:25", "40", "1", {WS_SPIN_FIXED, 25000, 40, true, NULL}},
      {"hot", NULL, NULL, {WS_SPIN_HOT, LEAD, PERCENT, false, NULL}},
      {"auto", NULL, "0", {WS_SPIN_AUTO, LEAD, PERCENT, false, NULL}},
      {NULL, NULL, NULL, {UNTOUCHED, LEAD, PERCENT, false, NULL}},
      {"", "", "", {UNTOUCHED, LEAD, PERCENT, false, NULL}},
      {"always", NULL, NULL, {WS_SPIN_OFF, LEAD, PERCENT, false, "TPOOL_WS_SPIN=\"always\""}},
      // the limit was wrong: no spinning without one
      {"auto", "1000", NULL, {WS_SPIN_OFF, LEAD, 0, false, "TPOOL_WS_SPIN_CPU_MAX=\"1000\""}},
      {"auto", "5", "yes", {WS_SPIN_AUTO, LEAD, 5, false, "TPOOL_WS_REPORT=\"yes\""}},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const ws_settings_t settings = environment(rows[i].spin, rows[i].cpu_max, rows[i].report);
    CU_ASSERT_TRUE(is_given(&settings, &rows[i].given));
  }
}

TEST_CASE(mistyped_names_are_warned_about)
{
  static const char *const others[] = {
      "TPOOL_WS_SPINN",    "TPOOL_WS_",      "TPOOL_W",
      "NOT_TPOOL_WS_SPIN", "TPOOL_WS_RULES", "TPOOL_WS_TRACE"}; // the last one is of trace/ws_probe.c
  for (uint32_t i = 0; i < TEST_COUNT(others); i++)
    setenv(others[i], "x", 1);
  const ws_settings_t settings = environment("auto", NULL, NULL);
  for (uint32_t i = 0; i < TEST_COUNT(others); i++)
    unsetenv(others[i]);
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_AUTO);
  CU_ASSERT_EQUAL(test_warnings.count, 3);
  CU_ASSERT_EQUAL(test_warnings_with("TPOOL_WS_SPINN: unknown"), 1);
  CU_ASSERT_EQUAL(test_warnings_with("TPOOL_WS_RULES: unknown"), 1);
}

TEST_CASE(not_read_with_more_rights_than_the_user)
{
  privileged = true;
  for (uint32_t looks = 0; looks < 2; looks++) {
    const ws_settings_t settings = environment("auto", "100", "1");
    CU_ASSERT_TRUE(settings.spin == UNTOUCHED && !settings.report);
    CU_ASSERT_EQUAL(test_warnings_with("TPOOL_WS_SPIN: ignored, like all variables TPOOL_WS_"), looks == 0);
    CU_ASSERT_TRUE(looks > 0 || test_warnings_with("AmbientCapabilities=") == 1);
  }
  privileged = false;
}

TEST_CASE(defaults_do_not_read_it)
{
  setenv("TPOOL_WS_SPIN", "off", 1);
  setenv("TPOOL_WS_REPORT", "1", 1);
  ws_settings_t settings;
  ws_settings_default(&settings);
  unsetenv("TPOOL_WS_SPIN");
  unsetenv("TPOOL_WS_REPORT");
  CU_ASSERT_TRUE(settings.spin == WS_SPIN_AUTO && !settings.report);
}

TEST_MAIN_SEAMS("config", SEAM(getauxval))
