// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_settings_text.c
/// Settings that a user writes as text, in the environment or in the host's own options: one table for both.
/// Besides trace/ws_probe.c and shim/oai_fifo/ the only file that reads the environment.
///
/// An invalid text about pre-wake gives a warning and turns pre-wake off: workers then sleep until a push
/// wakes them. If a user has mistyped a limit, the default, under which workers spin, must not apply.
#define _GNU_SOURCE
#include <unistd.h>

#include "../pool/ws_callback.h"
#include "../pool/ws_types.h"

#define PREFIX "TPOOL_WS_"
#define DIGITS "0123456789"
#define TEXT WS_RECORD_PATH_MAX ///< bytes for a text; longer ones are invalid
#define SHOWN 40 ///< characters of a user's text in a warning
#define PLACE (SHOWN + 60) ///< bytes for a text and where it stands

/// A part of a text.
typedef struct {
  const char *begin, *end;
} word_t;

/// @return the word without the blanks around it
static word_t trimmed(word_t word)
{
  while (word.begin < word.end && strchr(" \t\n\r", *word.begin))
    word.begin++;
  while (word.end > word.begin && strchr(" \t\n\r", word.end[-1]))
    word.end--;
  return word;
}

/// Copy as much of @p word as fits; if @p lowers, in lower case. @return whether all of it fits
static bool copy_word(char text[TEXT], word_t word, bool lowers)
{
  size_t length = 0;
  for (; word.begin < word.end && length < TEXT - 1; word.begin++)
    text[length++] =
        (char)(*word.begin + (lowers && *word.begin >= 'A' && *word.begin <= 'Z' ? 'a' - 'A' : 0));
  text[length] = '\0';
  return word.begin == word.end;
}

/// Microseconds with a fraction, of which three digits count. The C library's way would depend on the locale.
/// @return false, and *ns as it was: the text is no number, or above WS_SPIN_LEAD_NS_MAX
static bool read_us(const char *text, uint64_t *ns)
{
  char thousandths[] = "000";
  const size_t whole = strspn(text, DIGITS);
  const char *rest = text + whole;
  if (*rest == '.') {
    const size_t digits = strspn(++rest, DIGITS);
    if (digits == 0)
      return false;
    memcpy(thousandths, rest, digits < 3 ? digits : 3);
    rest += digits;
  }
  const uint64_t us = strtoull(text, NULL, 10), exact_ns = us * 1000 + strtoull(thousandths, NULL, 10);
  if (whole == 0 || *rest || us > WS_SPIN_LEAD_NS_MAX / 1000 || exact_ns > WS_SPIN_LEAD_NS_MAX)
    return false;
  *ns = exact_ns;
  return true;
}

// Each function for an entry sets what the text asks for.
/// @return false for an invalid text. The setting, and only that, then has the value that the table names
static bool read_spin(ws_settings_t *settings, const char *text)
{
  static const char fixed[] = "fixed:";
  settings->spin = WS_SPIN_OFF;
  if (strcmp(text, "auto") == 0)
    settings->spin = WS_SPIN_AUTO;
  else if (strcmp(text, "hot") == 0)
    settings->spin = WS_SPIN_HOT;
  else if (strncmp(text, fixed, strlen(fixed)) == 0 && read_us(text + strlen(fixed), &settings->spin_lead_ns))
    settings->spin = WS_SPIN_FIXED;
  return settings->spin != WS_SPIN_OFF || strcmp(text, "off") == 0;
}

/// Set *value to the number, or to @p otherwise if @p text is no whole number from @p low to @p high.
/// @return whether it is one
static bool read_whole(const char *text, uint32_t low, uint32_t high, uint32_t otherwise, uint32_t *value)
{
  const size_t digits = strspn(text, DIGITS);
  const unsigned long number = strtoul(text, NULL, 10);
  const bool valid = digits > 0 && !text[digits] && number >= low && number <= high;
  *value = valid ? (uint32_t)number : otherwise;
  return valid;
}

static bool read_spin_cpu_max(ws_settings_t *settings, const char *text)
{
  return read_whole(text, 0, 100, 0, &settings->spin_cpu_max_percent); // 0 also if another entry turns it on
}

