// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_runner.h
/// Scenarios one by one, each in a process of its own that begins as the same copy of this one: nothing of
/// one reaches the next, and a seed gives the same run whatever ran before it.
#ifndef SIM_RUNNER_H
#define SIM_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint64_t first; ///< seed
  uint64_t count;
  double seconds; ///< at most; 0 = no limit
  uint32_t jobs; ///< host processes at once
  uint32_t findings_max; ///< enough of them
  bool verbose; ///< a line for each scenario
} sim_runner_t;

typedef struct {
  uint64_t scenarios, tasks, points, findings;
  int64_t strand_ps; ///< the longest
} sim_runner_sum_t;

/// @return the host's time
double sim_runner_now_s(void);

void sim_runner_run(const sim_runner_t *wanted, sim_runner_sum_t *sum);

#endif
