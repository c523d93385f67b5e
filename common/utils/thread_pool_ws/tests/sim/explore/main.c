// SPDX-License-Identifier: BSD-3-Clause
/// @file main.c
/// ws_sim_explore: scenarios of the shipped core under adversarial schedules and faults.
///
///   ws_sim_explore seed=N           one scenario; prints what it did
///   ws_sim_explore show=N           the same in words, without running it
///   ws_sim_explore [first=N] [count=N] [seconds=S] [jobs=N] [findings=N] [verbose=1]
///
/// Exit status: 0, 1 with a finding, 2 where it could not run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim_runner.h"
#include "sim_scenario.h"

static sim_runner_t wanted = {.first = 1, .count = UINT64_MAX, .jobs = 2, .findings_max = 1};
static const char *shown;

static bool read_option(const char *word)
{
  const char *value = strchr(word, '=');
  if (!value)
    return false;
  const size_t length = (size_t)(value++ - word);
#define IS(name) (length == strlen(name) && strncmp(word, name, length) == 0)
  if (IS("seed") || IS("first"))
    wanted.first = strtoull(value, NULL, 10);
  if (IS("seed")) {
    wanted.count = wanted.jobs = 1;
    wanted.verbose = true;
  } else if (IS("count"))
    wanted.count = strtoull(value, NULL, 10);
  else if (IS("seconds"))
    wanted.seconds = atof(value);
  else if (IS("jobs"))
    wanted.jobs = (uint32_t)atoi(value);
  else if (IS("findings"))
    wanted.findings_max = (uint32_t)atoi(value);
  else if (IS("verbose"))
    wanted.verbose = atoi(value) != 0;
  else if (IS("show"))
    shown = value;
  else
    return IS("first");
  return true;
}

static void show(void)
{
  sim_scenario_t *scenario = malloc(sizeof(*scenario));
  if (!scenario)
    exit(2);
  sim_scenario_draw(scenario, strtoull(shown, NULL, 10));
  sim_scenario_show(scenario);
  free(scenario);
}

static double now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
  sim_runner_sum_t sum;
  for (int i = 1; i < argc; i++) {
    if (!read_option(argv[i])) {
      fprintf(stderr, "ws_sim_explore: \"%s\" is no option\n", argv[i]);
      return 2;
    }
  }
  if (shown) {
    show();
    return 0;
  }
  if (wanted.count == UINT64_MAX && wanted.seconds <= 0)
    wanted.seconds = 120;
  const double start_s = now_s();
  sim_runner_run(&wanted, &sum);
  const double seconds = now_s() - start_s;
  printf("%llu scenarios, %llu tasks, %llu steps, %llu findings; %.1f s, %.1f million steps a second, "
         "longest strand %.2f ms\n",
         (unsigned long long)sum.scenarios, (unsigned long long)sum.tasks, (unsigned long long)sum.points,
         (unsigned long long)sum.findings, seconds, (double)sum.points / seconds / 1e6,
         (double)sum.strand_ps / 1e9);
  return sum.findings > 0;
}