static bool read_deadline(ws_settings_t *settings, const char *text)
{
  settings->deadline_ns = strcmp(text, "auto") == 0 ? WS_DEADLINE_AUTO : 0;
  return settings->deadline_ns != 0 || (read_us(text, &settings->deadline_ns) && settings->deadline_ns > 0);
}

static bool read_record_mb(ws_settings_t *settings, const char *text)
{
  return read_whole(text, 1, WS_RECORD_MB_MAX, WS_RECORD_MB, &settings->record_mb);
}

static bool read_record(ws_settings_t *settings, const char *text)
{
  snprintf(settings->record, sizeof(settings->record), "%s", text);
  return *text != '\0';
}

/// All settings that have a text, for the call, the list and the environment.
typedef struct {
  const char *name; ///< in the environment in capitals, after PREFIX
  bool (*read)(ws_settings_t *settings, const char *text); ///< NULL = a bool
  const char *valid, *otherwise; ///< which texts are valid; what holds after an invalid one
  bool about_spin; ///< an invalid text turns pre-wake off, whatever other entries say
  size_t at; ///< of a bool: its offset in the settings
  bool is_otherwise; ///< of a bool: its value after an invalid text
} entry_t;
static const entry_t entries[] = {
    {"spin", read_spin, "off, auto, hot, fixed:<us> with 0 to 10000", "pre-wake is off", true, 0, false},
    {"spin_cpu_max", read_spin_cpu_max, "percent, a whole number, 0 to 100", "pre-wake is off", true, 0,
     false},
    {"report", NULL, "0, 1", "no report is printed", false, offsetof(ws_settings_t, report), false},
    {"keep_affinity", NULL, "0, 1", "workers keep their affinity", false,
     offsetof(ws_settings_t, keep_affinity), true},
    {"live", NULL, "0, 1", "tpool-ws does not see the pool", false, offsetof(ws_settings_t, live), false},
    {"deadline_us", read_deadline, "auto, or us, 0.001 to 10000", "there is no deadline", false, 0, false},
    {"record_mb", read_record_mb, "MiB, a whole number, 1 to 65536", "records have 64 MiB", false, 0, false},
    {"record", read_record, "a folder, of less than 256 characters", "there is no record", false, 0, false},
};
#define KNOWN "spin=, spin_cpu_max=, report=, keep_affinity=, live=, deadline_us=, record=, record_mb="
#define ELSEWHERE PREFIX "TRACE=" ///< read by trace/ws_probe.c

/// @return the entry with the name @p word; if @p mistyped, also one whose name @p word begins with; NULL =
///         there is none
static const entry_t *find_entry(word_t word, bool mistyped)
{
  char name[TEXT];
  copy_word(name, word, true);
  for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
    const size_t length = strlen(entries[i].name);
    if (strncmp(name, entries[i].name, length) == 0 && (mistyped || !name[length]))
      return &entries[i];
  }
  return NULL;
}

/// As entry_t.read, for 0 and 1.
static bool read_bool(const entry_t *entry, ws_settings_t *settings, const char *text)
{
  const bool is_on = strcmp(text, "1") == 0, valid = is_on || strcmp(text, "0") == 0;
  *(bool *)((char *)settings + entry->at) = valid ? is_on : entry->is_otherwise;
  return valid;
}

/// Entries that are applied together.
typedef struct {
  ws_settings_t *settings;
  bool spin_invalid; ///< pre-wake stays off, also if a later entry is valid
} batch_t;

/// Apply an entry. If it is about pre-wake and invalid, spin stays off for the whole batch.
/// @param word  its text: in any case, but for that of record. @param place  where it stands, and the text
/// @param valid  which texts are valid there
/// @return 0; -EINVAL, with a warning: the text is invalid
static int apply(batch_t *batch, const entry_t *entry, word_t word, const char *place, const char *valid)
{
  char text[TEXT];
  const bool whole = copy_word(text, trimmed(word), entry->read != read_record);
  const char *read = whole ? text : "";
  const bool good =
      entry->read ? entry->read(batch->settings, read) : read_bool(entry, batch->settings, read);
  batch->spin_invalid |= entry->about_spin && !good;
  if (batch->spin_invalid)
    batch->settings->spin = WS_SPIN_OFF;
  if (!good)
    ws_warn(batch->settings, "%s: invalid (valid: %s); %s", place, valid, entry->otherwise);
  return good ? 0 : -EINVAL;
}

