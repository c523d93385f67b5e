// SPDX-License-Identifier: BSD-3-Clause
// Modes against each other: in one pool, in turns, on the same grid of slots. What the machine does meanwhile
// hits all of them alike, and so do the arrivals of a round.
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

/// Readings that mean something as differences only.
typedef struct {
  usage_t process, producer;
  uint64_t inject_ns;
} reading_t;

/// What the blocks of a round cost.
typedef struct {
  uint64_t slots, lateness_ns, work_ns;
  double cpu_s, wall_s;
  double worker_extra_s; ///< CPU time of all threads but the producer's beyond their tasks
} cost_t;

/// The measured figures of one mode.
typedef struct {
  uint64_t *lateness_ns; ///< of each slot
  uint32_t slots;
  cost_t *rounds;
} series_t;

typedef struct {
  bench_run_t *bench;
  series_t series[MODES_MAX];
  uint32_t turns[TURNS_MAX]; ///< of a round: index into series
  uint64_t periods; ///< counted ones of a block
  uint32_t rounds;
  double round_others[ROUNDS_MAX]; ///< CPUs that other processes, or the host, had in a round, on average
} compare_t;

static void plan_rounds(compare_t *compare)
{
  const question_t *const question = compare->bench->question;
  const arrivals_t *const arrivals = &compare->bench->arrivals;
  const uint64_t wanted = bench_slots(compare->bench, question->block_ms) / arrivals->pattern_slots;
  compare->periods = wanted > PERIODS_COUNTED_MIN ? wanted : PERIODS_COUNTED_MIN;
  const uint64_t block_us =
      (compare->periods + PERIODS_UNCOUNTED) * arrivals->pattern_slots * question->slot_us;
  const uint64_t rounds = question->measure_ms * 1000 / (block_us * question->turn_count);
  compare->rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : (uint32_t)rounds;
  for (uint32_t mode = 0; mode < question->mode_count; mode++) {
    const uint64_t slots = compare->periods * arrivals->pattern_bursts * question->modes[mode].turns;
    compare->series[mode].lateness_ns = allot(slots * compare->rounds, sizeof(uint64_t));
    compare->series[mode].rounds = allot(compare->rounds, sizeof(cost_t));
  }
  memcpy(compare->turns, question->turns, sizeof compare->turns);
}

static reading_t take_reading(const bench_run_t *bench)
{
  return (reading_t){usage_now(USAGE_PROCESS), usage_now(USAGE_THREAD), inject_cpu_ns()};
}

static void add_slot(series_t *series, cost_t *round, const slot_times_t *times)
{
  series->lateness_ns[series->slots++] = times->lateness_ns;
  round->slots++;
  round->lateness_ns += times->lateness_ns;
  round->work_ns += times->work_ns;
  round->worker_extra_s -= (double)times->worker_work_ns * 1e-9;
}

/// A block lay between two readings; add_slot() has seen its slots.
static void add_block(series_t *series, cost_t *round, const reading_t *begin, const reading_t *end)
{
  // What the injection computed stands for a CPU that sleeps: no part of what the pool costs.
  const double inject_s = (double)(end->inject_ns - begin->inject_ns) * 1e-9;
  const double cpu_s = end->process.cpu_s - begin->process.cpu_s - inject_s;
  round->wall_s += end->process.wall_s - begin->process.wall_s;
  round->cpu_s += cpu_s;
  round->worker_extra_s += cpu_s - (end->producer.cpu_s - begin->producer.cpu_s);
}

