// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_costs.h
/// What fibers of one library cost: a switch, a mutex that is passed on, a fiber, and many that sleep. All
/// fibers of a measurement run on one thread.
#ifndef LATCH_COSTS_H
#define LATCH_COSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "report.h"

#define SLEEPERS_MAX 100000

/// The functions of a library.
typedef struct {
  const char *version;
  /// @brief Two fibers yield @p count times each. @return ns a switch from one fiber to the next; 0 = failed
  double (*yield)(uint32_t count);
  /// @brief Two fibers, @p count times each: lock, yield, unlock, yield. So each lock finds the mutex locked,
  /// and each unlock passes it on.
  /// @return ns from one lock to the next, of either fiber; 0 = failed, or a fiber locked twice in a row more
  ///         than now and then
  double (*hand_over)(uint32_t count);
  /// @brief A fiber starts @p at_once fibers and joins them, @p count in all. @return ns a fiber; 0 = failed
  double (*spawn)(uint32_t count, uint32_t at_once);
  /// @brief @p count fibers, each of which sleeps once.
  /// @param deadline_ns  [count] CLOCK_MONOTONIC
  /// @param late_ns      [count] out, how much later the fiber ran
  bool (*sleep)(const uint64_t *deadline_ns, uint64_t *late_ns, uint32_t count);
} ping_t;

/// Of this project, of the module liblatch_boost.so, which exports its ping_t as ping_boost.
typedef enum { COST_WS, COST_BOOST } cost_of_t;

typedef struct {
  uint32_t count; ///< of switches; locks and fibers are a tenth of it
  uint32_t sleepers; ///< fibers that sleep at once
  uint32_t spread_ms; ///< their deadlines lie so far apart
} cost_request_t;

void costs_measure(report_t *report, cost_of_t of, const cost_request_t *request);

#endif
