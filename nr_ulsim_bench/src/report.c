// SPDX-License-Identifier: BSD-3-Clause
#include "report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Bins of a histogram for each power of two: 2 to the power of this.
#define BIN_BITS 6

__attribute__((format(printf, 2, 3))) static void append(report_t *report, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  const uint32_t room = REPORT_CHARS_MAX - report->length;
  const int32_t wanted = vsnprintf(report->text + report->length, room, format, args);
  va_end(args);
  if (wanted > 0)
    report->length += (uint32_t)wanted < room ? (uint32_t)wanted : room - 1;
}

static void append_key(report_t *report, const char *key)
{
  append(report, "%s\"%s\":", report->length ? "," : "", key);
}

void report_number(report_t *report, const char *key, double value)
{
  append_key(report, key);
  append(report, "%.9g", value);
}

void report_numbers(report_t *report, const char *key, const double *values, uint32_t count)
{
  append_key(report, key);
  for (uint32_t i = 0; i < count; i++)
    append(report, "%s%.5g", i ? "," : "[", values[i]);
  append(report, "%s]", count ? "" : "[");
}

void report_count(report_t *report, const char *key, uint64_t value)
{
  append_key(report, key);
  append(report, "%llu", (unsigned long long)value);
}

void report_bool(report_t *report, const char *key, bool value)
{
  append_key(report, key);
  append(report, "%s", value ? "true" : "false");
}

void report_text(report_t *report, const char *key, const char *value)
{
  append_key(report, key);
  append(report, "\"");
  for (; *value; value++) {
    const char *const escape = *value == '"' || *value == '\\' ? "\\" : "";
    append(report, "%s%c", escape, (unsigned char)*value < ' ' ? ' ' : *value);
  }
  append(report, "\"");
}

void report_error(report_t *report, const char *format, ...)
{
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  report->length = 0;
  report_text(report, "error", text);
}

bool report_print(report_t *report)
{
  const bool good = strncmp(report->text, "\"error\"", 7) != 0;
  printf("{%.*s}\n", (int)report->length, report->text);
  fflush(stdout);
  report->length = 0;
  return good;
}

static int compare_u64(const void *left, const void *right)
{
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static void sort(uint64_t *values_ns, uint32_t count)
{
  qsort(values_ns, count, sizeof values_ns[0], compare_u64);
}

double percentile_us(uint64_t *values_ns, uint32_t count, double percent)
{
  sort(values_ns, count);
  const uint32_t rank = (uint32_t)ceil(percent / 100 * count);
  return (double)values_ns[rank > 0 ? rank - 1 : 0] * 1e-3;
}

void report_percentiles(report_t *report, const char *prefix, uint64_t *values_ns, uint32_t count)
{
  static const struct {
    const char *suffix;
    double percent;
  } wanted[] = {{"p50", 50}, {"p99", 99}, {"p999", 99.9}, {"max", 100}};
  for (uint32_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    char key[64];
    snprintf(key, sizeof key, "%s%s%s_us", prefix, *prefix ? "_" : "", wanted[i].suffix);
    report_number(report, key, percentile_us(values_ns, count, wanted[i].percent));
  }
}

/// @return the largest value in the bin of @p value
static uint64_t bin_end(uint64_t value)
{
  const int32_t bits = 64 - __builtin_clzll(value | 1);
  const int32_t below = bits > BIN_BITS + 1 ? bits - BIN_BITS - 1 : 0;
  return value | ((UINT64_C(1) << below) - 1);
}

void report_histogram(report_t *report, const char *key, uint64_t *values_ns, uint32_t count)
{
  sort(values_ns, count);
  append_key(report, key);
  append(report, "[");
  for (uint32_t first = 0, end; first < count; first = end) {
    const uint64_t last_ns = bin_end(values_ns[first]);
    for (end = first + 1; end < count && values_ns[end] <= last_ns; end++)
      ;
    append(report, "%s%llu,%u", first ? "," : "", (unsigned long long)last_ns, end - first);
  }
  append(report, "]");
}
