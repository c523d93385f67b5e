// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_clock.c
/// ws_clock.h.
#include "ws_clock.h"

#include <string.h>

#define APART_NS 4000000u ///< between the two pairs that give the rate
#define TRIES 8u ///< for a pair
#define TRIES_MAX 1000u ///< while each took longer than this: ns, or ticks
#define WIDTH_MAX 20000u

struct ws_clock_s ws_clock;

typedef struct {
  uint64_t own, other, width;
} pair_t;

static pair_t read_pair(uint64_t (*own)(void), uint64_t (*other)(void))
{
  pair_t best = {.width = UINT64_MAX};
  for (uint32_t i = 0; i < TRIES || (i < TRIES_MAX && best.width > WIDTH_MAX); i++) {
    const uint64_t before = own(), at = other(), width = own() - before;
    if (width < best.width)
      best = (pair_t){before + width / 2, at, width};
  }
  return best;
}

void ws_clock_begin(void)
{
  char source[8] = "";
  ws_os_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
  ws_clock.ns_a_tick = 0;
  if (ws_clock_ticks() == 0 || strncmp(source, "tsc", 3) != 0)
    return;
  const pair_t first = read_pair(ws_clock_ticks, ws_os_now_ns);
  ws_os_futex_wait(&(ws_au32_t){0}, 0, APART_NS);
  const pair_t last = read_pair(ws_clock_ticks, ws_os_now_ns);
  const double rate = (double)(last.other - first.other) / (double)(last.own - first.own);
  const bool is_tight = (double)(first.width + last.width) * rate < 2 * WIDTH_MAX;
  ws_clock.ns_a_tick = is_tight ? rate : 0;
}

void ws_clock_pair(uint64_t *own_ns, uint64_t *at_real_ns)
{
  const pair_t pair = read_pair(ws_clock_ns, ws_os_real_ns);
  *own_ns = pair.own;
  *at_real_ns = pair.other;
}
