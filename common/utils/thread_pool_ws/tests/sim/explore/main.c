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

#include "sim_runner.h"
#include "sim_scenario.h"

static sim_runner_t wanted = {.first = 1, .count = UINT64_MAX, .jobs = 2, .findings_max = 1};
static uint64_t one, shown; ///< seeds; 0 = none

static const sim_word_t options[] = {{"seed", SIM_WORD_SEED, &one, NULL},
                                     {"show", SIM_WORD_SEED, &shown, NULL},
                                     {"first", SIM_WORD_SEED, &wanted.first, NULL},
                                     {"count", SIM_WORD_SEED, &wanted.count, NULL},
                                     {"seconds", SIM_WORD_NUMBER, &wanted.seconds, NULL},
                                     {"jobs", SIM_WORD_COUNT, &wanted.jobs, NULL},
                                     {"findings", SIM_WORD_COUNT, &wanted.findings_max, NULL},
                                     {"verbose", SIM_WORD_FLAG, &wanted.verbose, NULL},
                                     {0}};

int main(int argc, char **argv)
{
  sim_runner_sum_t sum;
  for (int i = 1; i < argc; i++) {
    if (!sim_word_read(options, argv[i])) {
      fprintf(stderr, "ws_sim_explore: \"%s\" is no option\n", argv[i]);
      return 2;
    }
  }
  if (shown > 0) {
    static sim_scenario_t scenario;
    sim_scenario_draw(&scenario, shown);
    sim_scenario_show(&scenario);
    return 0;
  }
  if (one > 0) {
    wanted.first = one;
    wanted.count = wanted.jobs = 1;
    wanted.verbose = true;
  }
  if (wanted.count == UINT64_MAX && wanted.seconds <= 0)
    wanted.seconds = 120;
  const double start_s = sim_runner_now_s();
  sim_runner_run(&wanted, &sum);
  const double seconds = sim_runner_now_s() - start_s;
  printf("%llu scenarios, %llu tasks, %llu steps, %llu findings; %.1f s, %.1f million steps a second, "
         "longest strand %.2f ms\n",
         (unsigned long long)sum.scenarios, (unsigned long long)sum.tasks, (unsigned long long)sum.points,
         (unsigned long long)sum.findings, seconds, (double)sum.points / seconds / 1e6,
         (double)sum.strand_ps / 1e9);
  return sum.findings > 0;
}
