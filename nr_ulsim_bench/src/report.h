// SPDX-License-Identifier: BSD-3-Clause
/// @file report.h
/// The answer to a request: the inside of one JSON object, built up field by field.
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#define REPORT_CHARS_MAX 32768

typedef struct {
  char text[REPORT_CHARS_MAX];
  uint32_t length;
} report_t;

void report_number(report_t *report, const char *key, double value);
/// @brief An array.
void report_numbers(report_t *report, const char *key, const double *values, uint32_t count);
void report_count(report_t *report, const char *key, uint64_t value);
void report_bool(report_t *report, const char *key, bool value);
void report_text(report_t *report, const char *key, const char *value);

/// @brief Drop what was reported and report why there is no result.
__attribute__((format(printf, 2, 3))) void report_error(report_t *report, const char *format, ...);

/// @brief Print the answer as one line of JSON, and empty it. @return whether it had a result
bool report_print(report_t *report);

/// @brief Report <prefix>_p50_us, _p99_us, _p999_us and _max_us.
/// @param values_ns  sorted by the call
void report_percentiles(report_t *report, const char *prefix, uint64_t *values_ns, uint32_t count);

/// @brief Report how often each value came, as an array of pairs: the largest value of a bin in ns, and how
/// many values are in it. A bin holds values that differ by less than 1.6 %; empty ones are left out.
/// @param values_ns  sorted by the call
void report_histogram(report_t *report, const char *key, uint64_t *values_ns, uint32_t count);

/// @return the nearest-rank percentile, in µs
/// @param values_ns  sorted by the call
/// @param count      at least 1
double percentile_us(uint64_t *values_ns, uint32_t count, double percent);

#endif
