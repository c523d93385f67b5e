// SPDX-License-Identifier: BSD-3-Clause
#include "question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words.h"

/// Leads at which the search for the best one looks. auto and off have more time: their tails are compared.
#define MODES_DEFAULT                                                                                        \
  "off,auto,fixed:0,fixed:5,fixed:10,fixed:15,fixed:20,off,auto,fixed:30,fixed:40,fixed:60,fixed:80,"        \
  "fixed:120,fixed:160,fixed:200,auto"
#define LEAD_US_MAX 10000
/// Of ASK_STEP.
#define STEPS 5

const char question_usage[] =
    "usage: ws-prewake [bench=compare|step|idle|canary] [key=value]...   one JSON object a line, one a mode\n"
    "       ws-prewake class=other workers=1 bursts=12x6 pattern=DDDDU slot_us=500 jitter_us=5\n"
    "keys:  modes=off,hot,auto,fixed:20 (leads in us)   cap=10 (percent)   spin_price=9\n"
    "       bursts=12x6+22x28 (tasks x us, chained) or file=PATH (recorded slots)   workers=1\n"
    "       slot_us=500   pattern=DDDDU (U: burst, D: none)   occupancy=100 (percent of U)   jitter_us=0\n"
    "       drift_ppm=0   seed=1   warm_ms=1000   measure_ms=5000   block_ms=40   limit_s=S\n"
    "       class=other|rr|rrall   hog=N   slack_ns=50000   dma_latency=-1|0   quota_percent=N   cpus=N\n"
    "       pin=0|1 (producer on the first CPU, workers on the others)   inject_us=N   bimodal=PERCENT\n"
    "       next_pattern=U (step)\n"
    "compare: modes take turns in blocks in one pool. step: auto alone, from its first burst; then wakes\n"
    "become slower by inject_us, then quicker again, the grid jumps, the pattern changes: measure_ms each.\n"
    "idle: CPU time of a pool that has stopped working. canary: what real-time workers leave to a normal\n"
    "thread on each CPU. Times are in us; cost_us is a slot's: lateness + (CPU time - work) / spin_price.\n";

static bool parse_mode(const char *text, spin_mode_t *mode)
{
  static const struct {
    const char *name;
    ws_spin_t spin;
  } plain[] = {{"off", WS_SPIN_OFF}, {"auto", WS_SPIN_AUTO}, {"hot", WS_SPIN_HOT}};
  *mode = (spin_mode_t){.spin = WS_SPIN_FIXED};
  if ((size_t)snprintf(mode->name, sizeof mode->name, "%s", text) >= sizeof mode->name)
    return false;
  for (uint32_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
    if (strcmp(text, plain[i].name) == 0) {
      mode->spin = plain[i].spin;
      return true;
    }
  uint32_t lead_us;
  int used = 0;
  const bool good = sscanf(text, "fixed:%u%n", &lead_us, &used) == 1 && text[used] == '\0';
  mode->lead_ns = lead_us * UINT64_C(1000);
  return good && lead_us <= LEAD_US_MAX;
}

static bool parse_modes(const char *text, void *target)
{
  question_t *const question = target;
  char names[QUESTION_MODES_MAX * QUESTION_MODE_CHARS];
  if ((size_t)snprintf(names, sizeof names, "%s", text) >= sizeof names)
    return false;
  question->mode_count = 0;
  char *rest = NULL;
  for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
    if (question->mode_count == QUESTION_MODES_MAX
        || !parse_mode(name, &question->modes[question->mode_count++]))
      return false;
  }
  return question->mode_count > 0;
}

static bool copy_pattern(const char *text, char *pattern)
{
  const size_t length = strlen(text);
  if (length >= QUESTION_PATTERN_CHARS || strspn(text, "UD") != length || !strchr(text, 'U'))
    return false;
  strcpy(pattern, text);
  return true;
}

static bool parse_pattern(const char *text, void *target)
{
  return copy_pattern(text, ((question_t *)target)->pattern);
}

static bool parse_next_pattern(const char *text, void *target)
{
  return copy_pattern(text, ((question_t *)target)->next_pattern);
}

