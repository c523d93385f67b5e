// SPDX-License-Identifier: BSD-3-Clause
// Modes against each other: in one pool, in turns, on the same grid of slots. What the machine does meanwhile
// hits all of them alike, and so do the arrivals of a round.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "prewake.h"
#include "usage.h"
#include "ws_stats.h"

/// A mode takes effect with the next burst; these are for what was under way.
#define PERIODS_UNCOUNTED 2
#define PERIODS_COUNTED_MIN 8
/// So that the costs of all rounds fit the report.
#define ROUNDS_MAX 500
/// CPUs that others may have in a round, on average, and time that may be lost in it, as when a host
/// stops the whole machine. With more it is run again, as long as there is time.
#define OTHERS_MAX 0.15
#define LOST_US_MAX 50000u

/// Of the pool's statistics of pre-wake.
static const struct {
  const char *key;
  size_t offset;
} counters[] = {
    {"hits", offsetof(ws_prewake_stats_t, hits)},           {"lates", offsetof(ws_prewake_stats_t, lates)},
    {"misses", offsetof(ws_prewake_stats_t, misses)},       {"unused", offsetof(ws_prewake_stats_t, unused)},
    {"capped", offsetof(ws_prewake_stats_t, capped_spins)},
};
#define COUNTERS (sizeof counters / sizeof counters[0])

/// Readings that mean something as differences only.
typedef struct {
  usage_t usage;
  double worker_cpu_s;
  uint64_t inject_ns;
  ws_prewake_stats_t prewake;
  uint64_t *worker_spin_ns;
} reading_t;

/// What a round's blocks, or those of all rounds, cost.
typedef struct {
  uint64_t slots, lateness_ns, work_ns;
  double cpu_s, wall_s;
  double worker_extra_s; ///< CPU time of the workers beyond their tasks
} cost_t;

/// What is kept of one mode: a value for each slot, sums over its blocks, the cost of each round.
typedef struct {
  const spin_mode_t *mode;
  uint64_t *lateness_ns, *last_lag_ns, *makespan_ns;
  uint32_t slots, slots_max;
  double bound_ns;
  cost_t all, round;
  uint64_t spin_ns, counted[COUNTERS], late_by[WS_LATE_CAUSES];
  double spin_percent_max; ///< of one worker in one block
  double *round_cost_us;
  uint32_t rounds;
} series_t;

typedef struct {
  bench_run_t *bench;
  series_t series[MODES_MAX]; ///< one for each name
  series_t before[MODES_MAX]; ///< the same before the round
  uint32_t series_count;
  uint32_t turns[MODES_MAX]; ///< of a round: index into series
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
  const uint64_t wanted = bench_slots(compare->bench, question->block_ms) / arrivals->pattern_slots;
  compare->periods = wanted > PERIODS_COUNTED_MIN ? wanted : PERIODS_COUNTED_MIN;
  const uint64_t block_us =
      (compare->periods + PERIODS_UNCOUNTED) * arrivals->pattern_slots * question->slot_us;
  const uint64_t rounds = question->measure_ms * 1000 / (block_us * question->modes.count);
  compare->rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : (uint32_t)rounds;
}

static void plan_series(compare_t *compare)
{
  const question_t *const question = compare->bench->question;
  const spin_mode_t *const modes = question->modes.of;
  const uint64_t block_slots = compare->periods * compare->bench->arrivals.pattern_bursts;
  for (uint32_t i = 0; i < question->modes.count; i++) {
    uint32_t at = 0, times = 1;
    while (at < compare->series_count && strcmp(compare->series[at].mode->name, modes[i].name) != 0)
      at++;
    compare->turns[compare->turn_count++] = at;
    if (at < compare->series_count)
      continue;
    for (uint32_t other = i + 1; other < question->modes.count; other++)
      times += strcmp(modes[other].name, modes[i].name) == 0;
    const uint32_t slots = (uint32_t)block_slots * compare->rounds * times;
    compare->series[compare->series_count++] =
        (series_t){.mode = &modes[i],
                   .slots_max = slots,
                   .lateness_ns = allot(slots, sizeof(uint64_t)),
                   .last_lag_ns = allot(slots, sizeof(uint64_t)),
                   .makespan_ns = allot(slots, sizeof(uint64_t)),
                   .round_cost_us = allot(compare->rounds, sizeof(double))};
  }
  compare->begin.worker_spin_ns = allot(question->work.workers, sizeof(uint64_t));
  compare->end.worker_spin_ns = allot(question->work.workers, sizeof(uint64_t));
}

