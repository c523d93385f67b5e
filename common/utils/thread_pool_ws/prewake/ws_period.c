// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_period.c
/// The pattern: after which time it repeats, and when in it there are bursts. No grid of the radio's
/// numerology is assumed.
#include <math.h>

#include "ws_prewake_state.h"

/// Time differences that a pattern is judged by.
#define DIFFERENCES 24u
/// With fewer differences no pattern is looked for.
#define DIFFERENCES_MIN 8u
/// A pattern's deviation may be this part of the mean gap between bursts. Arrivals at random deviate by 0.8
/// of a gap for m = 1, and by 3 for m = 16.
#define DEVIATION_PART 8
/// Earlier bursts from which the due time of the last one is computed. The period's error counts for each.
#define FORERUNNERS 5u
/// Cells of a grid that a pattern may span: 10 ms of slots of 0.5 ms.
#define CELLS_MAX 20u
/// Occupied cells that a grid must have shown.
#define GRID_ARRIVALS_MIN 24u
/// Wrong guesses that each further cell of a pattern must save, or long patterns would win by chance.
#define CELL_COST 0.75

/// By insertion: some tens of values. The C library's qsort() may allocate, and a worker that has run out of
/// work must not.
static void sort(double *values, uint32_t count)
{
  for (uint32_t i = 1; i < count; i++) {
    const double value = values[i];
    uint32_t hole = i;
    for (; hole > 0 && values[hole - 1] > value; hole--)
      values[hole] = values[hole - 1];
    values[hole] = value;
  }
}

/// Sorts the values, at least one. @return the upper one of two in the middle
static double median(double *values, uint32_t count)
{
  sort(values, count);
  return values[count / 2];
}

/// @param period_ns  out: the median of the last times from an arrival to the m-th next
/// @return their mean deviation from it; negative: too few of them, and @p period_ns is not set
static double deviation(const uint64_t *arrivals, uint32_t count, uint32_t m, double *period_ns)
{
  double d[DIFFERENCES], sum = 0;
  uint32_t n = 0;
  for (uint32_t i = count; i-- > m && n < DIFFERENCES;)
    d[n++] = (double)(arrivals[i] - arrivals[i - m]);
  if (n < DIFFERENCES_MIN || n < m)
    return -1;
  *period_ns = median(d, n);
  for (uint32_t i = 0; i < n; i++)
    sum += fabs(d[i] - *period_ns);
  return sum / n;
}

/// @return when the burst at @p index was due, by the median lateness against the bursts one, two, ...
///         periods before: it may itself have been an exception, but only by being late
static uint64_t usual_ns(const uint64_t *arrivals, uint32_t index, uint32_t m, double period_ns)
{
  double late[FORERUNNERS];
  uint32_t n = 0;
  for (; n < FORERUNNERS && n * m <= index; n++)
    late[n] = (double)(arrivals[index] - arrivals[index - n * m]) - n * period_ns;
  const double usual_late_ns = median(late, n);
  return arrivals[index] - (usual_late_ns > 0 ? (uint64_t)usual_late_ns : 0);
}

/// Put a burst in its place in the pattern: behind those that came longer ago.
static void add_burst(ws_pattern_t *pattern, uint64_t last_ns, double occupancy)
{
  uint32_t i = pattern->bursts++;
  for (; i > 0 && pattern->burst[i - 1].last_ns > last_ns; i--)
    pattern->burst[i] = pattern->burst[i - 1];
  pattern->burst[i].last_ns = last_ns;
  pattern->burst[i].occupancy = occupancy;
}

/// Find the pattern of bursts that all come. @return whether there is one
static bool find_complete(const uint64_t *arrivals, uint32_t count, ws_pattern_t *pattern)
{
  double spread[WS_PHASES_MAX + 1], period_ns[WS_PHASES_MAX + 1];
  double least = 1e18;
  for (uint32_t m = 1; m <= WS_PHASES_MAX; m++) {
    spread[m] = deviation(arrivals, count, m, &period_ns[m]);
    if (spread[m] >= 0 && spread[m] < least)
      least = spread[m];
  }
  for (uint32_t m = 1; m <= WS_PHASES_MAX; m++) {
    // Multiples of the right m are as good; the smallest that is about as good as any is meant.
    const bool good = spread[m] >= 0 && spread[m] * DEVIATION_PART * m <= period_ns[m];
    if (!good || spread[m] > 2 * least + period_ns[m] / m / 100)
      continue;
    *pattern = (ws_pattern_t){.period_ns = period_ns[m]};
    for (uint32_t i = count - m; i < count; i++)
      add_burst(pattern, usual_ns(arrivals, i, m, period_ns[m]), 1);
    return true;
  }
  return false;
}

