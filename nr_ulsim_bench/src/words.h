// SPDX-License-Identifier: BSD-3-Clause
/// @file words.h
/// Requests in words `key=value`: a table of keys says where each value goes and what it may be.
#ifndef BENCH_WORDS_H
#define BENCH_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report.h" // IWYU pragma: export

#define WORDS_CHARS_MAX 4096

/// How the value of a key is read, and where it goes.
typedef struct {
  const char *key; ///< NULL = end of the table
  enum { KEY_NUMBER, KEY_SECONDS, KEY_NAME, KEY_TEXT, KEY_FUNC } kind;
  size_t offset, size; ///< of the field in the target
  int64_t min, max; ///< of a number
  const char *const *names; ///< values of an enumeration of 32 bits, in its order
  bool (*parse)(const char *text, void *field);
} word_key_t;

#define WORD_FIELD(type, field) .offset = offsetof(type, field), .size = sizeof((type){0}.field)
#define WORD_NUMBER(type, field, least, most)                                                                \
  .kind = KEY_NUMBER, WORD_FIELD(type, field), .min = (least), .max = (most)
#define WORD_TEXT(type, field) .kind = KEY_TEXT, WORD_FIELD(type, field)
#define WORD_FUNC(type, field, func) .kind = KEY_FUNC, WORD_FIELD(type, field), .parse = (func)
#define WORD_ONE_OF(type, field, ...)                                                                        \
  .kind = KEY_NAME, WORD_FIELD(type, field), .names = (const char *const[])                                  \
  {                                                                                                          \
    __VA_ARGS__, NULL                                                                                        \
  }

/// @brief Put the value of each word where the table says.
/// @param line  words separated by tabs, so that a path may hold blanks; cut to pieces
/// @return false after report_error()
bool words_parse(char *line, const word_key_t *keys, void *target, report_t *report);

/// @brief The words of a command line as a line for words_parse(), cut where it does not fit. Where it asks
/// for the version (--version) or the usage, or has another option, the process prints that and ends.
void words_join(int argc, char **argv, const char *usage, char line[WORDS_CHARS_MAX]);

/// @brief Both for a program that gets one request. Where a word is not understood, it prints the report and
/// ends.
void words_take(int argc, char **argv, const char *usage, const word_key_t *keys, void *target);

#endif