static bool run_block(const compare_t *compare, const spin_mode_t *mode, series_t *series, uint32_t round)
{
  bench_run_t *const bench = compare->bench;
  const arrivals_t *const arrivals = &bench->arrivals;
  const uint64_t bursts = (compare->periods + PERIODS_UNCOUNTED) * arrivals->pattern_bursts;
  if (!bench_set_mode(bench, mode->spin, mode->lead_ns))
    return false;
  bench_seek(bench, round * bursts, round + 1);
  bench_run_slots(bench, (uint64_t)PERIODS_UNCOUNTED * arrivals->pattern_slots);
  const reading_t begin = take_reading(bench);
  for (uint64_t left = compare->periods * arrivals->pattern_slots; left > 0; left--) {
    slot_times_t times;
    if (bench_run_slot(bench, &times))
      add_slot(series, &series->rounds[round], &times);
  }
  const reading_t end = take_reading(bench);
  add_block(series, &series->rounds[round], &begin, &end);
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
  const question_t *const question = bench->question;
  const usage_t begin = usage_now(USAGE_PROCESS);
  const double busy_s = environment_busy_s(bench->environment, &bench->cpus);
  for (uint32_t turn = 0; turn < question->turn_count; turn++) {
    const uint32_t mode = compare->turns[turn];
    if (!run_block(compare, &question->modes[mode], &compare->series[mode], round))
      return false;
  }
  const usage_t own = usage_since(begin, USAGE_PROCESS);
  const double end_s = environment_busy_s(bench->environment, &bench->cpus);
  compare->round_others[round] = (end_s - busy_s - own.cpu_s) / own.wall_s;
  return true;
}

/// In us a slot. spin_price holds for one worker: a microsecond of its lateness against microseconds of its
/// own CPU time.
static double cost_us(const bench_run_t *bench, const cost_t *cost)
{
  const double slots = (double)cost->slots;
  const double extra_us = (cost->cpu_s * 1e6 - (double)cost->work_ns * 1e-3) / slots;
  const uint32_t helpers = bench->helpers ? bench->helpers : 1;
  return (double)cost->lateness_ns * 1e-3 / slots + extra_us / helpers / bench->question->spin_price;
}

static void report_series(const compare_t *compare, const spin_mode_t *mode, series_t *series)
{
  const bench_run_t *const bench = compare->bench;
  report_t *const report = bench->report;
  cost_t all = {0};
  double round_cost_us[ROUNDS_MAX];
  for (uint32_t i = 0; i < compare->rounds; i++) {
    const cost_t *const round = &series->rounds[i];
    all.lateness_ns += round->lateness_ns;
    all.work_ns += round->work_ns;
    all.cpu_s += round->cpu_s;
    all.wall_s += round->wall_s;
    all.worker_extra_s += round->worker_extra_s;
    round_cost_us[i] = cost_us(bench, round);
  }
  const double slots = series->slots, worker_s = all.wall_s * bench->question->work.workers;
  report_text(report, "mode", mode->name);
  report_count(report, "slots", series->slots);
  report_number(report, "lateness_mean_us", (double)all.lateness_ns * 1e-3 / slots);
  report_number(report, "cpu_us", all.cpu_s * 1e6 / slots);
  report_number(report, "work_us", (double)all.work_ns * 1e-3 / slots);
  report_percentiles(report, "lateness", series->lateness_ns, series->slots);
  report_number(report, "worker_extra_percent", all.worker_extra_s * 100 / worker_s);
  report_numbers(report, "round_cost_us", round_cost_us, compare->rounds);
  report_numbers(report, "round_others", compare->round_others, compare->rounds);
  report_print(report);
}

void measure_compare(bench_run_t *bench)
{
  const question_t *const question = bench->question;
  compare_t *const compare = allot(1, sizeof *compare);
  random_t order = {.state = question->seed};
  compare->bench = bench;
  plan_rounds(compare);
  if (!bench_set_mode(bench, WS_SPIN_AUTO, 0))
    return;
  bench_run_slots(bench, bench_slots(bench, question->warm_ms));
  for (uint32_t round = 0; round < compare->rounds; round++) {
    shuffle(compare->turns, question->turn_count, &order);
    if (!run_round(compare, round))
      return;
  }
  for (uint32_t mode = 0; mode < question->mode_count; mode++)
    report_series(compare, &question->modes[mode], &compare->series[mode]);
}
