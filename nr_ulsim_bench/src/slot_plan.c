// SPDX-License-Identifier: BSD-3-Clause
#include "slot_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Longer ones are a broken file: a slot lasts a millisecond.
#define DURATION_NS_MAX UINT64_C(1000000000)
#define TASKS_MAX 100000u
/// Symbols of a slot, one task each; one or two of them may carry reference signals only.
#define SYMBOLS_MIN 12
#define SYMBOLS_MAX 14

/// @return @p array with room for one more after @p count entries
static void *grow(void *array, uint32_t count, size_t size)
{
  void *const larger = realloc(array, (count + UINT64_C(1)) * size);
  if (!larger)
    abort();
  return larger;
}

static void add_task(slot_plan_t *plan, uint64_t work_ns)
{
  plan->task_ns = grow(plan->task_ns, plan->task_count, sizeof plan->task_ns[0]);
  plan->task_ns[plan->task_count++] = work_ns;
}

static void add_phase(slot_plan_t *plan, phase_t phase)
{
  if (plan->phase_count == 0 || plan->phases[plan->phase_count - 1].slot != phase.slot)
    plan->slot_count++;
  plan->phases = grow(plan->phases, plan->phase_count, sizeof plan->phases[0]);
  plan->phases[plan->phase_count++] = phase;
}

static bench_phase_t burst_kind(const request_t *request, uint32_t burst)
{
  const uint32_t tasks = request->bursts[burst].tasks;
  const bool symbols = request->burst_count > 1 || (tasks >= SYMBOLS_MIN && tasks <= SYMBOLS_MAX);
  return burst == 0 && symbols ? BENCH_SYMBOL_PROCESSING : BENCH_ULSCH_DECODING;
}

static void add_burst(slot_plan_t *plan, const request_t *request, uint32_t index)
{
  const burst_t burst = request->bursts[index];
  add_phase(plan, (phase_t){
                      .kind = burst_kind(request, index),
                      .first_task = plan->task_count,
                      .task_count = burst.tasks,
                  });
  for (uint32_t task = 0; task < burst.tasks; task++)
    add_task(plan, burst.work_ns);
}

/// Most names are for people only.
static bench_phase_t kind_of(const char *name)
{
  return strcmp(name, "symbol_processing") == 0 ? BENCH_SYMBOL_PROCESSING
         : strcmp(name, "ulsch_decoding") == 0  ? BENCH_ULSCH_DECODING
                                                : BENCH_PHASE_NONE;
}

static bool parse_phase(slot_plan_t *plan, char *text)
{
  char name[64];
  phase_t phase = {.first_task = plan->task_count};
  int used = 0;
  if (sscanf(text, " %u ,%63[^, \t] ,%" SCNu64 " ,%u%n", &phase.slot, name, &phase.serial_ns,
             &phase.task_count, &used)
          != 4
      || phase.serial_ns > DURATION_NS_MAX || phase.task_count > TASKS_MAX)
    return false;
  phase.kind = kind_of(name);
  add_phase(plan, phase);
  text += used;
  for (uint32_t i = 0; i < phase.task_count; i++) {
    char *const start = text + strspn(text, " \t,");
    const uint64_t work_ns = strtoull(start, &text, 10);
    if (text == start || *start == '-' || work_ns > DURATION_NS_MAX)
      return false;
    add_task(plan, work_ns);
  }
  return text[strspn(text, ", \t\r\n")] == '\0';
}

static bool plan_from_file(slot_plan_t *plan, const char *path, report_t *report)
{
  FILE *const file = fopen(path, "r");
  if (!file) {
    report_error(report, "%s: %s", path, strerror(errno));
    return false;
  }
  char *line = NULL;
  size_t size = 0;
  bool good = true;
  for (uint32_t number = 1; good && getline(&line, &size, file) >= 0; number++) {
    const char first = line[strspn(line, " \t\r\n")];
    if (first == '#' || first == '\0')
      continue;
    good = parse_phase(plan, line);
    if (!good)
      report_error(report, "%s:%u: expected slot,phase,serial_before_ns,task_count,task_ns...", path, number);
  }
  free(line);
  fclose(file);
  if (good && plan->phase_count == 0) {
    report_error(report, "%s: holds no slot", path);
    good = false;
  }
  return good;
}

bool slot_plan_make(slot_plan_t *plan, const request_t *request, report_t *report)
{
  *plan = (slot_plan_t){.tasks_max = 1};
  const bool recorded = request->bench == BENCH_REPLAY || request->burst_count == 0;
  if (recorded && !plan_from_file(plan, request->file, report))
    return false;
  for (uint32_t i = 0; !recorded && i < request->burst_count; i++)
    add_burst(plan, request, i);
  for (uint32_t i = 0; i < plan->phase_count; i++)
    if (plan->phases[i].task_count > plan->tasks_max)
      plan->tasks_max = plan->phases[i].task_count;
  return true;
}

double slot_plan_bound_ns(const slot_plan_t *plan, uint32_t first, uint32_t count, uint32_t cores,
                          uint64_t *work_ns)
{
  double bound_ns = 0;
  for (uint32_t i = first; i < first + count; i++) {
    const phase_t *const phase = &plan->phases[i];
    uint64_t sum_ns = 0, longest_ns = 0;
    for (uint32_t task = 0; task < phase->task_count; task++) {
      const uint64_t task_ns = plan->task_ns[phase->first_task + task];
      sum_ns += task_ns;
      longest_ns = task_ns > longest_ns ? task_ns : longest_ns;
    }
    const double share_ns = (double)sum_ns / cores;
    bound_ns += (double)phase->serial_ns + (share_ns > (double)longest_ns ? share_ns : (double)longest_ns);
    *work_ns += sum_ns + phase->serial_ns;
  }
  return bound_ns;
}
