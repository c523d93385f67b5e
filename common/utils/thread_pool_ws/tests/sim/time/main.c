// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// ws_sim_time: one setting on one simulated machine. Words "name=value": of the machine (sim_machine.h), and
/// those of options below. Prints one JSON object, whose figures are simulated.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_bursts.h"
#include "sim_libc.h"
#include "sim_random.h"
#include "sim_seam_points.h"

extern const bench_backend_t bench_backend_ws, bench_backend_mutex_queue, bench_backend_mutex_per_worker;

static const struct {
  const char *name;
  const bench_backend_t *pool;
} pools[] = {{"ws", &bench_backend_ws},
             {"mutex-queue", &bench_backend_mutex_queue},
             {"mutex-per-worker", &bench_backend_mutex_per_worker}};

static sim_bursts_t wanted = {
    .pool = &bench_backend_ws, .workers = 1, .producers = 1, .bursts = 400, .warm = 800};
static uint64_t seed = 1;

static bool read_pool(const char *name)
{
  wanted.pool = NULL;
  for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
    if (strcmp(pools[i].name, name) == 0)
      wanted.pool = pools[i].pool;
  return wanted.pool != NULL;
}

static bool read_class(const char *name)
{
  wanted.classes = strcmp(name, "rrall") == 0 ? SIM_RR_ALL : strcmp(name, "rr") == 0 ? SIM_RR : SIM_OTHER;
  return wanted.classes != SIM_OTHER || strcmp(name, "other") == 0;
}

static bool read_arrivals(const char *name)
{
  static const char *const rhythms[] = {"regular", "exponential", "onoff", "first"};
  rhythm_t *rhythm = &wanted.arrivals.rhythm;
  for (*rhythm = ARRIVALS_REGULAR; *rhythm <= ARRIVALS_FIRST; (*rhythm)++)
    if (strcmp(rhythms[*rhythm], name) == 0)
      return true;
  return false;
}

static bool read_noise(const char *name)
{
  static const char *const noises[] = {"calm",  "long", "longer", "more",     "mutex",  "read",
                                       "sleep", "pool", "serial", "producer", "beside", "stops"};
  for (wanted.noise = SIM_CALM; wanted.noise <= SIM_STOPS; wanted.noise++)
    if (strcmp(noises[wanted.noise], name) == 0)
      return true;
  return false;
}

static request_t request; ///< its slot or file, as the benchmark reads them

static bool read_slot(const char *text)
{
  return request_parse_bursts(text, &request);
}

static bool read_file(const char *path)
{
  return (size_t)snprintf(request.file, sizeof(request.file), "%s", path) < sizeof(request.file);
}

static const sim_word_t options[] = {{"pool", SIM_WORD_CALL, NULL, read_pool},
                                     {"class", SIM_WORD_CALL, NULL, read_class},
                                     {"slot", SIM_WORD_CALL, NULL, read_slot},
                                     {"file", SIM_WORD_CALL, NULL, read_file},
                                     {"workers", SIM_WORD_COUNT, &wanted.workers, NULL},
                                     {"pinned", SIM_WORD_FLAG, &wanted.pinned, NULL},
                                     {"nested", SIM_WORD_COUNT, &wanted.nested, NULL},
                                     {"producers", SIM_WORD_COUNT, &wanted.producers, NULL},
                                     {"bursts", SIM_WORD_COUNT, &wanted.bursts, NULL},
                                     {"warm", SIM_WORD_COUNT, &wanted.warm, NULL},
                                     {"period_us", SIM_WORD_NUMBER, &wanted.period_us, NULL},
                                     {"arrivals", SIM_WORD_CALL, NULL, read_arrivals},
                                     {"varied", SIM_WORD_COUNT, &wanted.arrivals.varied, NULL},
                                     {"roam", SIM_WORD_COUNT, &wanted.roam, NULL},
                                     {"host_on_us", SIM_WORD_NUMBER, &wanted.host_on_us, NULL},
                                     {"host_off_us", SIM_WORD_NUMBER, &wanted.host_off_us, NULL},
                                     {"stolen", SIM_WORD_FLAG, &wanted.stolen, NULL},
                                     {"noise", SIM_WORD_CALL, NULL, read_noise},
                                     {"every", SIM_WORD_COUNT, &wanted.every, NULL},
                                     {"quota_later", SIM_WORD_NUMBER, &wanted.quota_later, NULL},
                                     {"noise_us", SIM_WORD_NUMBER, &wanted.noise_us, NULL},
                                     {"poll", SIM_WORD_FLAG, &wanted.poll, NULL},
                                     {"seed", SIM_WORD_SEED, &seed, NULL},
                                     {0}};

