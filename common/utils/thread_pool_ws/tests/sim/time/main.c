// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// ws_sim_time: one setting on one simulated machine. Words "name=value": of the machine (sim_machine.h), and
/// those of options below. Prints one JSON object, whose figures are simulated.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_bursts.h"
#include "sim_libc.h"
#include "sim_memory.h"
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
static uint32_t profile;
static uint64_t seed = 1;
static double ahead_ns = -1; ///< < 0: a quarter of what a line takes

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

static bool read_slot(const char *text)
{
  return sim_plan_from_text(&wanted.plan, text);
}

static bool read_file(const char *path)
{
  return sim_plan_from_file(&wanted.plan, path);
}

static const sim_word_t options[] = {{"pool", SIM_WORD_CALL, NULL, read_pool},
                                     {"class", SIM_WORD_CALL, NULL, read_class},
                                     {"slot", SIM_WORD_CALL, NULL, read_slot},
                                     {"file", SIM_WORD_CALL, NULL, read_file},
                                     {"workers", SIM_WORD_COUNT, &wanted.workers, NULL},
                                     {"hot", SIM_WORD_FLAG, &wanted.hot, NULL},
                                     {"pinned", SIM_WORD_FLAG, &wanted.pinned, NULL},
                                     {"nested", SIM_WORD_COUNT, &wanted.nested, NULL},
                                     {"producers", SIM_WORD_COUNT, &wanted.producers, NULL},
                                     {"bursts", SIM_WORD_COUNT, &wanted.bursts, NULL},
                                     {"warm", SIM_WORD_COUNT, &wanted.warm, NULL},
                                     {"period_us", SIM_WORD_NUMBER, &wanted.period_us, NULL},
                                     {"roam", SIM_WORD_COUNT, &wanted.roam, NULL},
                                     {"host_on_us", SIM_WORD_NUMBER, &wanted.host_on_us, NULL},
                                     {"host_off_us", SIM_WORD_NUMBER, &wanted.host_off_us, NULL},
                                     {"poll", SIM_WORD_FLAG, &wanted.poll, NULL},
                                     {"ahead_ns", SIM_WORD_NUMBER, &ahead_ns, NULL},
                                     {"seed", SIM_WORD_SEED, &seed, NULL},
                                     {"profile", SIM_WORD_COUNT, &profile, NULL},
                                     {0}};

/// Compare-and-swaps a slot, and those that failed, by the function they stand in.
static void describe_swaps(char *text, size_t bytes)
{
  size_t used = (size_t)snprintf(text, bytes, ", \"swaps\": {");
  const char *comma = "";
  for (const sim_swaps_t *site = sim_swaps_first(); site && used < bytes; site = site->next) {
    if (site->tries == 0)
      continue;
    used += (size_t)snprintf(text + used, bytes - used, "%s\"%s %zu\": [%.2f, %.2f]", comma, site->function,
                             (size_t)(uintptr_t)site & 0xffff, (double)site->tries / wanted.bursts,
                             (double)site->lost / wanted.bursts);
    comma = ", ";
  }
  if (used < bytes)
    snprintf(text + used, bytes - used, "}");
}

static bool is_sane(void)
{
  if (wanted.plan.phases == 0 || wanted.bursts == 0 || wanted.producers == 0)
    fprintf(stderr, "ws_sim_time: nothing to do: slot=, file=, bursts=, producers=\n");
  else if (wanted.producers > SIM_PRODUCERS_MAX || (wanted.producers > 1 && wanted.pool != &bench_backend_ws))
    fprintf(stderr, "ws_sim_time: at most %u producers, several with the ws pool only\n", SIM_PRODUCERS_MAX);
  else if (wanted.nested > 0 && !wanted.pool->fork_join)
    fprintf(stderr, "ws_sim_time: this pool cannot nest\n");
  else
    return true;
  return false;
}

int main(int argc, char **argv)
{
  static sim_series_t series;
  static char swaps[4096];
  sim_machine_default();
  for (int i = 1; i < argc; i++) {
    if (!sim_word_read(options, argv[i]) && !sim_machine_set(argv[i])) {
      fprintf(stderr, "ws_sim_time: \"%s\" is no option, no cost of a machine, or no value\n", argv[i]);
      return 2;
    }
  }
  if (!is_sane())
    return 2;
  sim_random_seed(seed);
  sim_ahead_ps = sim_ps(ahead_ns >= 0 ? ahead_ns : sim_machine.llc_ns / 4);
  if (profile > 0)
    sim_profile_begin();
  if (!sim_bursts_run(&wanted, &series)) {
    fprintf(stderr, "ws_sim_time: it did not end within a minute of virtual time\n");
    return 1;
  }
  describe_swaps(swaps, sizeof(swaps));
  sim_series_print(&series, swaps);
  if (profile > 0)
    sim_profile_print(profile, wanted.bursts + wanted.warm);
  return 0;
}
