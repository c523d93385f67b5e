// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_window.h
/// The last samples of a time, or of a count, in order: quantiles, a lead's cost, the best length of a wait.
/// The results are exact over those samples, so no distribution is assumed, and old samples leave after a
/// known number of new ones. One thread at a time.
#ifndef WS_WINDOW_H
#define WS_WINDOW_H

#include <stdint.h>

/// Samples kept: 32 ms of slots of 0.5 ms; the fifth largest is the 0.93 quantile.
#define WS_WINDOW_SAMPLES 64u

typedef struct {
  uint32_t count, next;
  int32_t sorted[WS_WINDOW_SAMPLES]; ///< ns, ascending
  int32_t recent[WS_WINDOW_SAMPLES]; ///< ns, in order of arrival; next is the oldest when full
} ws_window_t;

/// @brief Move a running mean towards @p value, by a sixteenth of the difference.
static inline void ws_mean_follow(double *mean, double value)
{
  *mean += (value - *mean) / 16;
}

/// @brief Add a sample. If there are WS_WINDOW_SAMPLES already, the oldest leaves. The sample is cut to what
/// 32 bits of ns hold, -2.1 to 2.1 s.
void ws_window_add(ws_window_t *window, int64_t ns);

/// @param permille  0 .. 1000; 0 = the smallest sample
/// @return the smallest sample that at least @p permille of them do not exceed; 0 when there are none
int64_t ws_window_quantile(const ws_window_t *window, uint32_t permille);

/// @return mean of sample - @p ns, each cut to 0 .. @p most_ns; 0 when there are none
int64_t ws_window_above(const ws_window_t *window, int64_t ns, int64_t most_ns);

/// @return mean of max(0, @p ns - sample); 0 when there are none
int64_t ws_window_below(const ws_window_t *window, int64_t ns);

/// @return share of the samples that are at most @p ns; 0 when there are none
double ws_window_reached(const ws_window_t *window, int64_t ns);

/// @brief Compute the best time to wait for an event that is distributed as the samples. Waiting costs its
/// time. Each event at or before @p bound_ns that the wait does not reach costs @p miss_ns more. The latest
/// of n samples is not the latest possible: one more is assumed, as far beyond the latest as the latest is
/// beyond the median of those that the wait can reach.
/// @param from_ns  the wait begins; events before it cost nothing
/// @param absent   times that the event did not come at all, for each sample
/// @return the end of the best wait: @p from_ns = do not wait, also without samples that a wait can reach;
///         else the time of a sample, or of the assumed one, at most @p bound_ns
/// Source: optimal stopping on the empirical distribution
int64_t ws_window_best_wait(const ws_window_t *window, int64_t from_ns, int64_t bound_ns, double absent,
                            int64_t miss_ns);

#endif
