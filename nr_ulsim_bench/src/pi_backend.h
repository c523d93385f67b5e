// SPDX-License-Identifier: BSD-3-Clause
/// @file pi_backend.h
/// What a library must offer to compute pi: one table of functions, exported by its module as `pi_backend`.
/// A module is loaded in a process that computes with it and ends.
#ifndef PI_BACKEND_H
#define PI_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The integral of 4 / (1 + x * x) from 0 to 1, by the midpoint rule.
typedef struct {
  uint64_t intervals;
  /// The sum of the heights of the intervals [first, end). One function of the program, so that all libraries
  /// run the same instructions.
  double (*sum)(uint64_t intervals, uint64_t first, uint64_t end);
} pi_integral_t;

typedef struct {
  uint32_t workers; ///< threads beside the caller, which computes too
  uint32_t pin_step; ///< > 0: every so many CPUs of the process's mask get a thread. Needs can_pin
} pi_settings_t;

typedef struct {
  const char *version;
  bool can_pin;
  /// Start the threads and return when all are there. @return NULL = they cannot be had
  void *(*create)(const pi_settings_t *settings);
  /// @return the sum of the heights of all intervals
  double (*reduce)(void *pool, const pi_integral_t *integral);
  void (*destroy)(void *pool);
} pi_backend_t;

#define PI_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
}
#endif
#endif
