// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_clock.c
/// ws_clock.h.
#include "ws_clock.h"

#include <string.h>
#include <time.h>

#define APART_NS 4000000u ///< between the two pairs that give the rate
#define TRIES 8u ///< for a pair
#define TRIES_MAX 1000u ///< while each took longer than this
#define WIDTH_NS_MAX 20000u

struct ws_clock_s ws_clock;

static uint64_t real_ns(void)
{
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t ticks(void)
{
  return ws_clock_ticks();
}

static uint64_t own_clock(void)
{
  return ws_clock_ns();
}

typedef struct {
  uint64_t own, other, width;
} pair_t;

/// @param wide  an own width from which a pair does not count, if there is a tighter one in TRIES_MAX
static pair_t read_pair(uint64_t (*own)(void), uint64_t (*other)(void), uint64_t wide)
{
  pair_t best = {.width = UINT64_MAX};
  for (uint32_t i = 0; i < TRIES || (i < TRIES_MAX && best.width > wide); i++) {
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
  if (ticks() == 0 || strncmp(source, "tsc", 3) != 0)
    return;
  const pair_t first = read_pair(ticks, ws_os_now_ns, WIDTH_NS_MAX);
  ws_os_futex_wait(&(ws_au32_t){0}, 0, APART_NS);
  const pair_t last = read_pair(ticks, ws_os_now_ns, WIDTH_NS_MAX);
  const double rate = (double)(last.other - first.other) / (double)(last.own - first.own);
  const bool is_tight = (double)(first.width + last.width) * rate < 2 * WIDTH_NS_MAX;
  ws_clock.ns_a_tick = is_tight ? rate : 0;
}

void ws_clock_pair(uint64_t *own_ns, uint64_t *at_real_ns)
{
  const pair_t pair = read_pair(own_clock, real_ns, WIDTH_NS_MAX);
  *own_ns = pair.own;
  *at_real_ns = pair.other;
}