static int compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// Between the two neighbours.
static double percentile(double *values, uint32_t count, double share)
{
  if (count == 0)
    return 0;
  qsort(values, count, sizeof(double), compare);
  const double at = share * (count - 1);
  const uint32_t below = (uint32_t)at;
  const uint32_t above = below + 1 < count ? below + 1 : below;
  return values[below] + (values[above] - values[below]) * (at - below);
}

/// @return how many values are not negative; those come first
static uint32_t keep(double *values, uint32_t count)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (values[i] >= 0)
      values[kept++] = values[i];
  return kept;
}

/// Compare-and-swaps a slot, and those that failed, by the function they stand in.
static void print_swaps(void)
{
  const char *comma = "";
  printf(", \"swaps\": {");
  for (const sim_swaps_t *site = sim_swaps_first(); site; site = site->next) {
    if (site->tries == 0)
      continue;
    printf("%s\"%s %zu\": [%.2f, %.2f]", comma, site->function, (size_t)(uintptr_t)site & 0xffff,
           (double)site->tries / wanted.bursts, (double)site->lost / wanted.bursts);
    comma = ", ";
  }
  printf("}");
}

/// One JSON object.
static void print_series(sim_series_t *series)
{
  const double slots = series->slots;
  const uint32_t starts = keep(series->start_us, series->slots);
  printf("{\"simulated\": true, \"slots\": %u, \"p50_us\": %.3f, \"p99_us\": %.3f, \"bound_us\": %.3f, "
         "\"whole_us\": %.3f, ",
         series->slots, percentile(series->makespan_us, series->slots, 0.5),
         percentile(series->makespan_us, series->slots, 0.99), series->bound_us / slots,
         series->whole_us / slots);
  if (starts > 0)
    printf("\"start_lag_us\": %.3f, ", percentile(series->start_us, starts, 0.5));
  if (series->work_us > 0)
    printf("\"cpu_per_work\": %.4f, ", series->busy_us / series->work_us);
  printf("\"full_us\": %.3f, \"wakes\": %.3f, \"preempted\": %.4f, \"cpu_us\": %.3f, \"tasks_per_s\": %.0f",
         percentile(series->full_us, series->slots, 0.5), series->wakes / slots, series->preempted / slots,
         series->busy_us / slots, series->tasks / series->wall_us * 1e6);
  printf(", \"gaps_us\": [%.3f, %.3f, %.3f]", percentile(series->gap_us, series->slots, 0.1),
         percentile(series->gap_us, series->slots, 0.5), percentile(series->gap_us, series->slots, 0.9));
  print_swaps();
  printf(", \"late\": {\"bursts\": %llu", (unsigned long long)series->ledger.bursts);
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    printf(", \"%s\": %llu", ws_cause_name((ws_cause_t)i), (unsigned long long)series->ledger.by[i].bursts);
  printf("}}\n");
}

static bool is_sane(void)
{
  if ((request.burst_count == 0 && !request.file[0]) || wanted.bursts == 0 || wanted.producers == 0)
    fprintf(stderr, "ws_sim_time: nothing to do: slot=, file=, bursts=, producers=\n");
  else if (wanted.producers > SIM_PRODUCERS_MAX || (wanted.producers > 1 && wanted.pool != &bench_backend_ws))
    fprintf(stderr, "ws_sim_time: at most %u producers, several with the ws pool only\n", SIM_PRODUCERS_MAX);
  else if (wanted.arrivals.rhythm != ARRIVALS_REGULAR && wanted.period_us <= 0)
    fprintf(stderr, "ws_sim_time: irregular arrivals need period_us=\n");
  else if (wanted.nested > 0 && !wanted.pool->fork_join)
    fprintf(stderr, "ws_sim_time: this pool cannot nest\n");
  else
    return true;
  return false;
}

int main(int argc, char **argv)
{
  static sim_series_t series;
  static report_t report;
  sim_machine_default();
  for (int i = 1; i < argc; i++) {
    if (!sim_word_read(options, argv[i]) && !sim_machine_set(argv[i])) {
      fprintf(stderr, "ws_sim_time: \"%s\" is no option, no cost of a machine, or no value\n", argv[i]);
      return 2;
    }
  }
  if (!is_sane())
    return 2;
  if (!slot_plan_make(&wanted.plan, &request, &report)) {
    report_print(&report);
    return 2;
  }
  sim_random_seed(seed);
  wanted.arrivals.seed = seed;
  sim_ahead_ps = sim_ps(sim_machine.llc_ns / 4);
  if (!sim_bursts_run(&wanted, &series)) {
    fprintf(stderr, "ws_sim_time: it did not end within a minute of virtual time\n");
    return 1;
  }
  print_series(&series);
  return 0;
}
