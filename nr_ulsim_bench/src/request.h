// SPDX-License-Identifier: BSD-3-Clause
/// @file request.h
/// What to measure: words `key=value`, from the command line or one line of standard input.
#ifndef BENCH_REQUEST_H
#define BENCH_REQUEST_H

#include <sched.h> // IWYU pragma: export
#include <stdbool.h>
#include <stdint.h>

#include "arrivals.h" // IWYU pragma: export
#include "process.h" // IWYU pragma: export
#include "report.h" // IWYU pragma: export

#define REQUEST_BURSTS_MAX 4
#define REQUEST_ENV_MAX 8
#define REQUEST_NOISE_MAX (CPU_SETSIZE + 64)
#define REQUEST_BACKEND_CHARS 32
#define REQUEST_PATH_CHARS 512

typedef enum {
  BENCH_SLOT,
  BENCH_STREAM,
  BENCH_REPLAY,
  BENCH_COLISEUM,
  BENCH_WAKE,
  BENCH_IDLE,
  BENCH_PI,
  BENCH_INFO
} bench_t;
typedef enum { CLASS_OTHER, CLASS_RR, CLASS_RRALL, CLASS_FIFO } class_t; ///< FIFO: all, as RRALL
typedef enum { MODE_DEFAULT, MODE_HOT, MODE_PINNED } backend_mode_t;
typedef enum { WORK_EMPTY, WORK_FIB19, WORK_FIB17_19, WORK_FIB19_X1_3, WORK_NESTED } work_t;

typedef struct {
  uint32_t tasks;
  uint64_t work_ns; ///< of each task
} burst_t;

typedef struct {
  bench_t bench;
  char backend[REQUEST_BACKEND_CHARS];
  uint32_t workers;
  class_t sched_class;
  backend_mode_t mode;
  noise_t noise[REQUEST_NOISE_MAX]; ///< processes beside the measurement
  uint32_t noise_count;
  double limit_s; ///< a measurement that takes longer is killed
  char env[REQUEST_ENV_MAX][REQUEST_PATH_CHARS]; ///< "NAME=value", set before the pool's code is loaded
  uint32_t env_count;

  burst_t bursts[REQUEST_BURSTS_MAX]; ///< slot: chained in one slot
  uint32_t burst_count;
  uint64_t period_us; ///< slot, replay
  slot_arrivals_t arrivals; ///< slot, replay; its seed: coliseum, too
  uint64_t period_ns; ///< stream: from one task to the next
  uint32_t fan; ///< stream: tasks that each of its tasks pushes
  uint32_t slots; ///< slot, replay, wake: repetitions that count
  uint32_t histogram; ///< slot, replay: 1 = report how often each makespan came
  uint32_t warm_slots; ///< repetitions before those that count; reductions of pi
  char file[REQUEST_PATH_CHARS]; ///< replay
  work_t work; ///< coliseum
  uint32_t tasks; ///< coliseum: pushed; replay: most tasks of a phase in the file
  uint64_t idle_us; ///< wake, idle
  uint64_t intervals; ///< pi
  uint32_t pin_first, pin_step; ///< mode=pinned: see ws_settings_t
} request_t;

/// @brief Take "12x6+22x28", bursts of tasks x µs, which may have decimals, into @p request, a request_t.
bool request_parse_bursts(const char *text, void *request);

/// @brief Take a number of normal processes that compute all the time.
bool request_parse_hogs(const char *text, void *request);

/// @param line  as words_parse() has it
/// @return false after report_error()
bool request_parse(char *line, request_t *request, report_t *report);

#endif
