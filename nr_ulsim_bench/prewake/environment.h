// SPDX-License-Identifier: BSD-3-Clause
/// @file environment.h
/// What is different about the machine while one question is answered.
#ifndef PREWAKE_ENVIRONMENT_H
#define PREWAKE_ENVIRONMENT_H

#include <sched.h>
#include <sys/types.h>

#include "question.h"
#include "report.h"

typedef struct {
  pid_t hogs[REQUEST_HOGS_MAX];
  uint32_t hog_count;
  int latency_fd; ///< -1 = not held
  char group[REQUEST_PATH_CHARS]; ///< folder of the control group; empty = none was made
} environment_t;

/// @brief For the process that outlives the measurement: hogs, /dev/cpu_dma_latency, control group.
/// @return false when it cannot be had; then the report says why under "skipped"
bool environment_open(environment_t *environment, const question_t *question, report_t *report);

void environment_close(environment_t *environment);

/// @brief For the measuring process, before it makes the pool: control group, CPUs, class, timer slack.
/// @return as environment_open()
bool environment_enter(const environment_t *environment, const question_t *question, report_t *report);

/// @return CPU time in s for which these CPUs were not idle, but for what the hogs had: meaningful as a
/// difference, and to within some 10 ms
double environment_busy_s(const environment_t *environment, const int32_t *cpus, uint32_t cpu_count);

/// @brief Put the calling thread into the real-time class, or out of it.
bool environment_set_class(bool realtime, report_t *report);

/// @return number of CPUs of the caller's mask, their numbers in @p cpus (CPU_SETSIZE entries)
uint32_t environment_cpus(int32_t *cpus);

/// @brief Pin the calling thread.
bool environment_pin(int32_t cpu);

/// Priority of real-time threads: above normal threads, below the kernel's own.
#define ENVIRONMENT_RT_PRIORITY 50

#endif
