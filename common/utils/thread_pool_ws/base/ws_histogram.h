// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_histogram.h
/// Histogram of times. The width of the buckets grows with the time, so any quantile is known to within an
/// eighth. One thread adds at a time, any thread reads; histograms of several threads add up.
///
/// Buckets  Eight of the same width in every octave from 128 ns to 1.07 s. Shorter and longer times count in
///          the first and the last bucket.
#ifndef WS_HISTOGRAM_H
#define WS_HISTOGRAM_H

#include <stdint.h>

#include "ws_atomic.h"

#define WS_HISTOGRAM_FIRST_OCTAVE 7u
#define WS_HISTOGRAM_OCTAVES 23u
/// Buckets an octave: a power of two.
#define WS_HISTOGRAM_SPLIT_BITS 3u
#define WS_HISTOGRAM_SPLIT (1u << WS_HISTOGRAM_SPLIT_BITS)
#define WS_HISTOGRAM_BUCKETS (WS_HISTOGRAM_OCTAVES * WS_HISTOGRAM_SPLIT)

/// All zero = empty.
typedef struct {
  ws_au64_t count[WS_HISTOGRAM_BUCKETS]; ///< O its owner writes, all read
} ws_histogram_t;

/// The sum of histograms, for one thread. All zero = empty.
typedef struct {
  uint64_t count[WS_HISTOGRAM_BUCKETS];
  uint64_t values; ///< in all buckets
} ws_histogram_sum_t;

_Static_assert(sizeof(ws_histogram_t) <= 1536, "a worker has one for each class of what it measures");

/// @return the bucket in which a time counts
static inline uint32_t ws_histogram_bucket(uint64_t ns)
{
  if (ns < (uint64_t)1 << WS_HISTOGRAM_FIRST_OCTAVE)
    return 0;
  const uint32_t octave = 63u - (uint32_t)__builtin_clzll(ns);
  if (octave >= WS_HISTOGRAM_FIRST_OCTAVE + WS_HISTOGRAM_OCTAVES)
    return WS_HISTOGRAM_BUCKETS - 1;
  const uint32_t part = (uint32_t)(ns >> (octave - WS_HISTOGRAM_SPLIT_BITS)) & (WS_HISTOGRAM_SPLIT - 1);
  return (octave - WS_HISTOGRAM_FIRST_OCTAVE) * WS_HISTOGRAM_SPLIT + part;
}

/// @return the first time that is too long for the bucket; of the last one, in which longer times count,
/// too, 2^30
static inline uint64_t ws_histogram_end_ns(uint32_t bucket)
{
  const uint32_t octave = WS_HISTOGRAM_FIRST_OCTAVE + bucket / WS_HISTOGRAM_SPLIT;
  const uint64_t eighths = WS_HISTOGRAM_SPLIT + bucket % WS_HISTOGRAM_SPLIT + 1;
  return eighths << (octave - WS_HISTOGRAM_SPLIT_BITS);
}

/// @brief Count a time. @threads  one at a time: of two at once one may get lost
static inline void ws_histogram_add(ws_histogram_t *histogram, uint64_t ns)
{
  ws_au64_t *count = &histogram->count[ws_histogram_bucket(ns)];
  ws_stat_store(count, ws_stat_load(count) + 1); // one writer
}

/// @brief Add what @p histogram holds now to @p sum.
/// @threads  any
static inline void ws_histogram_merge(ws_histogram_sum_t *sum, const ws_histogram_t *histogram)
{
  for (uint32_t i = 0; i < WS_HISTOGRAM_BUCKETS; i++) {
    const uint64_t count = ws_stat_load(&histogram->count[i]);
    sum->count[i] += count;
    sum->values += count;
  }
}

/// @param permille  1 .. 1000
/// @return a time that @p permille of the values do not exceed, at most an eighth above the shortest such
/// time; 0 = no values. Values below 128 ns, and from 1.07 s on, are known as that only: 144 ns, 2^30 ns
static inline uint64_t ws_histogram_quantile(const ws_histogram_sum_t *sum, uint32_t permille)
{
  if (sum->values == 0)
    return 0;
  const uint64_t rank = (sum->values * permille + 999) / 1000;
  uint64_t passed = 0;
  uint32_t bucket = 0;
  while ((passed += sum->count[bucket]) < rank)
    bucket++;
  return ws_histogram_end_ns(bucket);
}

#endif
