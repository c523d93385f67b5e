// SPDX-License-Identifier: BSD-3-Clause
#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/utils/thread_pool_ws/include/ws_version.h"

static bool parse_number(const char *text, const word_key_t *key, void *field)
{
  char *end;
  errno = 0;
  const int64_t value = strtoll(text, &end, 10);
  const int32_t narrow = (int32_t)value;
  if (errno != 0 || end == text || *end != '\0' || value < key->min || value > key->max)
    return false;
  memcpy(field, key->size == sizeof value ? (const void *)&value : (const void *)&narrow, key->size);
  return true;
}

static bool parse_seconds(const char *text, double *seconds)
{
  char *end;
  *seconds = strtod(text, &end);
  return end != text && *end == '\0' && *seconds > 0 && *seconds <= 1e6;
}

static bool parse_name(const char *text, const char *const *names, int32_t *field)
{
  for (*field = 0; names[*field]; (*field)++)
    if (strcmp(text, names[*field]) == 0)
      return true;
  return false;
}

static bool parse_value(const word_key_t *key, const char *value, void *target)
{
  void *const field = (char *)target + key->offset;
  switch (key->kind) {
    case KEY_NUMBER:
      return parse_number(value, key, field);
    case KEY_SECONDS:
      return parse_seconds(value, field);
    case KEY_NAME:
      return parse_name(value, key->names, field);
    case KEY_TEXT:
      return (size_t)snprintf(field, key->size, "%s", value) < key->size;
    case KEY_FUNC:
      return key->parse(value, field);
  }
  return false;
}

bool words_parse(char *line, const word_key_t *keys, void *target, report_t *report)
{
  char *rest = NULL;
  for (char *word = strtok_r(line, "\t\n", &rest); word; word = strtok_r(NULL, "\t\n", &rest)) {
    char *const equals = strchr(word, '=');
    const char *const value = equals ? equals + 1 : "";
    if (equals)
      *equals = '\0';
    const word_key_t *key = keys;
    while (key->key && strcmp(word, key->key) != 0)
      key++;
    if (!equals || !key->key || !parse_value(key, value, target)) {
      report_error(report, "request: '%s' with value '%s' is not understood", word, value);
      return false;
    }
  }
  return true;
}

/// @param usage  begins with "usage: " and the program's name
_Noreturn static void print_version(const char *usage)
{
  const char *name = usage + strlen("usage: ");
  printf("%.*s %d.%d.%d\n", (int)strcspn(name, " "), name, WS_VERSION_MAJOR, WS_VERSION_MINOR,
         WS_VERSION_PATCH);
  exit(EXIT_SUCCESS);
}

void words_join(int argc, char **argv, const char *usage, char line[WORDS_CHARS_MAX])
{
  size_t length = 0;
  line[0] = '\0';
  if (argc > 1 && argv[1][0] == '-') {
    if (strcmp(argv[1], "--version") == 0)
      print_version(usage);
    const bool asked = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    fputs(usage, asked ? stdout : stderr);
    exit(asked ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  for (int i = 1; i < argc && length < WORDS_CHARS_MAX; i++)
    length += (size_t)snprintf(line + length, WORDS_CHARS_MAX - length, "%s\t", argv[i]);
}

void words_take(int argc, char **argv, const char *usage, const word_key_t *keys, void *target)
{
  static report_t report;
  char line[WORDS_CHARS_MAX];
  words_join(argc, argv, usage, line);
  if (words_parse(line, keys, target, &report))
    return;
  report_print(&report);
  exit(EXIT_FAILURE);
}
