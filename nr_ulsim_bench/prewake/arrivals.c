// SPDX-License-Identifier: BSD-3-Clause
#include "arrivals.h"

#include <string.h>

#include "clock.h"

uint64_t random_next(random_t *random)
{
  random->state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t bits = random->state;
  bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
  return bits ^ (bits >> 31);
}

uint64_t random_below(random_t *random, uint64_t bound)
{
  return random_next(random) % bound;
}

void arrivals_begin(arrivals_t *arrivals, const question_t *question)
{
  *arrivals = (arrivals_t){
      .question = question,
      .base_ns = clock_now_ns() + 4 * question->slot_us * 1000,
      .slot_ns = (double)question->slot_us * 1e3 * (1 + question->drift_ppm * 1e-6),
  };
  arrivals_set_pattern(arrivals, question->pattern);
  arrivals_seed(arrivals, 0);
}

void arrivals_set_pattern(arrivals_t *arrivals, const char *pattern)
{
  arrivals->pattern = pattern;
  arrivals->pattern_slots = (uint32_t)strlen(pattern);
  arrivals->pattern_bursts = 0;
  for (const char *slot = pattern; *slot; slot++)
    arrivals->pattern_bursts += *slot == 'U';
  // Slots are counted in whole patterns.
  while (arrivals->slot % arrivals->pattern_slots)
    arrivals->slot++;
}

void arrivals_shift(arrivals_t *arrivals, uint64_t shift_ns)
{
  arrivals->base_ns += shift_ns;
}

void arrivals_seed(arrivals_t *arrivals, uint64_t block)
{
  arrivals->random.state = arrivals->question->seed << 32 ^ block;
}

static uint64_t slot_begin_ns(const arrivals_t *arrivals)
{
  return arrivals->base_ns + (uint64_t)((double)arrivals->slot * arrivals->slot_ns);
}

static void drop_lost_periods(arrivals_t *arrivals)
{
  const uint64_t now_ns = clock_now_ns();
  while (slot_begin_ns(arrivals) + (uint64_t)arrivals->slot_ns < now_ns) {
    arrivals->slot += arrivals->pattern_slots;
    arrivals->lost_periods++;
  }
}

uint64_t arrivals_next(arrivals_t *arrivals)
{
  const question_t *const question = arrivals->question;
  if (arrivals->slot % arrivals->pattern_slots == 0)
    drop_lost_periods(arrivals);
  const uint64_t begin_ns = slot_begin_ns(arrivals);
  const uint64_t slot = arrivals->slot++;
  if (arrivals->pattern[slot % arrivals->pattern_slots] == 'D')
    return 0;
  // Both are drawn in any case, so that the next slot's do not depend on this one's.
  const bool occupied = random_below(&arrivals->random, 100) < question->occupancy_percent;
  const uint64_t jitter_ns = random_below(&arrivals->random, 2 * question->jitter_us * 1000 + 1);
  return occupied ? begin_ns + jitter_ns - question->jitter_us * 1000 : 0;
}

uint64_t arrivals_periods(const arrivals_t *arrivals, uint64_t duration_ms)
{
  const uint64_t period_us = arrivals->pattern_slots * arrivals->question->slot_us;
  return (duration_ms * 1000 + period_us - 1) / period_us;
}
