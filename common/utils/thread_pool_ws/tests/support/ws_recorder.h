// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_recorder.h
/// The events of the core, kept for a test. The core's sources that include trace/ws_probe.h or ws_traced.h
/// are compiled once more with this header before all others (-include): its WS_PROBE takes the place of
/// theirs, so each event, with its fields, becomes an entry of one record. No LTTng is needed, and
/// nothing else of the core is different. No header of the core includes these two, so no file is missed.
///
/// The record is one array; an entry's index is taken by one atomic addition. So entries stand in an order
/// that all threads agree on, and of two entries of one thread the first is the lower.
#ifndef WS_RECORDER_H
#define WS_RECORDER_H

#ifndef _GNU_SOURCE // what some core files define before their first include: here it is too late for them
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../trace/ws_probe.h"

#define RECORDER_FIELDS_MAX 5

/// A field of an event: a number, or a text.
typedef struct {
  int64_t number;
  const char *text;
} recorder_field_t;

static inline recorder_field_t recorder_number(int64_t number)
{
  return (recorder_field_t){.number = number};
}

static inline recorder_field_t recorder_text(const char *text)
{
  return (recorder_field_t){.text = text ? text : "no text at all"};
}

#define RECORDER_FIELD(x) _Generic((x), const char * : recorder_text, default : recorder_number)(x)
#define RECORDER_1(a) RECORDER_FIELD(a)
#define RECORDER_2(a, ...) RECORDER_FIELD(a), RECORDER_1(__VA_ARGS__)
#define RECORDER_3(a, ...) RECORDER_FIELD(a), RECORDER_2(__VA_ARGS__)
#define RECORDER_4(a, ...) RECORDER_FIELD(a), RECORDER_3(__VA_ARGS__)
#define RECORDER_5(a, ...) RECORDER_FIELD(a), RECORDER_4(__VA_ARGS__)
#define RECORDER_PICK(a, b, c, d, e, map, ...) map
#define RECORDER_MAP(...)                                                                                    \
  RECORDER_PICK(__VA_ARGS__, RECORDER_5, RECORDER_4, RECORDER_3, RECORDER_2, RECORDER_1, )(__VA_ARGS__)

#undef WS_PROBE
#undef WS_PROBE_SEEN
#define WS_PROBE(event, of, ...)                                                                             \
  recorder_note(#event, (const recorder_field_t[RECORDER_FIELDS_MAX]){RECORDER_MAP(__VA_ARGS__)})
#define WS_PROBE_SEEN() true

/// Where a field stands in its events (trace/ws_tp.h).
enum { F_POOL, F_WORKER, F_FUNC, F_ARG, F_GROUP };
enum { F_END_ARG = 2, F_VICTIM = 2, F_BY = 2, F_HOW = 2, F_JOINED = 2, F_COMPLETED = 0, F_UNITS = 1 };

/// Fields that an event does not have are 0.
typedef struct {
  const char *event;
  pthread_t thread;
  int64_t field[RECORDER_FIELDS_MAX];
  char text[16]; ///< the field that is a text, cut
} recorded_t;

/// @brief Nothing is recorded yet. The caller must have no pool.
/// @param look  called for each entry from now on, by its thread in the middle of what that does, or NULL
void recorder_begin(void (*look)(const recorded_t *recorded));

/// @brief An entry, of the core or of a test. @threads any
void recorder_note(const char *event, const recorder_field_t fields[RECORDER_FIELDS_MAX]);

/// @return the next entry after @p after, NULL = the first; NULL when there is none. Of two entries the
/// earlier one has the lower address
const recorded_t *recorder_next(const recorded_t *after, const char *event);

/// @return the first entry with a field of that value; NULL when there is none
const recorded_t *recorder_find(const char *event, uint32_t field, int64_t value);

uint32_t recorder_count(const char *event);
uint32_t recorder_count_with(const char *event, uint32_t field, int64_t value);

/// @return whether there is an entry, of those fields; the rest are 0
bool recorder_is(const recorded_t *recorded, const int64_t fields[RECORDER_FIELDS_MAX]);

/// Whether an entry has those fields.
#define RECORDED(recorded, ...) recorder_is((recorded), (const int64_t[RECORDER_FIELDS_MAX]){__VA_ARGS__})
/// A pointer as a field.
#define ADDRESS(pointer) ((int64_t)(uintptr_t)(pointer))

#endif
