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
static double ahead_ns = -1; ///< < 0: a quarter of what a line takes

static bool read_pool(const char *name)
{
  for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
    if (strcmp(pools[i].name, name) == 0) {
      wanted.pool = pools[i].pool;
      return true;
    }
  }
  return false;
}

static bool read_class(const char *name)
{
  static const char *const names[] = {"other", "rr", "rrall"};
  for (uint32_t i = 0; i < 3; i++) {
    if (strcmp(names[i], name) == 0) {
      wanted.classes = (sim_classes_t)i;
      return true;
    }
  }
  return false;
}

/// @return whether the word is about what else runs, or how the pool's workers wait
static bool read_conditions(const char *word, size_t length, const char *value)
{
#define IS(name) (length == strlen(name) && strncmp(word, name, length) == 0)
  if (IS("roam"))
    wanted.roam = (uint32_t)atoi(value);
  else if (IS("host_on_us"))
    wanted.host_on_us = atof(value);
  else if (IS("host_off_us"))
    wanted.host_off_us = atof(value);
  else if (IS("late_us"))
    wanted.late_us = atof(value);
  else if (IS("missing"))
    wanted.missing = atof(value);
  else if (IS("cycle"))
    wanted.cycle = strchr(value, '1') ? value : NULL;
  else if (IS("busy"))
    wanted.busy = (uint32_t)atoi(value);
  else if (IS("poll"))
    wanted.poll = atoi(value) != 0;
  else if (IS("pinned"))
    wanted.pinned = atoi(value) != 0;
  else if (IS("hot"))
    wanted.hot = atoi(value) != 0;
  else
    return false;
  return true;
}

static bool read_option(const char *word)
{
  const char *value = strchr(word, '=');
  if (!value)
    return false;
  const size_t length = (size_t)(value++ - word);
  if (read_conditions(word, length, value))
    return true;
  if (IS("pool"))
    return read_pool(value);
  if (IS("class"))
    return read_class(value);
  if (IS("slot"))
    return sim_plan_from_text(&wanted.plan, value);
  if (IS("file"))
    return sim_plan_from_file(&wanted.plan, value);
  if (IS("workers"))
    wanted.workers = (uint32_t)atoi(value);
  else if (IS("nested"))
    wanted.nested = (uint32_t)atoi(value);
  else if (IS("producers"))
    wanted.producers = (uint32_t)atoi(value);
  else if (IS("bursts"))
    wanted.bursts = (uint32_t)atoi(value);
  else if (IS("warm"))
    wanted.warm = (uint32_t)atoi(value);
  else if (IS("period_us"))
    wanted.period_us = atof(value);
  else if (IS("ahead_ns"))
    ahead_ns = atof(value);
  else if (IS("seed"))
    sim_random_seed((uint64_t)atoll(value));
  else if (IS("profile"))
    profile = (uint32_t)atoi(value);
  else
    return false;
  return true;
}

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
  sim_random_seed(1);
  for (int i = 1; i < argc; i++) {
    if (!read_option(argv[i]) && !sim_machine_set(argv[i])) {
      fprintf(stderr, "ws_sim_time: \"%s\" is no option, no cost of a machine, or no value\n", argv[i]);
      return 2;
    }
  }
  if (!is_sane())
    return 2;
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
