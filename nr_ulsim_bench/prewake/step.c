// SPDX-License-Identifier: BSD-3-Clause
// How long mode auto needs to find its way again when something has changed under it.
#include "prewake.h"

/// Lateness is averaged over so much time: some tens of bursts.
#define WINDOW_MS 100u
#define WINDOWS_MAX 1000u
/// Of a slot: no multiple of anything that the pool could take for a period.
#define JUMP 0.37

static double window_lateness_us(bench_run_t *bench)
{
  slot_times_t times;
  uint32_t slots = 0;
  uint64_t sum_ns = 0;
  for (uint64_t left = bench_slots(bench, WINDOW_MS); left > 0; left--)
    if (bench_run_slot(bench, &times)) {
      slots++;
      sum_ns += times.lateness_ns;
    }
  return slots ? (double)sum_ns * 1e-3 / slots : 0;
}

static void watch_step(bench_run_t *bench, const char *step)
{
  double mean_us[WINDOWS_MAX];
  const uint64_t wanted = bench->question->measure_ms / WINDOW_MS;
  const uint32_t windows = wanted < 1 ? 1 : wanted > WINDOWS_MAX ? WINDOWS_MAX : (uint32_t)wanted;
  for (uint32_t i = 0; i < windows; i++)
    mean_us[i] = window_lateness_us(bench);
  report_text(bench->report, "mode", step);
  report_number(bench->report, "window_s", WINDOW_MS * 1e-3);
  report_numbers(bench->report, "window_lateness_us", mean_us, windows);
  report_print(bench->report);
}

void measure_step(bench_run_t *bench)
{
  const question_t *const question = bench->question;
  if (!bench_set_mode(bench, WS_SPIN_AUTO, 0))
    return;
  inject_set(0, 0, question->seed);
  watch_step(bench, "a new pool");
  inject_set(question->inject_us * 1000, question->bimodal_percent, question->seed);
  watch_step(bench, "each wake takes longer");
  inject_set(0, 0, question->seed);
  watch_step(bench, "wakes take the usual time again");
  bench->arrivals.base_ns += (uint64_t)(JUMP * (double)question->slot_us * 1e3);
  watch_step(bench, "the grid of slots jumps");
  bench_set_pattern(bench, question->next_pattern);
  watch_step(bench, "the pattern of slots changes");
}