/// @param name  @p length characters: the variable, or the entry
static int apply_text(batch_t *batch, const entry_t *entry, const char *name, size_t length, const char *text)
{
  char place[PLACE];
  snprintf(place, sizeof(place), "%.*s=\"%.*s\"", (int)length, name, SHOWN, text);
  return apply(batch, entry, (word_t){text, text + strlen(text)}, place, entry->valid);
}

int ws_settings_entry(ws_settings_t *settings, const char *name, const char *text)
{
  name = name ? name : "";
  const size_t length = strlen(name);
  const entry_t *entry = settings ? find_entry((word_t){name, name + length}, false) : NULL;
  if (entry)
    return apply_text(&(batch_t){settings, false}, entry, name, length, text ? text : "");
  if (settings)
    ws_warn(settings, "\"%.*s\": unknown setting, ignored (known: %s)", SHOWN, name, KNOWN);
  return -EINVAL;
}

int ws_settings_spin_text(ws_settings_t *settings, const char *text)
{
  return ws_settings_entry(settings, "spin", text);
}

int ws_settings_spin_cpu_max_text(ws_settings_t *settings, const char *text)
{
  return ws_settings_entry(settings, "spin_cpu_max", text);
}

/// @return 0; -EINVAL, with a warning: its text is invalid, or @p word only begins with the name of a
///         setting; -ENOENT: @p word is no setting
static int apply_listed(batch_t *batch, word_t word, const char *place)
{
  const char *equals = memchr(word.begin, '=', (size_t)(word.end - word.begin));
  const entry_t *named = equals ? find_entry(trimmed((word_t){word.begin, equals}), false) : NULL;
  const entry_t *entry = named ? named : find_entry(word, true);
  const word_t value = {named ? equals + 1 : word.end, word.end}; // of a mistyped name: empty, so invalid
  return entry ? apply(batch, entry, value, place, named ? entry->valid : KNOWN) : -ENOENT;
}

int ws_settings_list(ws_settings_t *settings, const char *text, ws_settings_other_t other, void *other_arg)
{
  batch_t batch = {settings, false};
  int result = settings && text ? 0 : -EINVAL;
  for (uint32_t position = 1; settings && text; position++) {
    const char *end = text + strcspn(text, ",");
    const word_t word = trimmed((word_t){text, end});
    const size_t length = (size_t)(word.end - word.begin);
    char place[PLACE];
    snprintf(place, sizeof(place), "entry %u \"%.*s\"", position, length < SHOWN ? (int)length : SHOWN,
             word.begin);
    const int applied = length > 0 ? apply_listed(&batch, word, place) : 0;
    const char *error = NULL;
    if (applied == -ENOENT)
      error = other ? other(other_arg, position, word.begin, length) : "is no setting (known: " KNOWN ")";
    if (error)
      ws_warn(settings, "%s %s", place, error);
    if (applied == -EINVAL || error)
      result = -EINVAL;
    text = *end ? end + 1 : NULL;
  }
  return result;
}

void ws_settings_environment(ws_settings_t *settings)
{
  const size_t prefix = strlen(PREFIX);
  batch_t batch = {settings, false};
  char **next = settings ? environ : NULL;
  for (; next && *next; next++) {
    const char *name = *next, *equals = name + strcspn(name, "=");
    if (strncmp(name, PREFIX, prefix) != 0 || strncmp(name, ELSEWHERE, sizeof(ELSEWHERE) - 1) == 0
        || ws_variable_is_refused(settings, name))
      continue;
    const entry_t *entry = find_entry((word_t){name + prefix, equals}, false);
    const size_t length = (size_t)(equals - name);
    if (!entry) // without a warning it would have no effect, silently
      ws_warn(settings, "%.*s: unknown environment variable, ignored (known, in capitals: " KNOWN ", trace=)",
              length < SHOWN ? (int)length : SHOWN, name);
    else if (*equals && equals[1])
      apply_text(&batch, entry, name, length, equals + 1);
  }
}
