// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_swaps.c
/// Counts of compare-and-swaps, by place in the code.
#include <stdbool.h>
#include <stddef.h>

#include "sim_seam_points.h"
#include "sim_thread.h"

static sim_swaps_t *first;

void sim_swapped(sim_swaps_t *site, int done)
{
  if (!sim_self)
    return;
  if (!site->is_linked) {
    site->is_linked = 1;
    site->next = first;
    first = site;
  }
  site->tries++;
  site->lost += !done;
}

const sim_swaps_t *sim_swaps_first(void)
{
  return first;
}

void sim_swaps_reset(void)
{
  for (sim_swaps_t *site = first; site; site = site->next)
    site->tries = site->lost = 0;
}