/// @return width of the cells of a grid on which @p gaps, in ascending order, may lie. The many short gaps
///         show how many cells a long gap has, which jitter would hide otherwise. 0 = one is a pause
static double cell_width_ns(const double *gaps, uint32_t count)
{
  const double smallest_ns = gaps[count / 8]; // some may be shorter by jitter
  double width_ns = smallest_ns, sum_ns = 0, cells = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (gaps[i] > 64 * smallest_ns)
      return 0; // a pause: gaps before it are not comparable
    sum_ns += gaps[i];
    cells += (uint32_t)(gaps[i] / width_ns + 0.5);
    width_ns = i >= count / 8 ? sum_ns / cells : smallest_ns;
  }
  return width_ns;
}

/// @param cell  out: number of the cell of each arrival, from the first one's
/// @return width of the cells of a grid on which all arrivals lie, 0 = there is none
static double find_cell_ns(const uint64_t *arrivals, uint32_t count, uint32_t *cell)
{
  double gaps[WS_ARRIVALS];
  for (uint32_t i = 1; i < count; i++)
    gaps[i - 1] = (double)(arrivals[i] - arrivals[i - 1]);
  sort(gaps, count - 1);
  const double width_ns = cell_width_ns(gaps, count - 1);
  if (width_ns <= 0)
    return 0;
  double off = 0;
  cell[0] = 0;
  for (uint32_t i = 1; i < count; i++) {
    const double gap = (double)(arrivals[i] - arrivals[i - 1]) / width_ns;
    const uint32_t n = (uint32_t)(gap + 0.5);
    off += fabs(gap - n);
    cell[i] = cell[i - 1] + n;
  }
  // off is 1/4 a gap for times at random
  const bool on_grid = off * DEVIATION_PART <= count - 1 && cell[count - 1] > 0;
  return on_grid ? (double)(arrivals[count - 1] - arrivals[0]) / cell[count - 1] : 0;
}

/// @param occupancy  out: of each cell of the pattern, the share of the periods in which it is occupied
/// @return how badly a pattern of @p cells cells tells which are occupied: wrong guesses, and its length
static double badness(const uint32_t *cell, uint32_t count, uint32_t cells, double *occupancy)
{
  const double periods = (double)(cell[count - 1] + 1) / cells;
  double wrong = 0;
  memset(occupancy, 0, CELLS_MAX * sizeof(*occupancy));
  for (uint32_t i = 0; i < count; i++)
    occupancy[cell[i] % cells] += 1 / periods;
  for (uint32_t r = 0; r < cells; r++) {
    occupancy[r] = occupancy[r] < 1 ? occupancy[r] : 1;
    wrong += occupancy[r] < 0.5 ? occupancy[r] : 1 - occupancy[r];
  }
  return wrong * periods + CELL_COST * cells;
}

/// Find the pattern of bursts on a grid, some of which do not come. @return whether there is one
static bool find_on_grid(const uint64_t *arrivals, uint32_t count, ws_pattern_t *pattern)
{
  uint32_t cell[WS_ARRIVALS];
  double occupancy[CELLS_MAX];
  const double cell_ns = count >= GRID_ARRIVALS_MIN ? find_cell_ns(arrivals, count, cell) : 0;
  if (cell_ns <= 0)
    return false;
  uint32_t best = 1;
  double least = badness(cell, count, 1, occupancy);
  for (uint32_t cells = 2; cells <= CELLS_MAX && cells * 3 <= cell[count - 1] + 1; cells++) {
    const double bad = badness(cell, count, cells, occupancy);
    if (bad < least) {
      least = bad;
      best = cells;
    }
  }
  badness(cell, count, best, occupancy);
  *pattern = (ws_pattern_t){.period_ns = best * cell_ns};
  for (uint32_t r = 0; r < best && pattern->bursts < WS_PHASES_MAX; r++) {
    if (best > 1 && occupancy[r] < 0.25)
      continue;
    const uint32_t back = (cell[count - 1] + best - r) % best; // cells since it was due
    add_burst(pattern, arrivals[count - 1] - (uint64_t)(back * cell_ns), occupancy[r]);
  }
  return pattern->bursts > 0;
}

bool ws_period_find(const uint64_t *arrivals, uint32_t count, ws_pattern_t *pattern)
{
  return count > DIFFERENCES_MIN
         && (find_complete(arrivals, count, pattern) || find_on_grid(arrivals, count, pattern));
}
