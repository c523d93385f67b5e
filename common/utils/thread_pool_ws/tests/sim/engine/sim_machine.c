// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_machine.c
/// sim_machine.h.
#include "sim_machine.h"

#include <stdlib.h>
#include <string.h>

#include "sim_random.h"

sim_machine_t sim_machine;
uint64_t sim_random_state = 1;

void sim_machine_default(void)
{
  const sim_spread_t wake = {{2000, 2500, 3000, 4000, 6000, 12000}};
  sim_machine = (sim_machine_t){
      .cpus = 2,
      .smt = 1,
      .llc_cpus = SIM_CPUS_MAX,
      .node_cpus = SIM_CPUS_MAX,
      .local_ns = 1,
      .modify_ns = 5,
      .smt_ns = 5,
      .llc_ns = 50,
      .node_ns = 90,
      .far_ns = 130,
      .fence_ns = 8,
      .pause_ns = 20,
      .clock_ns = 25,
      .syscall_ns = 200,
      .wake_busy_ns = 700,
      .switch_ns = 1200,
      .migrate_ns = 1500,
      .create_ns = 15000,
      .smt_slowdown = 1.5,
      .slice_us = 3000,
      .granularity_us = 1000,
      .tick_us = 4000,
      .call = {.count = 1, .spread = {{{2000, 2000, 2000, 2000, 2000, 2000}}}},
      .wake = {.count = 1, .spread = {wake}},
      .timer = {.count = 1, .spread = {wake}},
  };
}

/// @return the text behind the numbers; NULL = these are not SIM_QUANTILES numbers
static const char *read_spread(const char *text, sim_spread_t *spread)
{
  for (uint32_t i = 0; i < SIM_QUANTILES; i++) {
    char *end;
    spread->ns[i] = strtod(text, &end);
    if (end == text || (i + 1 < SIM_QUANTILES && *end != ','))
      return NULL;
    text = i + 1 < SIM_QUANTILES ? end + 1 : end;
  }
  return text;
}

/// "<idle us>:<six ns>;<idle us>:<six ns>..."
static bool read_wake(const char *text, sim_wake_t *wake)
{
  *wake = (sim_wake_t){0};
  while (*text) {
    char *end;
    if (wake->count == SIM_GAPS_MAX)
      return false;
    wake->idle_us[wake->count] = strtod(text, &end);
    if (end == text || *end != ':' || !(text = read_spread(end + 1, &wake->spread[wake->count])))
      return false;
    wake->count++;
    if (*text == ';')
      text++;
    else if (*text)
      return false;
  }
  return wake->count > 0;
}

static bool read_number(const char *text, sim_word_kind_t kind, void *at)
{
  char *end;
  const double number = strtod(text, &end);
  if (end == text || *end || number < 0)
    return false;
  if (kind == SIM_WORD_COUNT)
    *(uint32_t *)at = (uint32_t)number;
  else if (kind == SIM_WORD_FLAG)
    *(bool *)at = number != 0;
  else
    *(double *)at = number;
  return true;
}

static bool read_word(const char *text, const sim_word_t *word)
{
  switch (word->kind) {
    case SIM_WORD_SEED:
      *(uint64_t *)word->at = strtoull(text, NULL, 10);
      return true;
    case SIM_WORD_SPREAD:
      return read_spread(text, word->at) != NULL;
    case SIM_WORD_WAKE:
      return read_wake(text, word->at);
    case SIM_WORD_CALL:
      return word->call(text);
    default:
      return read_number(text, word->kind, word->at);
  }
}

bool sim_word_read(const sim_word_t *words, const char *text)
{
  const size_t length = strcspn(text, "=");
  for (; text[length] && words->name; words++)
    if (strlen(words->name) == length && strncmp(text, words->name, length) == 0)
      return read_word(text + length + 1, words);
  return false;
}

bool sim_machine_set(const char *text)
{
#define COUNT(field)                                                                                         \
  {                                                                                                          \
#field, SIM_WORD_COUNT, &sim_machine.field, NULL                                                         \
  }
#define NUMBER(field)                                                                                        \
  {                                                                                                          \
#field, SIM_WORD_NUMBER, &sim_machine.field, NULL                                                        \
  }
#define WAKE(field)                                                                                          \
  {                                                                                                          \
#field, SIM_WORD_WAKE, &sim_machine.field, NULL                                                          \
  }
  static const sim_word_t words[] = {COUNT(cpus),
                                     COUNT(smt),
                                     COUNT(llc_cpus),
                                     COUNT(node_cpus),
                                     NUMBER(local_ns),
                                     NUMBER(modify_ns),
                                     NUMBER(smt_ns),
                                     NUMBER(llc_ns),
                                     NUMBER(node_ns),
                                     NUMBER(far_ns),
                                     NUMBER(fence_ns),
                                     NUMBER(pause_ns),
                                     NUMBER(clock_ns),
                                     NUMBER(syscall_ns),
                                     NUMBER(wake_busy_ns),
                                     NUMBER(switch_ns),
                                     NUMBER(migrate_ns),
                                     NUMBER(create_ns),
                                     NUMBER(wake_minor_us),
                                     NUMBER(smt_slowdown),
                                     NUMBER(slice_us),
                                     NUMBER(granularity_us),
                                     NUMBER(stay_share),
                                     NUMBER(quota_cpus),
                                     NUMBER(detours_per_s),
                                     NUMBER(sleep_cpu_ns),
                                     NUMBER(tick_us),
                                     WAKE(wake),
                                     WAKE(call),
                                     WAKE(fresh),
                                     WAKE(fresh_call),
                                     WAKE(kick),
                                     WAKE(kick_call),
                                     WAKE(timer),
                                     WAKE(cold),
                                     {"detour", SIM_WORD_SPREAD, &sim_machine.detour, NULL},
                                     {0}};
  return sim_word_read(words, text);
}

static sim_ps_t value_at(const sim_spread_t *spread, double rank)
{
  static const double at[SIM_QUANTILES] = {0, 0.1, 0.5, 0.9, 0.99, 0.999};
  for (uint32_t i = 1; i < SIM_QUANTILES; i++)
    if (rank < at[i])
      return sim_ps(spread->ns[i - 1]
                    + (spread->ns[i] - spread->ns[i - 1]) * (rank - at[i - 1]) / (at[i] - at[i - 1]));
  return sim_ps(spread->ns[SIM_QUANTILES - 1]);
}

sim_ps_t sim_spread_draw(const sim_spread_t *spread)
{
  return value_at(spread, sim_random_unit());
}

sim_ps_t sim_wake_draw(const sim_wake_t *wake, sim_ps_t idle_ps, double rank)
{
  uint32_t gap = 0;
  while (gap + 1 < wake->count && (double)idle_ps >= wake->idle_us[gap + 1] * 1e6)
    gap++;
  return value_at(&wake->spread[gap], rank);
}

double sim_distance_ns(uint32_t from, uint32_t to)
{
  const sim_machine_t *m = &sim_machine;
  if (from == to)
    return m->local_ns;
  if (from / m->smt == to / m->smt)
    return m->smt_ns;
  if (from / m->llc_cpus == to / m->llc_cpus)
    return m->llc_ns;
  return from / m->node_cpus == to / m->node_cpus ? m->node_ns : m->far_ns;
}
