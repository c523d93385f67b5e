// SPDX-License-Identifier: BSD-3-Clause
/// @file scene_value.c
/// scene_value.h.
#include "scene_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/ws_stats.h"
#include "scene.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int64_t scene_number(const char *text)
{
  static const struct {
    const char *text;
    int64_t value;
  } named[] = {{"-EAGAIN", -EAGAIN},       {"-EALREADY", -EALREADY}, {"-EBUSY", -EBUSY},
               {"-ECANCELED", -ECANCELED}, {"-EDEADLK", -EDEADLK},   {"-EINVAL", -EINVAL},
               {"-ETIMEDOUT", -ETIMEDOUT}, {"-EMFILE", -EMFILE},     {"-ENOMEM", -ENOMEM},
               {"off", WS_SPIN_OFF},       {"fixed", WS_SPIN_FIXED}, {"auto", WS_SPIN_AUTO},
               {"hot", WS_SPIN_HOT},       {"grow", WS_FULL_GROW},   {"inline", WS_FULL_INLINE},
               {"fail", WS_FULL_FAIL}};
  for (uint32_t i = 0; i < COUNT(named); i++)
    if (strcmp(text, named[i].text) == 0)
      return named[i].value;
  char *unit;
  const int64_t number = strtoll(text, &unit, 10);
  if (unit == text || (*unit && strcmp(unit, "us") != 0 && strcmp(unit, "ms") != 0 && strcmp(unit, "s") != 0))
    scene_fail("\"%s\" is no number", text);
  return number
         * (strcmp(unit, "us") == 0   ? 1000
            : strcmp(unit, "ms") == 0 ? 1000000
            : strcmp(unit, "s") == 0  ? 1000000000
                                      : 1);
}

bool scene_setting(ws_settings_t *settings, const char *word)
{
#define SETTING(name)                                                                                        \
  {                                                                                                          \
#name, offsetof(ws_settings_t, name), sizeof(settings->name)                                             \
  }
  static const struct {
    const char *name;
    size_t offset, bytes;
  } known[] = {SETTING(workers),     SETTING(lanes),           SETTING(full),           SETTING(spin),
               SETTING(fifo),        SETTING(reserve),         SETTING(queue_capacity), SETTING(pin_step),
               SETTING(spin_ns_max), SETTING(join_spin_ns_max)};
  const size_t length = strcspn(word, "=");
  for (uint32_t i = 0; i < COUNT(known); i++) {
    if (strlen(known[i].name) != length || strncmp(word, known[i].name, length) != 0)
      continue;
    const int64_t value = scene_number(word + length + 1); // little-endian, as all machines of the tests are
    memcpy((char *)settings + known[i].offset, &value, known[i].bytes);
    return true;
  }
  return false;
}

typedef struct {
  const char *name;
  size_t offset, bytes;
  bool of_worker;
} counter_t;

/// All counters of a pool at one time.
typedef struct {
  ws_stats_t total;
  ws_worker_stats_t worker[128];
  uint32_t filled;
} counted_t;

static counted_t noted;

static void read_counters(ws_pool_t *pool, counted_t *counted)
{
  counted->filled = ws_pool_stats(pool, &counted->total, counted->worker, COUNT(counted->worker));
}

void scene_note(ws_pool_t *pool)
{
  read_counters(pool, &noted);
}

static int64_t read_counter(const counter_t *counter, const void *stats)
{
  uint64_t value = 0;
  memcpy(&value, (const char *)stats + counter->offset, counter->bytes);
  return (int64_t)value;
}

static int64_t sum(const counter_t *counter, const counted_t *counted)
{
  if (!counter->of_worker)
    return read_counter(counter, &counted->total);
  int64_t count = read_counter(counter, &counted->total.outside);
  for (uint32_t w = 0; w < counted->filled; w++)
    count += read_counter(counter, &counted->worker[w]);
  return count;
}

bool scene_counter(ws_pool_t *pool, const char *name, bool more, int64_t *count)
{
#define TOTAL(name)                                                                                          \
  {                                                                                                          \
#name, offsetof(ws_stats_t, name), sizeof(((ws_stats_t *)0)->name), false                                \
  }
#define WORKER(name)                                                                                         \
  {                                                                                                          \
#name, offsetof(ws_worker_stats_t, name), sizeof(((ws_worker_stats_t *)0)->name), true                   \
  }
  static const counter_t known[] = {TOTAL(workers),           TOTAL(workers_active), TOTAL(workers_awake),
                                    TOTAL(lanes_used),        TOTAL(queued_tasks),   TOTAL(queue_bytes),
                                    TOTAL(cancelled_tasks),   TOTAL(skipped_tasks),  TOTAL(guard_looks),
                                    TOTAL(starved_searches),  TOTAL(spared_wakes),   WORKER(run_tasks),
                                    WORKER(stolen_tasks),     WORKER(inline_tasks),  WORKER(parks),
                                    WORKER(wakes_sent),       WORKER(spins),         WORKER(growths),
                                    WORKER(high_water_tasks), WORKER(futile_wakes)};
  counted_t now;
  read_counters(pool, &now);
  for (uint32_t i = 0; i < COUNT(known); i++) {
    if (strcmp(name, known[i].name) != 0)
      continue;
    *count = sum(&known[i], &now) - (more ? sum(&known[i], &noted) : 0);
    return true;
  }
  return false;
}
