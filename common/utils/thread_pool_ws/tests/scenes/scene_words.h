// SPDX-License-Identifier: BSD-3-Clause
/// @file scene_words.h
/// For operations: what the words of a statement say.
#ifndef SCENE_WORDS_H
#define SCENE_WORDS_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h" // IWYU pragma: export
#include "scene_value.h" // IWYU pragma: export

/// @return the word's value, "key" of "key=value"; NULL = the statement has none
static inline const char *option(scene_words_t words, const char *key)
{
  const size_t length = strlen(key);
  for (; *words; words++)
    if (strncmp(*words, key, length) == 0 && (*words)[length] == '=')
      return *words + length + 1;
  return NULL;
}

static inline bool has(scene_words_t words, const char *word)
{
  while (*words && strcmp(*words, word) != 0)
    words++;
  return *words != NULL;
}

/// @return the first number among the words
static inline uint32_t number(scene_words_t words, uint32_t otherwise)
{
  for (; *words && strcmp(*words, "=") != 0; words++)
    if (isdigit((unsigned char)**words))
      return (uint32_t)strtoul(*words, NULL, 10);
  return otherwise;
}

/// A statement's result is what stands behind its "="; without one, @p usual. "= any" allows all.
static inline void expect(scene_words_t words, int64_t result, int64_t usual)
{
  while (*words && strcmp(*words, "=") != 0)
    words++;
  if (*words && strcmp(words[1], "any") == 0)
    return;
  const int64_t wanted = *words ? scene_number(words[1]) : usual;
  if (result != wanted)
    scene_fail("it returned %lld instead of %lld", (long long)result, (long long)wanted);
}

#endif