static bool parse_drift(const char *text, void *target)
{
  char *end;
  const long ppm = strtol(text, &end, 10);
  ((question_t *)target)->drift_ppm = (int32_t)ppm;
  return end != text && *end == '\0' && ppm >= -1000 && ppm <= 1000;
}

static bool parse_latency(const char *text, void *target)
{
  char *end;
  const long latency_us = strtol(text, &end, 10);
  ((question_t *)target)->dma_latency_us = latency_us;
  return end != text && *end == '\0' && latency_us >= -1 && latency_us <= 1000000;
}

_Static_assert(sizeof(ask_t) == 4, "enumerations are written as 32 bits");

#define NUMBER(field, most) WORD_NUMBER(question_t, field, most)

static const word_key_t keys[] = {
    {"bench", WORD_ONE_OF(question_t, ask, "compare", "step", "idle", "canary")},
    {"modes", .kind = KEY_FUNC, .parse = parse_modes},
    {"cap", NUMBER(cap_percent, 100)},
    {"spin_price", NUMBER(spin_price, 100)},
    {"slot_us", NUMBER(slot_us, 1000000)},
    {"pattern", .kind = KEY_FUNC, .parse = parse_pattern},
    {"next_pattern", .kind = KEY_FUNC, .parse = parse_next_pattern},
    {"occupancy", NUMBER(occupancy_percent, 100)},
    {"jitter_us", NUMBER(jitter_us, 1000000)},
    {"drift_ppm", .kind = KEY_FUNC, .parse = parse_drift},
    {"seed", NUMBER(seed, UINT32_MAX)},
    {"warm_ms", NUMBER(warm_ms, 600000)},
    {"measure_ms", NUMBER(measure_ms, 3600000)},
    {"block_ms", NUMBER(block_ms, 60000)},
    {"slack_ns", NUMBER(slack_ns, 1000000000)},
    {"dma_latency", .kind = KEY_FUNC, .parse = parse_latency},
    {"quota_percent", NUMBER(quota_percent, 100000)},
    {"cpus", NUMBER(cpus, 1024)},
    {"pin", NUMBER(pin, 1)},
    {"inject_us", NUMBER(inject_us, 10000)},
    {"bimodal", NUMBER(bimodal_percent, 100)},
};

static bool parse_word(const char *key, const char *value, void *question)
{
  static const char *const shared[] = {"workers", "class", "hog", "limit_s", "bursts", "file"};
  for (uint32_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
    if (strcmp(key, shared[i]) == 0)
      return request_parse_word(key, value, &((question_t *)question)->work);
  return word_parse(keys, sizeof keys / sizeof keys[0], key, value, question);
}

static const char *explain(const question_t *question)
{
  if (question->work.burst_count > 0 && question->work.file[0])
    return "request: bursts and file exclude each other";
  if (question->slot_us == 0 || question->block_ms == 0 || question->spin_price == 0
      || question->work.workers == 0 || question->slack_ns == 0)
    return "request: slot_us, block_ms, spin_price, workers and slack_ns must be at least 1";
  return NULL;
}

bool question_parse(char *line, question_t *question, char *error, uint32_t error_size)
{
  *question = (question_t){
      .work = {.workers = 1},
      .cap_percent = 10,
      .spin_price = 9, // as the pool has it by default
      .slot_us = 500,
      .pattern = "U",
      .next_pattern = "U",
      .occupancy_percent = 100,
      .seed = 1,
      .warm_ms = 1000,
      .measure_ms = 5000,
      .block_ms = 40,
      .slack_ns = 50000,
      .dma_latency_us = -1,
  };
  parse_modes(MODES_DEFAULT, question);
  if (!words_parse(line, parse_word, question, error, error_size))
    return false;
  if (question->work.burst_count == 0 && !question->work.file[0])
    request_parse_word("bursts", "12x6", &question->work);
  const uint64_t times = question->ask == ASK_STEP ? STEPS : 1;
  const uint64_t planned_ms = question->warm_ms + question->measure_ms * times;
  if (question->work.limit_s == 0) // generous: a host may stop the whole machine for seconds
    question->work.limit_s = 20 + 3e-3 * (double)planned_ms;
  const char *const reason = explain(question);
  if (reason)
    snprintf(error, error_size, "%s", reason);
  return !reason;
}
