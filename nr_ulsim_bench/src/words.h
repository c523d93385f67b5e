// SPDX-License-Identifier: BSD-3-Clause
/// @file words.h
/// Requests in words `key=value`: a table of keys says where each value goes and what it may be.
#ifndef BENCH_WORDS_H
#define BENCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// How the value of a key is read, and where it goes.
typedef struct {
  const char *key;
  enum { KEY_U32, KEY_U64, KEY_NAME, KEY_TEXT, KEY_FUNC } kind;
  size_t offset; ///< of the field in the target
  uint64_t max; ///< of a number; bytes of a text
  const char *const *names; ///< values of an enumeration of 32 bits, in its order
  bool (*parse)(const char *text, void *target);
} word_key_t;

#define WORD_NUMBER(type, field, most)                                                                       \
  .kind = sizeof((type){0}.field) == 8 ? KEY_U64 : KEY_U32, .offset = offsetof(type, field), .max = (most)
#define WORD_TEXT(type, field)                                                                               \
  .kind = KEY_TEXT, .offset = offsetof(type, field), .max = sizeof((type){0}.field)
#define WORD_ONE_OF(type, field, ...)                                                                        \
  .kind = KEY_NAME, .offset = offsetof(type, field), .names = (const char *const[])                          \
  {                                                                                                          \
    __VA_ARGS__, NULL                                                                                        \
  }

/// @brief Put @p value where the table says.
/// @return false when the table has no such key, or the value is out of its range
bool word_parse(const word_key_t *keys, uint32_t key_count, const char *key, const char *value, void *target);

/// @brief Call @p parse for each word.
/// @param line   words separated by tabs, so that a path may hold blanks; cut to pieces
/// @param error  out, text for the user when false is returned
bool words_parse(char *line, bool (*parse)(const char *key, const char *value, void *target), void *target,
                 char *error, uint32_t error_size);

/// @brief Print the usage if the command line asks for it, has an option, or has no words though the program
/// needs some. @return the program's exit status; -1 = go on
int words_usage(int argc, char **argv, bool needs_words, const char *usage);

/// @brief The words of a command line as one line for words_parse(), cut where it does not fit.
void words_join(int argc, char **argv, char *line, uint32_t size);

#endif
