// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_ping.h
/// What fibers cost, one library at a time: the interface of each library's functions. All fibers of a
/// measurement run on one thread.
#ifndef LATCH_PING_H
#define LATCH_PING_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A function that the library does not have is NULL.
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

extern const ping_t ping_ws, ping_jump;
/// In the module liblatch_boost.so.
#define PING_BOOST "ping_boost"

#ifdef __cplusplus
}
#endif
#endif
