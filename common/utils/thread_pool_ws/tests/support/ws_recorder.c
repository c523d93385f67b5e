// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_recorder.c
/// ws_recorder.h.
#include "ws_recorder.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/ws_atomic.h"

#define RECORDED_MAX 16384u

static struct {
  ws_au64_t count; ///< entries taken; a later one may be complete before
  recorded_t entry[RECORDED_MAX];
  ws_au32_t complete[RECORDED_MAX];
  void (*look)(const recorded_t *recorded);
} record;

void recorder_begin(void (*look)(const recorded_t *recorded))
{
  memset(&record, 0, sizeof(record));
  record.look = look;
}

void recorder_note(const char *event, const recorder_field_t fields[RECORDER_FIELDS_MAX])
{
  const uint64_t index = ws_add_acq_rel(&record.count, 1);
  if (index >= RECORDED_MAX) {
    fprintf(stderr, "the record is full\n");
    abort();
  }
  recorded_t *recorded = &record.entry[index];
  recorded->event = event;
  recorded->thread = pthread_self();
  for (uint32_t i = 0; i < RECORDER_FIELDS_MAX; i++) {
    recorded->field[i] = fields[i].number;
    if (fields[i].text)
      snprintf(recorded->text, sizeof(recorded->text), "%s", fields[i].text);
  }
  ws_store_release(&record.complete[index], 1);
  if (record.look)
    record.look(recorded);
}

const recorded_t *recorder_next(const recorded_t *after, const char *event)
{
  const uint64_t count = ws_load_acquire(&record.count);
  for (uint64_t i = after ? (uint64_t)(after - record.entry) + 1 : 0; i < count; i++) {
    while (!ws_load_acquire(&record.complete[i]))
      sched_yield(); // its thread is in the middle of it
    if (strcmp(record.entry[i].event, event) == 0)
      return &record.entry[i];
  }
  return NULL;
}

static const recorded_t *next_with(const recorded_t *after, const char *event, uint32_t field, int64_t value)
{
  do
    after = recorder_next(after, event);
  while (after && after->field[field] != value);
  return after;
}

const recorded_t *recorder_find(const char *event, uint32_t field, int64_t value)
{
  return next_with(NULL, event, field, value);
}

uint32_t recorder_count(const char *event)
{
  uint32_t count = 0;
  for (const recorded_t *it = NULL; (it = recorder_next(it, event));)
    count++;
  return count;
}

uint32_t recorder_count_with(const char *event, uint32_t field, int64_t value)
{
  uint32_t count = 0;
  for (const recorded_t *it = NULL; (it = next_with(it, event, field, value));)
    count++;
  return count;
}

bool recorder_is(const recorded_t *recorded, const int64_t fields[RECORDER_FIELDS_MAX])
{
  return recorded && memcmp(recorded->field, fields, sizeof(recorded->field)) == 0;
}
