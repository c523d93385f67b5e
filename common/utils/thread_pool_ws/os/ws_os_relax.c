// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_relax.c
/// ws_os.h: how long a pause takes, kept for the whole process, as all pools have the same CPUs.
#include "ws_os.h"

#define ITERATION_NS 100u
#define TRIES 3u ///< the shortest counts: an interruption makes a try longer
#define PAUSES_A_TRY 64u

uint32_t ws_relax_pauses;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/// Set ws_relax_pauses to what fills ITERATION_NS, at least 1.
static void measure(void)
{
  uint64_t least_ns = UINT64_MAX;
  for (uint32_t try = 0; try < TRIES; try++) {
    const uint64_t start_ns = ws_os_now_ns();
    for (uint32_t i = 0; i < PAUSES_A_TRY; i++)
      ws_pause();
    const uint64_t ns = ws_os_now_ns() - start_ns;
    least_ns = ns < least_ns ? ns : least_ns;
  }
  const uint64_t fill = least_ns == 0 ? 1 : (PAUSES_A_TRY * ITERATION_NS + least_ns / 2) / least_ns;
  ws_relax_pauses = fill < 1 ? 1 : (uint32_t)fill;
}

void ws_relax_init(void)
{
  pthread_once(&once, measure);
}

void ws_relax(void)
{
  for (uint32_t i = 0; i < ws_relax_pauses; i++)
    ws_pause();
}