static void take_reading(reading_t *reading, const bench_run_t *bench)
{
  const uint32_t workers = bench->question->work.workers;
  ws_worker_stats_t worker[workers];
  ws_stats_t total;
  reading->usage = usage_now(USAGE_PROCESS);
  reading->worker_cpu_s = bench_worker_cpu_s(bench);
  reading->inject_ns = inject_cpu_ns();
  ws_pool_prewake_stats(bench->pool, &reading->prewake);
  const uint32_t filled = ws_pool_stats(bench->pool, &total, worker, workers);
  for (uint32_t i = 0; i < workers; i++)
    reading->worker_spin_ns[i] = i < filled ? worker[i].spin_ns : 0;
}

static void add_slot(series_t *series, const slot_times_t *times)
{
  if (series->slots == series->slots_max)
    return;
  const uint32_t slot = series->slots++;
  series->lateness_ns[slot] = times->lateness_ns;
  series->last_lag_ns[slot] = times->last_lag_ns;
  series->makespan_ns[slot] = times->makespan_ns;
  series->bound_ns += times->bound_ns;
  series->round.slots++;
  series->round.lateness_ns += times->lateness_ns;
  series->round.work_ns += times->work_ns;
  series->round.worker_extra_s -= (double)times->worker_work_ns * 1e-9;
}

/// A block lay between two readings; add_slot() has seen its slots.
static void add_block(series_t *series, uint32_t workers, const reading_t *begin, const reading_t *end)
{
  const double wall_s = end->usage.wall_s - begin->usage.wall_s;
  // What the injection computed stands for a CPU that sleeps: no part of what the pool costs.
  const double inject_s = (double)(end->inject_ns - begin->inject_ns) * 1e-9;
  series->round.wall_s += wall_s;
  series->round.cpu_s += end->usage.cpu_s - begin->usage.cpu_s - inject_s;
  series->round.worker_extra_s += end->worker_cpu_s - begin->worker_cpu_s - inject_s;
  for (uint32_t i = 0; i < COUNTERS; i++) {
    const size_t offset = counters[i].offset;
    series->counted[i] += *(const uint64_t *)((const char *)&end->prewake + offset)
                          - *(const uint64_t *)((const char *)&begin->prewake + offset);
  }
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++)
    series->late_by[i] += end->prewake.late_by[i] - begin->prewake.late_by[i];
  for (uint32_t i = 0; i < workers; i++) {
    const uint64_t spin_ns = end->worker_spin_ns[i] - begin->worker_spin_ns[i];
    const double percent = (double)spin_ns * 1e-7 / wall_s;
    series->spin_ns += spin_ns;
    if (percent > series->spin_percent_max)
      series->spin_percent_max = percent;
  }
}

/// spin_price holds for one worker: a microsecond of its lateness against microseconds of its own CPU time.
static double cost_us(const bench_run_t *bench, const cost_t *cost)
{
  const double slots = (double)cost->slots;
  const double extra_us = (cost->cpu_s * 1e6 - (double)cost->work_ns * 1e-3) / slots;
  const uint32_t helpers = bench->helpers ? bench->helpers : 1;
  return (double)cost->lateness_ns * 1e-3 / slots + extra_us / helpers / bench->question->spin_price;
}

/// The blocks since the last call were those of one round.
static void end_round(series_t *series, const bench_run_t *bench)
{
  const cost_t round = series->round;
  series->round_cost_us[series->rounds++] = round.slots ? cost_us(bench, &round) : 0;
  series->all.slots += round.slots;
  series->all.lateness_ns += round.lateness_ns;
  series->all.work_ns += round.work_ns;
  series->all.cpu_s += round.cpu_s;
  series->all.wall_s += round.wall_s;
  series->all.worker_extra_s += round.worker_extra_s;
  series->round = (cost_t){0};
}

