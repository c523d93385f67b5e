// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rule.c
/// ws_rule.h.
#include "ws_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../pool/ws_rules.h"
#include "../pool/ws_warn.h"
#include "../tasks/ws_limit.h"

/// @return the rule of that name, a new one if there is none yet; NULL = there are WS_RULES_MAX
static ws_rule_t *rule_named(ws_settings_t *settings, const char *name, size_t length)
{
  for (uint32_t i = 0; i < settings->rules; i++)
    if (strlen(settings->rule[i].name) == length && strncmp(settings->rule[i].name, name, length) == 0)
      return &settings->rule[i];
  if (settings->rules == WS_RULES_MAX)
    return NULL;
  ws_rule_t *rule = &settings->rule[settings->rules++];
  *rule = (ws_rule_t){0};
  memcpy(rule->name, name, length);
  return rule;
}

/// @return 0 = it is no number from 1 to WS_WORKERS_MAX
static uint32_t number(const char *text, size_t length)
{
  uint32_t value = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9')
      return 0;
    value = value * 10 + (uint32_t)(text[i] - '0');
    if (value > WS_WORKERS_MAX)
      return 0;
  }
  return value;
}

static bool read_priority(const char *text, size_t length, ws_priority_t *priority)
{
  static const char *const names[] = {"normal", "high", "low"}; // by ws_priority_t
  for (uint32_t i = 0; i < 3; i++)
    if (strlen(names[i]) == length && strncasecmp(names[i], text, length) == 0) {
      *priority = (ws_priority_t)i;
      return true;
    }
  return false;
}

static bool is_name(const char *text, size_t length)
{
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
    if (!letter && !(i > 0 && ((c >= '0' && c <= '9') || c == '.')))
      return false;
  }
  return length > 0;
}

const char *ws_rule_read(ws_settings_t *settings, const char *name, const char *text, size_t length)
{
  const bool limits = strncasecmp(name, "limit", 5) == 0;
  const char *colon = memchr(text, ':', length);
  const size_t func = colon ? (size_t)(colon - text) : length, rest = length - func - (colon != NULL);
  ws_priority_t priority = WS_PRIORITY_NORMAL;
  if (!is_name(text, func) || func >= WS_RULE_NAME_BYTES)
    return "is invalid: the name of a function of at most 63 characters is expected after '='";
  if (limits && (!colon || number(colon + 1, rest) == 0))
    return "is invalid: a number from 1 to 1024 is expected after ':'";
  if (!limits && (!colon || !read_priority(colon + 1, rest, &priority)))
    return "is invalid: high, normal or low is expected after ':'";
  ws_rule_t *rule = rule_named(settings, text, func);
  if (!rule)
    return "is ignored: there are rules for 8 functions already";
  if (limits)
    rule->limit = number(colon + 1, rest);
  else
    rule->priority = priority;
  rule->has_priority |= !limits;
  return NULL;
}

int ws_rule_check(const ws_settings_t *settings)
{
  if (settings->rules > WS_RULES_MAX) {
    ws_warn(settings, "setting rules = %u is out of range (0 .. %u)", settings->rules, WS_RULES_MAX);
    return -EINVAL;
  }
  for (uint32_t i = 0; i < settings->rules; i++) {
    const ws_rule_t *rule = &settings->rule[i];
    if (!rule->func && (!memchr(rule->name, '\0', WS_RULE_NAME_BYTES) || !rule->name[0])) {
      ws_warn(settings, "setting rule[%u] has neither a function nor a name of 1 to 63 characters", i);
      return -EINVAL;
    }
    if (rule->limit > WS_WORKERS_MAX || (uint32_t)rule->priority > WS_PRIORITY_LOW) {
      ws_warn(settings, "setting rule[%u]: limit %u or priority %d is out of range", i, rule->limit,
              (int)rule->priority);
      return -EINVAL;
    }
  }
  return 0;
}

static void add(struct ws_rules_s *rules, const ws_rule_t *rule, uintptr_t func, uint32_t limit)
{
  if (rules->count < WS_RULED_MAX)
    rules->ruled[rules->count++] = (ws_ruled_t){
        .func = func, .limit = limit, .has_priority = rule->has_priority, .priority = rule->priority};
}

/// @return whether the rule has a function
static bool resolve(struct ws_pool_s *pool, struct ws_rules_s *rules, const ws_rule_t *rule, uint32_t limit)
{
  uintptr_t found[WS_RULED_MAX];
  if (rule->func) {
    add(rules, rule, (uintptr_t)rule->func, limit);
    return true;
  }
  const uint32_t count = ws_symbols_find(rule->name, found, WS_RULED_MAX);
  for (uint32_t i = 0; i < count; i++)
    add(rules, rule, found[i], limit);
  if (count == 0)
    ws_warn(&pool->settings,
            "no function \"%s\" in the program and the libraries that are loaded now, or their symbols are"
            " stripped: its rule has no effect",
            rule->name);
  return count > 0;
}

int ws_rule_make(struct ws_pool_s *pool)
{
  const ws_settings_t *settings = &pool->settings;
  if (settings->rules == 0 || pool->requested == 0)
    return 0;
  struct ws_rules_s *rules = calloc(1, sizeof(*rules));
  if (!rules)
    return -ENOMEM;
  uint32_t max[WS_RULES_MAX], limits = 0;
  for (uint32_t i = 0; i < settings->rules; i++) {
    const ws_rule_t *rule = &settings->rule[i];
    if (resolve(pool, rules, rule, rule->limit > 0 ? limits + 1 : 0) && rule->limit > 0)
      max[limits++] = rule->limit;
  }
  if (rules->count > 0) {
    pool->rules = rules;
    pool->pushes_seldom = true;
  } else {
    free(rules);
  }
  if (limits > 0 && !ws_limits_make(&pool->tasks, limits, settings->queue_capacity))
    return -ENOMEM;
  for (uint32_t i = 0; i < limits; i++)
    pool->tasks.limit[i].max = max[i];
  return 0;
}

void ws_rule_free(struct ws_pool_s *pool)
{
  ws_limits_free(&pool->tasks);
  free(pool->rules);
}
