// SPDX-License-Identifier: BSD-3-Clause
/// @file test_histogram.c
/// Buckets join without gaps, a quantile is right to within an eighth, sums of histograms, and a full bucket.

#include "../../../base/ws_histogram.h"
#include "../../support/ws_test.h"

#define FIRST_NS 128u
#define END_NS 1073741824u ///< 2^30

TEST_CASE(buckets_join_without_gaps)
{
  uint64_t start_ns = FIRST_NS;
  for (uint32_t bucket = 0; bucket < WS_HISTOGRAM_BUCKETS; bucket++) {
    const uint64_t end_ns = ws_histogram_end_ns(bucket);
    CU_ASSERT_TRUE_FATAL(end_ns > start_ns && end_ns - start_ns <= start_ns / 8);
    CU_ASSERT_EQUAL(ws_histogram_bucket(start_ns), bucket);
    CU_ASSERT_EQUAL(ws_histogram_bucket(end_ns - 1), bucket);
    start_ns = end_ns;
  }
  CU_ASSERT_EQUAL(start_ns, END_NS);
}

TEST_CASE(what_is_beyond_counts_at_the_ends)
{
  CU_ASSERT_EQUAL(ws_histogram_bucket(0), 0);
  CU_ASSERT_EQUAL(ws_histogram_bucket(1), 0);
  CU_ASSERT_EQUAL(ws_histogram_bucket(FIRST_NS - 1), 0);
  CU_ASSERT_EQUAL(ws_histogram_bucket(END_NS), WS_HISTOGRAM_BUCKETS - 1);
  CU_ASSERT_EQUAL(ws_histogram_bucket(UINT64_MAX), WS_HISTOGRAM_BUCKETS - 1);
}

static int compare(const void *left, const void *right)
{
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

/// Values between the ends, as many short as long ones.
TEST_CASE(quantiles_are_right_to_within_an_eighth)
{
  enum { VALUES = 5001 };
  static uint64_t value[VALUES];
  static ws_histogram_t histogram;
  uint64_t state = test_seed();
  for (uint32_t i = 0; i < VALUES; i++) {
    const uint64_t octave_ns = (uint64_t)FIRST_NS << (test_random(&state) % 23);
    value[i] = octave_ns + test_random(&state) % octave_ns;
    ws_histogram_add(&histogram, value[i]);
  }
  qsort(value, VALUES, sizeof(value[0]), compare);
  ws_histogram_sum_t sum = {0};
  ws_histogram_merge(&sum, &histogram);
  CU_ASSERT_EQUAL(sum.values, VALUES);
  uint32_t wrong = 0;
  for (uint32_t permille = 1; permille <= 1000; permille++) {
    const uint64_t rank = ((uint64_t)VALUES * permille + 999) / 1000;
    const uint64_t exact_ns = value[rank - 1], found_ns = ws_histogram_quantile(&sum, permille);
    wrong += found_ns <= exact_ns || found_ns - exact_ns > exact_ns / 8;
  }
  CU_ASSERT_EQUAL(wrong, 0);
}

TEST_CASE(sums_of_several)
{
  static ws_histogram_t fast, slow;
  ws_histogram_sum_t sum = {0};
  CU_ASSERT_EQUAL(ws_histogram_quantile(&sum, 500), 0); // nothing is known
  for (uint32_t i = 0; i < 99; i++)
    ws_histogram_add(&fast, 1000);
  ws_histogram_add(&slow, 1000000);
  ws_histogram_merge(&sum, &fast);
  ws_histogram_merge(&sum, &slow);
  CU_ASSERT_EQUAL(sum.values, 100);
  CU_ASSERT_EQUAL(ws_histogram_bucket(ws_histogram_quantile(&sum, 500) - 1), ws_histogram_bucket(1000));
  CU_ASSERT_EQUAL(ws_histogram_bucket(ws_histogram_quantile(&sum, 990) - 1), ws_histogram_bucket(1000));
  CU_ASSERT_EQUAL(ws_histogram_bucket(ws_histogram_quantile(&sum, 991) - 1), ws_histogram_bucket(1000000));
}

TEST_CASE(each_value_counts_after_weeks)
{
  static ws_histogram_t histogram;
  ws_store_relaxed(&histogram.count[ws_histogram_bucket(5000)], UINT32_MAX - 1);
  for (uint32_t i = 0; i < 3; i++)
    ws_histogram_add(&histogram, 5000);
  ws_histogram_sum_t sum = {0};
  ws_histogram_merge(&sum, &histogram);
  CU_ASSERT_EQUAL(sum.values, (uint64_t)UINT32_MAX + 2);
  CU_ASSERT_TRUE(ws_histogram_quantile(&sum, 999) > 5000);
}

TEST_MAIN("histogram")
