// SPDX-License-Identifier: BSD-3-Clause
// Modes against each other: in one pool, in turns, on the same grid of slots. What the machine does meanwhile
// hits all of them alike, and so do the arrivals of a round.
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "series.h"

/// A mode takes effect with the next burst; these are for what was under way.
#define PERIODS_UNCOUNTED 2
#define PERIODS_COUNTED_MIN 8
/// So that the costs of all rounds fit the report.
#define ROUNDS_MAX 500
/// CPUs that others may have in a round, on average, and time that may be lost in it, as when a host
/// stops the whole machine. With more it is run again, as long as there is time.
#define OTHERS_MAX 0.15
#define LOST_US_MAX 50000u

typedef struct {
  bench_run_t *bench;
  series_t series[QUESTION_MODES_MAX]; ///< one for each name
  series_t before[QUESTION_MODES_MAX]; ///< the same before the round
  uint32_t series_count;
  uint32_t turns[QUESTION_MODES_MAX]; ///< of a round: index into series
  uint32_t turn_count;
  uint64_t periods; ///< counted ones of a block
  uint32_t rounds, repeated_rounds;
  double round_others[ROUNDS_MAX]; ///< CPUs that other processes, or the host, had in a round, on average
  reading_t begin, end;
} compare_t;

static void plan_rounds(compare_t *compare)
{
  const question_t *const question = compare->bench->question;
  const arrivals_t *const arrivals = &compare->bench->arrivals;
  const uint64_t wanted = arrivals_periods(arrivals, question->block_ms);
  compare->periods = wanted > PERIODS_COUNTED_MIN ? wanted : PERIODS_COUNTED_MIN;
  const uint64_t block_us =
      (compare->periods + PERIODS_UNCOUNTED) * arrivals->pattern_slots * question->slot_us;
  const uint64_t rounds = question->measure_ms * 1000 / (block_us * question->mode_count);
  compare->rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : (uint32_t)rounds;
}

static bool plan_series(compare_t *compare)
{
  const question_t *const question = compare->bench->question;
  const uint64_t block_slots = compare->periods * compare->bench->arrivals.pattern_bursts;
  for (uint32_t i = 0; i < question->mode_count; i++) {
    const spin_mode_t *const mode = &question->modes[i];
    uint32_t at = 0, times = 1;
    while (at < compare->series_count && strcmp(compare->series[at].mode->name, mode->name) != 0)
      at++;
    compare->turns[compare->turn_count++] = at;
    if (at < compare->series_count)
      continue;
    for (uint32_t other = i + 1; other < question->mode_count; other++)
      times += strcmp(question->modes[other].name, mode->name) == 0;
    if (!series_open(&compare->series[compare->series_count++], mode,
                     (uint32_t)block_slots * compare->rounds * times, compare->rounds))
      return false;
  }
  const uint32_t workers = question->work.workers;
  compare->begin.worker_spin_ns = calloc(workers, sizeof(uint64_t));
  compare->end.worker_spin_ns = calloc(workers, sizeof(uint64_t));
  return compare->begin.worker_spin_ns && compare->end.worker_spin_ns;
}

static bool run_block(compare_t *compare, series_t *series, uint32_t round)
{
  bench_run_t *const bench = compare->bench;
  const uint64_t bursts = (compare->periods + PERIODS_UNCOUNTED) * bench->arrivals.pattern_bursts;
  if (!bench_set_mode(bench, series->mode))
    return false;
  arrivals_seed(&bench->arrivals, round + 1);
  bench_seek(bench, round * bursts);
  bench_run_periods(bench, PERIODS_UNCOUNTED);
  reading_take(&compare->begin, bench);
  for (uint64_t slot = 0; slot < compare->periods * bench->arrivals.pattern_slots; slot++) {
    slot_times_t times;
    bool late;
    if (bench_run_slot(bench, &times, &late))
      series_add_slot(series, &times, late);
  }
  reading_take(&compare->end, bench);
  series_add_block(series, bench, &compare->begin, &compare->end);
  return true;
}

static void shuffle(uint32_t *turns, uint32_t count, random_t *random)
{
  for (uint32_t left = count; left > 1; left--) {
    const uint32_t other = (uint32_t)random_below(random, left), last = turns[left - 1];
    turns[left - 1] = turns[other];
    turns[other] = last;
  }
}

static bool run_round(compare_t *compare, uint32_t round)
{
  const bench_run_t *const bench = compare->bench;
  const usage_t begin = usage_now(USAGE_PROCESS);
  const double busy_s = environment_busy_s(bench->environment, bench->cpus, bench->cores);
  for (uint32_t turn = 0; turn < compare->turn_count; turn++)
    if (!run_block(compare, &compare->series[compare->turns[turn]], round))
      return false;
  for (uint32_t i = 0; i < compare->series_count; i++)
    series_end_round(&compare->series[i], bench);
  const usage_t own = usage_since(begin, USAGE_PROCESS);
  const double end_s = environment_busy_s(bench->environment, bench->cpus, bench->cores);
  compare->round_others[round] = (end_s - busy_s - own.cpu_s) / own.wall_s;
  return true;
}

static bool disturbed(const compare_t *compare, uint32_t round, uint64_t lost_periods)
{
  const arrivals_t *const arrivals = &compare->bench->arrivals;
  const uint64_t lost_us =
      (arrivals->lost_periods - lost_periods) * arrivals->pattern_slots * arrivals->question->slot_us;
  return compare->round_others[round] > OTHERS_MAX || lost_us > LOST_US_MAX;
}

/// A machine that does other things for a while spoils a round of all modes alike: it is run again. One that
/// does so all the time is measured as it is.
static bool run_rounds(compare_t *compare)
{
  random_t order = {.state = compare->bench->question->seed};
  for (uint32_t round = 0; round < compare->rounds;) {
    shuffle(compare->turns, compare->turn_count, &order);
    memcpy(compare->before, compare->series, sizeof compare->series);
    const uint64_t lost_periods = compare->bench->arrivals.lost_periods;
    if (!run_round(compare, round))
      return false;
    if (disturbed(compare, round, lost_periods) && compare->repeated_rounds < compare->rounds / 2) {
      memcpy(compare->series, compare->before, sizeof compare->series);
      compare->repeated_rounds++;
    } else {
      round++;
    }
  }
  return true;
}

void measure_compare(bench_run_t *bench)
{
  const spin_mode_t learn = {.name = "auto", .spin = WS_SPIN_AUTO};
  compare_t *const compare = calloc(1, sizeof *compare);
  if (compare) {
    compare->bench = bench;
    plan_rounds(compare);
  }
  if (!compare || !plan_series(compare))
    report_error(bench->report, "no memory for %u modes", bench->question->mode_count);
  else if (bench_set_mode(bench, &learn)) {
    bench_run_periods(bench, arrivals_periods(&bench->arrivals, bench->question->warm_ms));
    if (run_rounds(compare))
      for (uint32_t i = 0; i < compare->series_count; i++) {
        series_report(&compare->series[i], bench);
        report_count(bench->report, "repeated_rounds", compare->repeated_rounds);
        report_numbers(bench->report, "round_others", compare->round_others, compare->rounds);
        bench_answer(bench->report);
      }
  }
  for (uint32_t i = 0; compare && i < compare->series_count; i++)
    series_close(&compare->series[i]);
  if (compare) {
    free(compare->begin.worker_spin_ns);
    free(compare->end.worker_spin_ns);
  }
  free(compare);
}
