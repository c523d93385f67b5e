// SPDX-License-Identifier: BSD-3-Clause
/// @file test_window.c
/// The window of samples against a plain list of the last 64: quantiles, what is missing and too much, what
/// 32 bits cannot hold. The best wait: prewake/test_lead.c.
#include <math.h>

#include "../../../base/ws_window.h"
#include "../../support/ws_test.h"

/// The reference: samples in order of arrival, of which the last WS_WINDOW_SAMPLES count.
typedef struct {
  uint32_t count;
  int64_t sample[WS_WINDOW_SAMPLES];
} list_t;

static int64_t cut(int64_t ns)
{
  return ns > INT32_MAX ? INT32_MAX : ns < INT32_MIN ? INT32_MIN : ns;
}

static void list_add(list_t *list, int64_t ns)
{
  if (list->count == WS_WINDOW_SAMPLES)
    memmove(&list->sample[0], &list->sample[1], --list->count * sizeof(list->sample[0]));
  list->sample[list->count++] = cut(ns);
}

static int64_t list_quantile(const list_t *list, uint32_t permille)
{
  int64_t best = INT64_MAX;
  for (uint32_t i = 0; i < list->count; i++) {
    uint32_t reached = 0;
    for (uint32_t j = 0; j < list->count; j++)
      reached += list->sample[j] <= list->sample[i];
    if (reached * 1000 >= permille * list->count && list->sample[i] < best)
      best = list->sample[i];
  }
  return list->count ? best : 0;
}

/// Means over the samples: how far above @p ns, at most @p most_ns each; how far below; and the share that is
/// not above.
typedef struct {
  double above, below, reached;
} means_t;

static means_t list_means(const list_t *list, int64_t ns, int64_t most_ns)
{
  means_t means = {0};
  for (uint32_t i = 0; i < list->count; i++) {
    const double off = (double)(list->sample[i] - ns);
    means.above += fmin(fmax(0, off), (double)most_ns) / list->count;
    means.below += fmax(0, -off) / list->count;
    means.reached += (off <= 0) / (double)list->count;
  }
  return means;
}

/// A sample: often one of few values, so that there are equal ones; sometimes none that 32 bits hold.
static int64_t any_sample(uint64_t *state)
{
  const int64_t random = (int64_t)test_random(state);
  switch (test_random(state) % 8) {
    case 0:
      return random;
    case 1:
      return random % 3000000000;
    case 2:
    case 3:
      return random % 5;
    default:
      return random % 100000;
  }
}

TEST_CASE(as_a_plain_list_of_the_last)
{
  uint64_t state = test_seed();
  uint32_t wrong = 0;
  for (uint32_t round = 0; round < 20; round++) {
    ws_window_t window = {0};
    list_t list = {0};
    for (uint32_t i = 0; i < 300; i++) {
      const int64_t ns = any_sample(&state), at = cut(any_sample(&state));
      ws_window_add(&window, ns);
      list_add(&list, ns);
      wrong += window.count != list.count;
      const uint32_t permille = (uint32_t)(test_random(&state) % 1001);
      wrong += ws_window_quantile(&window, permille) != list_quantile(&list, permille);
      const int64_t most = (int64_t)(test_random(&state) % 200000);
      const means_t some = list_means(&list, at, most), all = list_means(&list, at, INT64_MAX);
      wrong += fabs((double)ws_window_above(&window, at, most) - some.above) > 1;
      wrong += fabs((double)ws_window_above(&window, at, INT64_MAX) - all.above) > 1;
      wrong += fabs((double)ws_window_below(&window, at) - all.below) > 1;
      wrong += fabs(ws_window_reached(&window, at) - all.reached) > 1e-9;
    }
  }
  CU_ASSERT_EQUAL(wrong, 0);
}

TEST_CASE(nothing_is_known)
{
  const ws_window_t window = {0};
  CU_ASSERT_EQUAL(ws_window_quantile(&window, 500), 0);
  CU_ASSERT_EQUAL(ws_window_above(&window, -10, 100), 0);
  CU_ASSERT_EQUAL(ws_window_below(&window, 10), 0);
  CU_ASSERT_EQUAL(ws_window_best_wait(&window, -7, 100, 0.5, 1000), -7);
  CU_ASSERT_TRUE(ws_window_reached(&window, 1000) <= 0);
}

TEST_MAIN("window")
