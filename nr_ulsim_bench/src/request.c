// SPDX-License-Identifier: BSD-3-Clause
#include "request.h"

#include <errno.h>
#include <stddef.h>
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

/// "12x6+22x28": bursts of tasks x µs.
static bool parse_bursts(const char *text, request_t *request)
{
  request->burst_count = 0;
  while (request->burst_count < REQUEST_BURSTS_MAX) {
    uint32_t tasks, work_us;
    int used;
    if (sscanf(text, "%ux%u%n", &tasks, &work_us, &used) != 2 || tasks == 0 || tasks > 100000 ||
        work_us > 1000000)
      return false;
    request->bursts[request->burst_count++] = (burst_t){.tasks = tasks, .work_ns = work_us * UINT64_C(1000)};
    text += used;
    if (*text == '\0')
      return true;
    if (*text++ != '+')
      return false;
  }
  return false;
}

static bool parse_limit(const char *text, request_t *request)
{
  char *end;
  request->limit_s = strtod(text, &end);
  return end != text && *end == '\0' && request->limit_s > 0 && request->limit_s <= 3600;
}

static bool parse_env(const char *text, request_t *request)
{
  return request->env_count < REQUEST_ENV_MAX && strchr(text, '=') &&
         copy_text(text, request->env[request->env_count++], REQUEST_PATH_CHARS);
}

/// How the value of a key is read, and where it goes.
typedef struct {
  const char *key;
  enum { KEY_U32, KEY_U64, KEY_NAME, KEY_TEXT, KEY_FUNC } kind;
  size_t offset;            ///< of the field in request_t
  uint64_t max;             ///< of a number; bytes of a text
  const char *const *names; ///< values of an enumeration, in its order
  bool (*parse)(const char *text, request_t *request);
} request_key_t;

#define NUMBER(field, most)                                                                                  \
  .kind = sizeof((request_t){0}.field) == 8 ? KEY_U64 : KEY_U32, .offset = offsetof(request_t, field),       \
  .max = (most)
#define TEXT(field)                                                                                          \
  .kind = KEY_TEXT, .offset = offsetof(request_t, field), .max = sizeof((request_t){0}.field)
#define ONE_OF(field, ...)                                                                                   \
  .kind = KEY_NAME, .offset = offsetof(request_t, field), .names = (const char *const[])                     \
  {                                                                                                          \
    __VA_ARGS__, NULL                                                                                        \
  }

_Static_assert(sizeof(bench_t) == 4 && sizeof(class_t) == 4 && sizeof(work_t) == 4,
               "enumerations are written as 32 bits");

static const request_key_t keys[] = {
    {"bench", ONE_OF(bench, "slot", "replay", "coliseum", "wake", "idle", "calibrate", "info")},
    {"backend", TEXT(backend)},
    {"workers", NUMBER(workers, 1024)},
    {"class", ONE_OF(sched_class, "other", "rr", "rrall")},
    {"mode", ONE_OF(mode, "default", "hot")},
    {"hog", NUMBER(hogs, REQUEST_HOGS_MAX)},
    {"limit_s", .kind = KEY_FUNC, .parse = parse_limit},
    {"env", .kind = KEY_FUNC, .parse = parse_env},
    {"bursts", .kind = KEY_FUNC, .parse = parse_bursts},
    {"period_us", NUMBER(period_us, 10000000)},
    {"slots", NUMBER(slots, 1000000)},
    {"warm", NUMBER(warm_slots, 1000000)},
    {"file", TEXT(file)},
    {"work", ONE_OF(work, "empty", "fib19", "fib17-19", "fib19x1-3", "nested")},
    {"tasks", NUMBER(tasks, 100000000)},
    {"idle_us", NUMBER(idle_us, 10000000)},
};

static bool parse_value(const request_key_t *key, const char *value, request_t *request)
{
  void *const field = (char *)request + key->offset;
  uint64_t number;
  switch (key->kind) {
    case KEY_FUNC:
      return key->parse(value, request);
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

static bool parse_word(const char *key, const char *value, request_t *request)
{
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (strcmp(key, keys[i].key) == 0)
      return parse_value(&keys[i], value, request);
  return false;
}

bool request_parse(char *line, request_t *request, char *error, uint32_t error_size)
{
  *request =
      (request_t){.bench = BENCH_INFO, .limit_s = 10.0, .slots = 100, .warm_slots = 10, .period_us = 500};
  char *rest = NULL;
  for (char *word = strtok_r(line, "\t\n", &rest); word; word = strtok_r(NULL, "\t\n", &rest)) {
    char *const equals = strchr(word, '=');
    if (equals)
      *equals = '\0';
    if (!equals || !parse_word(word, equals + 1, request)) {
      snprintf(error, error_size, "request: '%s' with value '%s' is not understood", word,
               equals ? equals + 1 : "");
      return false;
    }
  }
  if (request->bench == BENCH_SLOT && request->burst_count == 0) {
    snprintf(error, error_size, "request: bench=slot needs bursts=NxD, for example bursts=12x6+22x28");
    return false;
  }
  if (request->slots == 0 || (request->bench == BENCH_COLISEUM && request->tasks == 0)) {
    snprintf(error, error_size, "request: slots and tasks must be at least 1");
    return false;
  }
  return true;
}