static bool run_block(compare_t *compare, series_t *series, uint32_t round)
{
  bench_run_t *const bench = compare->bench;
  const arrivals_t *const arrivals = &bench->arrivals;
  const uint64_t bursts = (compare->periods + PERIODS_UNCOUNTED) * arrivals->pattern_bursts;
  if (!bench_set_mode(bench, series->mode))
    return false;
  bench_seek(bench, round * bursts, round + 1);
  bench_run_slots(bench, (uint64_t)PERIODS_UNCOUNTED * arrivals->pattern_slots);
  take_reading(&compare->begin, bench);
  for (uint64_t left = compare->periods * arrivals->pattern_slots; left > 0; left--) {
    slot_times_t times;
    if (bench_run_slot(bench, &times))
      add_slot(series, &times);
  }
  take_reading(&compare->end, bench);
  add_block(series, bench->question->work.workers, &compare->begin, &compare->end);
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
  const double busy_s = environment_busy_s(bench->environment, &bench->cpus);
  for (uint32_t turn = 0; turn < compare->turn_count; turn++)
    if (!run_block(compare, &compare->series[compare->turns[turn]], round))
      return false;
  for (uint32_t i = 0; i < compare->series_count; i++)
    end_round(&compare->series[i], bench);
  const usage_t own = usage_since(begin, USAGE_PROCESS);
  const double end_s = environment_busy_s(bench->environment, &bench->cpus);
  compare->round_others[round] = (end_s - busy_s - own.cpu_s) / own.wall_s;
  return true;
}

static bool disturbed(const compare_t *compare, uint32_t round, uint64_t lost_periods)
{
  const arrivals_t *const arrivals = &compare->bench->arrivals;
  const uint64_t lost_us =
      (arrivals->lost_periods - lost_periods) * arrivals->pattern_slots * compare->bench->question->slot_us;
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

static void report_series(series_t *series, const bench_run_t *bench)
{
  report_t *const report = bench->report;
  const double slots = series->slots, worker_s = series->all.wall_s * bench->question->work.workers;
  report_text(report, "mode", series->mode->name);
  report_number(report, "lead_us", (double)series->mode->lead_ns * 1e-3);
  report_count(report, "slots", series->slots);
  if (series->slots == 0)
    return;
  report_number(report, "lateness_mean_us", (double)series->all.lateness_ns * 1e-3 / slots);
  report_number(report, "cpu_us", series->all.cpu_s * 1e6 / slots);
  report_number(report, "work_us", (double)series->all.work_ns * 1e-3 / slots);
  report_number(report, "cpu_per_work", series->all.cpu_s * 1e9 / (double)series->all.work_ns);
  report_number(report, "bound_us", series->bound_ns * 1e-3 / slots);
  report_percentiles(report, "lateness", series->lateness_ns, series->slots);
  report_percentiles(report, "last_lag", series->last_lag_ns, series->slots);
  report_percentiles(report, "makespan", series->makespan_ns, series->slots);
  report_number(report, "spin_percent", (double)series->spin_ns * 1e-7 / worker_s);
  report_number(report, "worker_extra_percent", series->all.worker_extra_s * 100 / worker_s);
  report_number(report, "spin_percent_max", series->spin_percent_max);
  for (uint32_t i = 0; i < COUNTERS; i++)
    report_count(report, counters[i].key, series->counted[i]);
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++) {
    char key[64];
    snprintf(key, sizeof key, "late: %s", ws_late_name((ws_late_t)i));
    if (series->late_by[i] > 0)
      report_count(report, key, series->late_by[i]);
  }
  report_numbers(report, "round_cost_us", series->round_cost_us, series->rounds);
}

void measure_compare(bench_run_t *bench)
{
  compare_t *const compare = allot(1, sizeof *compare);
  compare->bench = bench;
  plan_rounds(compare);
  plan_series(compare);
  if (!bench_set_mode(bench, &mode_auto))
    return;
  bench_run_slots(bench, bench_slots(bench, bench->question->warm_ms));
  if (!run_rounds(compare))
    return;
  for (uint32_t i = 0; i < compare->series_count; i++) {
    report_series(&compare->series[i], bench);
    report_numbers(bench->report, "round_others", compare->round_others, compare->rounds);
    report_print(bench->report);
  }
}
