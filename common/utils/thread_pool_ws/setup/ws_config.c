// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_config.c
/// Settings that a user writes as text, in the environment or in the host's own options. The only file that
/// reads the environment.
///
/// An invalid text gives a warning and turns pre-wake off: workers then sleep until a push wakes them. If a
/// user has mistyped a limit, the default, under which workers spin, must not apply.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../pool/ws_warn.h"
#include "ws_settings.h"

#define PREFIX "TPOOL_WS_"
#define SPIN_US_MAX (WS_SPIN_LEAD_NS_MAX / 1000)
#define SHOWN 40 ///< characters of a user's text in a warning

/// A part of a text.
typedef struct {
  const char *begin, *end;
} word_t;

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static word_t trimmed(const char *text)
{
  word_t word = {text, text + strlen(text)};
  while (word.begin < word.end && is_blank(*word.begin))
    word.begin++;
  while (word.end > word.begin && is_blank(word.end[-1]))
    word.end--;
  return word;
}

static bool is_word(word_t word, const char *wanted)
{
  const size_t length = strlen(wanted);
  return (size_t)(word.end - word.begin) == length && strncasecmp(word.begin, wanted, length) == 0;
}

/// Read the digits at the start of @p word. @return false without a digit, or above @p max
static bool take_number(word_t *word, uint32_t max, uint32_t *value)
{
  const char *start = word->begin;
  *value = 0;
  for (; word->begin < word->end && *word->begin >= '0' && *word->begin <= '9'; word->begin++) {
    *value = *value * 10 + (uint32_t)(*word->begin - '0');
    if (*value > max)
      return false;
  }
  return word->begin > start;
}

static bool read_percent(word_t word, uint32_t *percent)
{
  uint32_t value;
  if (!take_number(&word, 100, &value) || word.begin < word.end)
    return false;
  *percent = value;
  return true;
}

/// Microseconds with a fraction, of which three digits count. The C library's way would depend on the locale.
static bool read_us(word_t word, uint64_t *ns)
{
  uint32_t us, fraction_ns = 0;
  if (!take_number(&word, SPIN_US_MAX, &us))
    return false;
  if (word.begin < word.end && *word.begin == '.') {
    word.begin++;
    if (word.begin == word.end)
      return false;
    for (uint32_t digit_ns = 100; word.begin < word.end; word.begin++, digit_ns /= 10) {
      if (*word.begin < '0' || *word.begin > '9')
        return false;
      fraction_ns += (uint32_t)(*word.begin - '0') * digit_ns;
    }
  }
  if (word.begin < word.end || (us == SPIN_US_MAX && fraction_ns > 0))
    return false;
  *ns = (uint64_t)us * 1000 + fraction_ns;
  return true;
}

static bool read_spin(word_t word, ws_settings_t *settings)
{
  static const char fixed[] = "fixed:";
  const size_t length = sizeof(fixed) - 1;
  if (is_word(word, "off")) {
    settings->spin = WS_SPIN_OFF;
  } else if (is_word(word, "auto")) {
    settings->spin = WS_SPIN_AUTO;
  } else if ((size_t)(word.end - word.begin) > length && strncasecmp(word.begin, fixed, length) == 0) {
    if (!read_us((word_t){word.begin + length, word.end}, &settings->spin_lead_ns))
      return false;
    settings->spin = WS_SPIN_FIXED;
  } else {
    return false;
  }
  return true;
}

/// @param name  the variable or option that the user has set
static int set_spin(ws_settings_t *settings, const char *name, const char *text)
{
  if (read_spin(trimmed(text), settings))
    return 0;
  settings->spin = WS_SPIN_OFF;
  ws_warn(settings, "%s=\"%.*s\": unknown mode (off, auto, fixed:<us> with 0 to %d); pre-wake is off", name,
          SHOWN, text, SPIN_US_MAX);
  return -EINVAL;
}

static int set_spin_cpu_max(ws_settings_t *settings, const char *name, const char *text)
{
  if (read_percent(trimmed(text), &settings->spin_cpu_max_percent))
    return 0;
  settings->spin = WS_SPIN_OFF;
  settings->spin_cpu_max_percent = 0; // also if a later setting turns pre-wake on
  ws_warn(settings, "%s=\"%.*s\": not a percentage (whole number, 0 to 100); pre-wake is off", name, SHOWN,
          text);
  return -EINVAL;
}

static int set_report(ws_settings_t *settings, const char *name, const char *text)
{
  const word_t word = trimmed(text);
  settings->report = is_word(word, "1");
  if (settings->report || is_word(word, "0"))
    return 0;
  ws_warn(settings, "%s=\"%.*s\": neither 0 nor 1; no report is printed", name, SHOWN, text);
  return -EINVAL;
}

int ws_settings_spin_text(ws_settings_t *settings, const char *text)
{
  return settings ? set_spin(settings, "spin", text ? text : "") : -EINVAL;
}

int ws_settings_spin_cpu_max_text(ws_settings_t *settings, const char *text)
{
  return settings ? set_spin_cpu_max(settings, "spin_cpu_max", text ? text : "") : -EINVAL;
}

/// Every variable of the library, in the order in which they are read: of two that set the same field, the
/// later takes precedence.
static const struct {
  const char *name;
  int (*set)(ws_settings_t *settings, const char *name, const char *text);
} variables[] = {
    {PREFIX "SPIN", set_spin},
    {PREFIX "SPIN_CPU_MAX", set_spin_cpu_max},
    {PREFIX "REPORT", set_report},
};
#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

static bool is_known(const char *name, size_t length)
{
  for (size_t i = 0; i < VARIABLES; i++)
    if (strlen(variables[i].name) == length && strncmp(variables[i].name, name, length) == 0)
      return true;
  return false;
}

/// Without this warning a mistyped name would have no effect, silently.
static void warn_of_unknown(const ws_settings_t *settings)
{
  for (char **entry = environ; entry && *entry; entry++) {
    const size_t length = strcspn(*entry, "=");
    if (strncmp(*entry, PREFIX, sizeof(PREFIX) - 1) == 0 && !is_known(*entry, length))
      ws_warn(settings,
              "%.*s: unknown environment variable, ignored (known: " PREFIX "SPIN, " PREFIX
              "SPIN_CPU_MAX, " PREFIX "REPORT)",
              length < SHOWN ? (int)length : SHOWN, *entry);
  }
}

void ws_settings_environment(ws_settings_t *settings)
{
  for (size_t i = 0; settings && i < VARIABLES; i++) {
    const char *text = secure_getenv(variables[i].name);
    if (text && *text)
      variables[i].set(settings, variables[i].name, text);
  }
  if (settings)
    warn_of_unknown(settings);
}
