// SPDX-License-Identifier: BSD-3-Clause
#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// @return index of @p text in @p names, or -1
static int32_t find_name(const char *text, const char *const *names)
{
  for (int32_t i = 0; names[i]; i++)
    if (strcmp(text, names[i]) == 0)
      return i;
  return -1;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && text[0] != '-' && *value <= max;
}

static bool copy_text(const char *text, char *copy, size_t size)
{
  return (size_t)snprintf(copy, size, "%s", text) < size;
}

static bool parse_value(const word_key_t *key, const char *value, void *target)
{
  void *const field = (char *)target + key->offset;
  uint64_t number;
  switch (key->kind) {
    case KEY_FUNC:
      return key->parse(value, target);
    case KEY_TEXT:
      return copy_text(value, field, key->max);
    case KEY_NAME: {
      const int32_t index = find_name(value, key->names);
      memcpy(field, &index, sizeof index);
      return index >= 0;
    }
    case KEY_U32: {
      const bool good = parse_number(value, key->max, &number);
      const uint32_t narrow = (uint32_t)number;
      memcpy(field, &narrow, sizeof narrow);
      return good;
    }
    case KEY_U64:
      return parse_number(value, key->max, field);
  }
  return false;
}

bool word_parse(const word_key_t *keys, uint32_t key_count, const char *key, const char *value, void *target)
{
  for (uint32_t i = 0; i < key_count; i++)
    if (strcmp(key, keys[i].key) == 0)
      return parse_value(&keys[i], value, target);
  return false;
}

bool words_parse(char *line, bool (*parse)(const char *key, const char *value, void *target), void *target,
                 char *error, uint32_t error_size)
{
  char *rest = NULL;
  for (char *word = strtok_r(line, "\t\n", &rest); word; word = strtok_r(NULL, "\t\n", &rest)) {
    char *const equals = strchr(word, '=');
    if (equals)
      *equals = '\0';
    if (!equals || !parse(word, equals + 1, target)) {
      snprintf(error, error_size, "request: '%s' with value '%s' is not understood", word,
               equals ? equals + 1 : "");
      return false;
    }
  }
  return true;
}

int words_usage(int argc, char **argv, bool needs_words, const char *usage)
{
  const bool has_words = argc > 1 && argv[1][0] != '-';
  if (has_words || (argc < 2 && !needs_words))
    return -1;
  const bool asked = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
  fputs(usage, asked ? stdout : stderr);
  return asked ? EXIT_SUCCESS : EXIT_FAILURE;
}

void words_join(int argc, char **argv, char *line, uint32_t size)
{
  uint32_t length = 0;
  line[0] = '\0';
  for (int i = 1; i < argc && length < size; i++)
    length += (uint32_t)snprintf(line + length, size - length, "%s\t", argv[i]);
}
