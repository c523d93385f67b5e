// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_params.c
/// ws_tpool_params.h.
#include "ws_tpool_params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Largest core number of a cpu_set_t, which the host's threadCreate uses.
#define CORE_MAX 1023
#define CORE_BYTES 20 ///< of a core in a list, with comma, factor, and what follows when the list is cut

/// Read an entry that is no setting. @return NULL, or its error
static const char *read_core(void *params_arg, uint32_t position, const char *entry, size_t length)
{
  ws_tpool_params_t *params = params_arg;
  char *end = NULL;
  const long core = strtol(entry, &end, 10);
  if (*entry == 'n' || *entry == 'N') {
    params->says_inline = true;
    return NULL;
  }
  if (end == entry + length && core >= -1 && core <= CORE_MAX) {
    params->cores[params->count] = (int32_t)core;
    params->entry[params->count++] = position;
    return NULL;
  }
  params->invalid = true;
  if (end != entry + length)
    return "is not a core's number, -1 or n";
  return core < -1 ? "is below -1" : "is out of range (cores 0 to 1023)";
}

int ws_tpool_params_read(ws_tpool_params_t *params, const char *text)
{
  params->text = text;
  params->cores = malloc((strlen(text) / 2 + 1) * sizeof(int32_t)); // an entry and its comma: two characters
  params->entry = malloc((strlen(text) / 2 + 1) * sizeof(uint32_t));
  if (!params->cores || !params->entry) {
    ws_tpool_params_free(params);
    return -ENOMEM;
  }
  ws_settings_list(&params->settings, text, read_core, params);
  if (!params->invalid)
    return 0;
  ws_tpool_params_free(params);
  return -EINVAL;
}

int ws_tpool_params_float(ws_tpool_params_t *params, uint32_t count)
{
  params->count = count;
  params->says_inline = count == 0;
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
  params->cores = NULL;
  params->entry = NULL;
}
