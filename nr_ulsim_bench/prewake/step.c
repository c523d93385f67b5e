// SPDX-License-Identifier: BSD-3-Clause
// How long mode auto needs to find its way again when something has changed under it.
#include "bench.h"
#include "inject.h"

/// Lateness is averaged over so much time: some tens of bursts.
#define WINDOW_MS 100u
#define WINDOWS_MAX 1000u
/// Of a slot: no multiple of anything that the pool could take for a period.
#define JUMP 0.37

static void run_window(bench_run_t *bench, double *lateness_us, double *lateness_max_us)
{
  slot_times_t times;
  bool late;
  uint32_t slots = 0;
  uint64_t sum_ns = 0, max_ns = 0;
  const uint64_t periods = arrivals_periods(&bench->arrivals, WINDOW_MS);
  for (uint64_t slot = 0; slot < periods * bench->arrivals.pattern_slots; slot++)
    if (bench_run_slot(bench, &times, &late)) {
      slots++;
      sum_ns += times.lateness_ns;
      max_ns = times.lateness_ns > max_ns ? times.lateness_ns : max_ns;
    }
  *lateness_us = slots ? (double)sum_ns * 1e-3 / slots : 0;
  *lateness_max_us = (double)max_ns * 1e-3;
}

static void watch(bench_run_t *bench, const char *step)
{
  double mean_us[WINDOWS_MAX], max_us[WINDOWS_MAX];
  const uint64_t wanted = bench->question->measure_ms / WINDOW_MS;
  const uint32_t windows = wanted < 1 ? 1 : wanted > WINDOWS_MAX ? WINDOWS_MAX : (uint32_t)wanted;
  for (uint32_t i = 0; i < windows; i++)
    run_window(bench, &mean_us[i], &max_us[i]);
  report_text(bench->report, "mode", step);
  report_number(bench->report, "window_s", WINDOW_MS * 1e-3);
  report_numbers(bench->report, "window_lateness_us", mean_us, windows);
  report_numbers(bench->report, "window_lateness_max_us", max_us, windows);
  bench_answer(bench->report);
}

void measure_step(bench_run_t *bench)
{
  const question_t *const question = bench->question;
  const spin_mode_t mode = {.name = "auto", .spin = WS_SPIN_AUTO};
  if (!bench_set_mode(bench, &mode))
    return;
  inject_set(0, 0, question->seed);
  watch(bench, "start");
  inject_set(question->inject_us * 1000, question->bimodal_percent, question->seed);
  watch(bench, "slower");
  inject_set(0, 0, question->seed);
  watch(bench, "quicker");
  arrivals_shift(&bench->arrivals, (uint64_t)(JUMP * (double)question->slot_us * 1e3));
  watch(bench, "jump");
  arrivals_set_pattern(&bench->arrivals, question->next_pattern);
  watch(bench, "pattern");
}
