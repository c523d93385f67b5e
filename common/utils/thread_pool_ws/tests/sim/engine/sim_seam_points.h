// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_seam_points.h
/// What sim_seam.h calls before each atomic operation.
#ifndef SIM_SEAM_POINTS_H
#define SIM_SEAM_POINTS_H

/// What becomes of the compare-and-swaps of one place in the code.
typedef struct sim_swaps_s {
  const char *function;
  unsigned long tries, lost;
  int is_linked;
  struct sim_swaps_s *next;
} sim_swaps_t;
void sim_swapped(sim_swaps_t *site, int done);

/// @return the first of all places that have swapped, linked by next
const sim_swaps_t *sim_swaps_first(void);
void sim_swaps_reset(void);

void sim_load(const volatile void *word);
void sim_prefetch(const volatile void *word);
void sim_store(const volatile void *word);
void sim_modify(const volatile void *word);
void sim_fence(void);
void sim_pause(void);

#endif
