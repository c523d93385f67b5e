// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_plan.c
/// sim_plan.h.
#define _GNU_SOURCE
#include "sim_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATORS " \t,\r\n"

static void *grown(void *array, uint32_t count, size_t bytes)
{
  if (count > 0 && (count & (count - 1)) != 0)
    return array;
  array = realloc(array, (count > 0 ? 2 * (size_t)count : 1) * bytes);
  if (!array) {
    fprintf(stderr, "simulate: no memory for the tasks\n");
    abort();
  }
  return array;
}

static void add_phase(sim_plan_t *plan, uint32_t slot, sim_ps_t serial_ps)
{
  plan->phase = grown(plan->phase, plan->phases, sizeof(plan->phase[0]));
  plan->phase[plan->phases++] = (sim_phase_t){slot, serial_ps, plan->tasks, 0};
}

static void add_task(sim_plan_t *plan, sim_ps_t ps)
{
  sim_phase_t *phase = &plan->phase[plan->phases - 1];
  plan->task_ps = grown(plan->task_ps, plan->tasks, sizeof(plan->task_ps[0]));
  plan->task_ps[plan->tasks++] = ps;
  phase->count++;
  if (plan->tasks_max < phase->count)
    plan->tasks_max = phase->count;
}

bool sim_plan_from_text(sim_plan_t *plan, const char *text)
{
  *plan = (sim_plan_t){0};
  for (;; text++) {
    char *end;
    const uint32_t count = (uint32_t)strtoul(text, &end, 10);
    if (end == text || *end != 'x')
      return false;
    const double us = strtod(end + 1, &end);
    add_phase(plan, 0, 0);
    for (uint32_t i = 0; i < count; i++)
      add_task(plan, (sim_ps_t)(us * 1e6));
    if (*end != '+')
      return *end == '\0';
    text = end;
  }
}

/// @return whether there was a number; @p text is behind it and what separates it then
static bool take_number(char **text, sim_ps_t *number)
{
  char *end;
  *number = strtoll(*text, &end, 10);
  const bool good = end != *text && strspn(end, SEPARATORS) >= (*end != '\0') && *number >= 0;
  *text = end + strspn(end, SEPARATORS);
  return good;
}

static bool read_line(sim_plan_t *plan, char *line)
{
  sim_ps_t slot, serial_ns, count, ns;
  line += strspn(line, SEPARATORS);
  if (*line == '\0' || *line == '#')
    return true;
  if (!take_number(&line, &slot))
    return false;
  line += strcspn(line, SEPARATORS); // the phase's name
  line += strspn(line, SEPARATORS);
  if (!take_number(&line, &serial_ns) || !take_number(&line, &count))
    return false;
  add_phase(plan, (uint32_t)slot, serial_ns * SIM_PS_PER_NS);
  while (count-- > 0) {
    if (!take_number(&line, &ns))
      return false;
    add_task(plan, ns * SIM_PS_PER_NS);
  }
  return *line == '\0';
}

bool sim_plan_from_file(sim_plan_t *plan, const char *path)
{
  FILE *file = fopen(path, "r");
  char *line = NULL;
  size_t bytes = 0;
  bool good = file != NULL;
  *plan = (sim_plan_t){0};
  while (good && getline(&line, &bytes, file) >= 0)
    good = read_line(plan, line);
  free(line);
  if (file)
    fclose(file);
  return good && plan->phases > 0;
}

uint32_t sim_plan_next_slot(const sim_plan_t *plan, uint32_t phase)
{
  uint32_t next = phase + 1;
  while (next < plan->phases && plan->phase[next].slot == plan->phase[phase].slot)
    next++;
  return next < plan->phases ? next : 0;
}
