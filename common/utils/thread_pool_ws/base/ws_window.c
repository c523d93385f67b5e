// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_window.c
/// ws_window.h.
#include "ws_window.h"

#include <string.h>

/// @return the number of samples that are at most @p ns
static uint32_t up_to(const ws_window_t *window, int64_t ns)
{
  uint32_t low = 0, high = window->count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (window->sorted[middle] <= ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void ws_window_add(ws_window_t *window, int64_t ns)
{
  const int32_t value = ns > INT32_MAX ? INT32_MAX : ns < INT32_MIN ? INT32_MIN : (int32_t)ns;
  if (window->count == WS_WINDOW_SAMPLES) {
    const uint32_t after = up_to(window, window->recent[window->next]);
    memmove(&window->sorted[after - 1], &window->sorted[after], (window->count - after) * sizeof(value));
    window->count--;
  }
  const uint32_t at = up_to(window, value);
  memmove(&window->sorted[at + 1], &window->sorted[at], (window->count - at) * sizeof(value));
  window->sorted[at] = value;
  window->count++;
  window->recent[window->next] = value;
  window->next = (window->next + 1) % WS_WINDOW_SAMPLES;
}

int64_t ws_window_quantile(const ws_window_t *window, uint32_t permille)
{
  if (window->count == 0)
    return 0;
  const uint32_t rank = (window->count * permille + 999) / 1000; // 1 = the smallest
  const uint32_t index = rank > 0 ? rank - 1 : 0;
  return window->sorted[index < window->count ? index : window->count - 1];
}

int64_t ws_window_above(const ws_window_t *window, int64_t ns, int64_t most_ns)
{
  int64_t sum = 0;
  for (uint32_t i = window->count; i-- > 0 && window->sorted[i] > ns;)
    sum += window->sorted[i] - ns < most_ns ? window->sorted[i] - ns : most_ns;
  return window->count ? sum / window->count : 0;
}

int64_t ws_window_below(const ws_window_t *window, int64_t ns)
{
  int64_t sum = 0;
  for (uint32_t i = 0; i < window->count && window->sorted[i] < ns; i++)
    sum += ns - window->sorted[i];
  return window->count ? sum / window->count : 0;
}

double ws_window_reached(const ws_window_t *window, int64_t ns)
{
  return window->count ? (double)up_to(window, ns) / window->count : 0;
}

int64_t ws_window_best_wait(const ws_window_t *window, int64_t from_ns, int64_t bound_ns, double absent,
                            int64_t miss_ns)
{
  const uint32_t first = up_to(window, from_ns), last = up_to(window, bound_ns); // what a wait can reach
  if (first >= last)
    return from_ns;
  const double never = window->count - last + absent * window->count;
  const int64_t latest_ns = window->sorted[last - 1];
  const int64_t beyond_ns = latest_ns + latest_ns - window->sorted[(first + last) / 2];
  double reached = 0; // sum of the waits that end with their event
  double best = (double)(last - first + 1) * (double)miss_ns;
  int64_t best_ns = from_ns;
  for (uint32_t i = first; i <= last; i++) {
    const int64_t until_ns = i < last ? window->sorted[i] : beyond_ns < bound_ns ? beyond_ns : bound_ns;
    const double wait = (double)(until_ns - from_ns);
    reached += wait;
    const double cost = reached + (last - i) * (wait + (double)miss_ns) + never * wait;
    if (cost < best) {
      best = cost;
      best_ns = until_ns;
    }
  }
  return best_ns;
}
