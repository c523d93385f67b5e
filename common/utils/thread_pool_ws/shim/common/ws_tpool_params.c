// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_params.c
/// ws_tpool_params.h.
#include "ws_tpool_params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/// Largest core number of a cpu_set_t, which the host's threadCreate uses.
#define CORE_MAX 1023
#define CORE_BYTES 20 ///< of a core in a list, with comma, factor, and what follows when the list is cut

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// @return NULL, or the error of the entry [begin, end), which has no blanks around it
static const char *read_core(const char *begin, const char *end, int32_t *core)
{
  const char *digit = begin + (*begin == '-' || *begin == '+');
  int32_t value = 0;
  if (digit == end)
    return "is not a core's number, -1 or n";
  for (; digit < end; digit++) {
    if (*digit < '0' || *digit > '9')
      return "is not a core's number, -1 or n";
    value = value * 10 + (*digit - '0');
    if (value > CORE_MAX)
      return "is out of range (cores 0 to 1023)";
  }
  *core = *begin == '-' ? -value : value;
  return *core < -1 ? "is below -1" : NULL;
}

static void complain(char *message, size_t bytes, uint32_t position, const char *begin, const char *end,
                     const char *why)
{
  const int shown = end - begin < 40 ? (int)(end - begin) : 40;
  snprintf(message, bytes, "entry %u \"%.*s\" %s", position, shown, begin, why);
}

static bool is_option(const char *begin, const char *end)
{
  return end - begin >= 4 && (strncasecmp(begin, "spin", 4) == 0 || strncasecmp(begin, "prio", 4) == 0);
}

static void keep_option(ws_tpool_params_t *params, const char *begin, const char *end)
{
  char *kept = params->options + params->option_bytes;
  memcpy(kept, begin, (size_t)(end - begin));
  kept[end - begin] = '\0';
  params->option_bytes += (size_t)(end - begin) + 1;
}

/// Read one entry, without its comma. @return NULL, or its error
static const char *read_entry(ws_tpool_params_t *params, uint32_t position, const char *begin,
                              const char *end)
{
  if (begin == end)
    return NULL;
  if (is_option(begin, end)) {
    keep_option(params, begin, end);
    return NULL;
  }
  if (*begin == 'n' || *begin == 'N') {
    params->says_inline = true;
    return NULL;
  }
  const char *why = read_core(begin, end, &params->cores[params->count]);
  params->entry[params->count] = position;
  params->count += why == NULL;
  return why;
}

int ws_tpool_params_read(ws_tpool_params_t *params, const char *text, char *message, size_t message_bytes)
{
  *params = (ws_tpool_params_t){0};
  params->cores = malloc((strlen(text) / 2 + 1) * sizeof(int32_t)); // an entry and its comma: two characters
  params->entry = malloc((strlen(text) / 2 + 1) * sizeof(uint32_t));
  params->options = malloc(strlen(text) + 1); // each entry with its comma's place
  if (!params->cores || !params->entry || !params->options) {
    ws_tpool_params_free(params);
    return -ENOMEM;
  }
  uint32_t position = 1;
  for (const char *next = text;; position++) {
    const char *comma = next + strcspn(next, ",");
    const char *begin = next, *end = comma;
    while (begin < end && is_blank(*begin))
      begin++;
    while (end > begin && is_blank(end[-1]))
      end--;
    const char *why = read_entry(params, position, begin, end);
    if (why) {
      complain(message, message_bytes, position, begin, end, why);
      ws_tpool_params_free(params);
      return -EINVAL;
    }
    if (*comma == '\0')
      return 0;
    next = comma + 1;
  }
}

/// @return whether @p option is "<name>=..."
static bool is_named(const char *option, const char *name)
{
  size_t length = strcspn(option, "=");
  if (option[length] != '=')
    return false;
  while (length > 0 && is_blank(option[length - 1]))
    length--;
  return strlen(name) == length && strncasecmp(option, name, length) == 0;
}

static const char *const priority_names[] = {"normal", "high", "low"};

const char *ws_tpool_params_priority_name(ws_priority_t priority)
{
  return priority_names[priority];
}

/// @return whether @p option concerns the priority; if it is invalid, a warning names it
static bool read_priority(const ws_settings_t *settings, const char *option, ws_priority_t *priority)
{
  if (strncasecmp(option, "prio", 4) != 0)
    return false;
  const char *text = strchr(option, '=') ? strchr(option, '=') + 1 : "";
  while (is_blank(*text))
    text++;
  for (uint32_t i = 0; i < sizeof(priority_names) / sizeof(priority_names[0]); i++)
    if (is_named(option, "prio") && strcasecmp(text, priority_names[i]) == 0) {
      *priority = (ws_priority_t)i;
      return true;
    }
  char message[160];
  snprintf(message, sizeof(message),
           "entry \"%.40s\": unknown (prio=high|normal|low); the pool's tasks have normal priority", option);
  settings->warn(settings->warn_arg, message);
  *priority = WS_PRIORITY_NORMAL;
  return true;
}

static int apply_option(ws_settings_t *settings, const char *option)
{
  if (is_named(option, "spin"))
    return ws_settings_spin_text(settings, strchr(option, '=') + 1);
  if (is_named(option, "spin_cpu_max"))
    return ws_settings_spin_cpu_max_text(settings, strchr(option, '=') + 1);
  char message[160];
  snprintf(message, sizeof(message),
           "entry \"%.40s\": unknown (spin=off|auto|fixed:<us>, spin_cpu_max=<percent>); pre-wake is off",
           option);
  settings->warn(settings->warn_arg, message);
  return -EINVAL;
}

void ws_tpool_params_apply(const ws_tpool_params_t *params, ws_settings_t *settings, ws_priority_t *priority)
{
  bool wrong = false;
  *priority = WS_PRIORITY_NORMAL;
  for (size_t next = 0; next < params->option_bytes; next += strlen(params->options + next) + 1)
    if (!read_priority(settings, params->options + next, priority))
      wrong |= apply_option(settings, params->options + next) < 0;
  if (wrong)
    settings->spin = WS_SPIN_OFF; // also if a later entry was valid
}

int ws_tpool_params_float(ws_tpool_params_t *params, uint32_t count)
{
  *params = (ws_tpool_params_t){.count = count, .says_inline = count == 0};
  params->cores = malloc((count + 1) * sizeof(int32_t));
  if (!params->cores)
    return -ENOMEM;
  for (uint32_t i = 0; i < count; i++)
    params->cores[i] = -1;
  return 0;
}

void ws_tpool_params_text(const ws_tpool_params_t *params, char *text, size_t bytes)
{
  text[0] = '\0';
  for (uint32_t first = 0, end; first < params->count; first = end) {
    for (end = first + 1; end < params->count && params->cores[end] == params->cores[first]; end++)
      ;
    const size_t length = strlen(text);
    const char *comma = first > 0 ? "," : "";
    if (bytes - length < CORE_BYTES) {
      snprintf(text + length, bytes - length, ",...");
      return;
    }
    if (end - first == 1)
      snprintf(text + length, bytes - length, "%s%d", comma, params->cores[first]);
    else
      snprintf(text + length, bytes - length, "%s%d x%u", comma, params->cores[first], end - first);
  }
}

void ws_tpool_params_free(ws_tpool_params_t *params)
{
  free(params->cores);
  free(params->entry);
  free(params->options);
  *params = (ws_tpool_params_t){0};
}
