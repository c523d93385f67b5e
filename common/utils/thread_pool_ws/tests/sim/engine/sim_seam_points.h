// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_seam_points.h
/// What sim_seam.h calls before each atomic operation, for the engine itself.
#ifndef SIM_SEAM_POINTS_H
#define SIM_SEAM_POINTS_H

void sim_load(const volatile void *word);
void sim_store(const volatile void *word);
void sim_modify(const volatile void *word);
void sim_fence(void);
void sim_pause(void);

#endif
