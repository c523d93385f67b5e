// SPDX-License-Identifier: BSD-3-Clause
/// @file question.h
/// What ws-prewake is asked: the modes to compare, the radio's timing, the work, the environment.
#ifndef PREWAKE_QUESTION_H
#define PREWAKE_QUESTION_H

#include "request.h"
#include "ws_pool.h"

#define QUESTION_MODES_MAX 64
#define QUESTION_MODE_CHARS 16
#define QUESTION_PATTERN_CHARS 256

typedef enum { ASK_COMPARE, ASK_STEP, ASK_IDLE, ASK_CANARY } ask_t;

typedef struct {
  char name[QUESTION_MODE_CHARS]; ///< off, hot, auto, fixed:<us>
  ws_spin_t spin;
  uint64_t lead_ns; ///< WS_SPIN_FIXED
} spin_mode_t;

typedef struct {
  ask_t ask;
  request_t work; ///< of it: workers, sched_class, hogs, limit_s, bursts, file

  spin_mode_t modes[QUESTION_MODES_MAX]; ///< one that stands here twice gets twice the time
  uint32_t mode_count;
  uint32_t cap_percent; ///< spin_cpu_max_percent of all but the fixed leads
  uint32_t spin_price; ///< of the pool

  uint64_t slot_us;
  char pattern[QUESTION_PATTERN_CHARS]; ///< a character a slot: U = a burst may come, D = none
  char next_pattern[QUESTION_PATTERN_CHARS]; ///< ASK_STEP: the one that follows
  uint32_t occupancy_percent; ///< of the U slots that have one
  uint64_t jitter_us; ///< arrivals lie within that, before or after, of the slot's begin
  int32_t drift_ppm; ///< the radio's clock against this machine's
  uint64_t seed;

  uint64_t warm_ms; ///< in mode auto, before the measurement
  uint64_t measure_ms; ///< all modes together
  uint64_t block_ms; ///< counted time of a mode before it is another's turn

  uint64_t slack_ns; ///< timer slack of the workers
  int64_t dma_latency_us; ///< held in /dev/cpu_dma_latency; -1 = not
  uint32_t quota_percent; ///< of one CPU, by a control group; 0 = none
  uint32_t cpus; ///< use these many; 0 = all
  uint32_t pin; ///< 1 = the producer on the first CPU, workers on the others
  uint64_t inject_us; ///< each wake of a worker takes that much longer
  uint32_t bimodal_percent; ///< of the wakes take four times inject_us longer
} question_t;

extern const char question_usage[];

/// @param line   words separated by tabs; cut to pieces
/// @param error  out, text for the user when false is returned
bool question_parse(char *line, question_t *question, char *error, uint32_t error_size);

#endif
