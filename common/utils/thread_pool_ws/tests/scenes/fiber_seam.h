// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_seam.h
/// Scenes with fibers: a clock of the scene's own, threads that stand between two steps, resources that run
/// out.
#ifndef FIBER_SEAM_H
#define FIBER_SEAM_H

#include "../../os/ws_os.h"
#include "scene.h"

/// A scene begins: the machine's clock, no holds, all resources.
void fiber_seam_begin(void);

/// "clock": time passes by "elapse TIME" only, from now on.
void fiber_seam_clock(scene_words_t words);
void fiber_seam_elapse(scene_words_t words);
/// @return the time of the last "clock"
uint64_t fiber_seam_zero(void);
/// @return looks of workers at it since then
uint64_t fiber_seam_reads(void);
/// @return sleeps of threads outside that ended by their time limit
uint64_t fiber_seam_expired(void);
/// @return threads between ws_blocking_begin() and ws_blocking_end()
uint32_t fiber_seam_blocked(void);

/// "hold PLACE": the calling thread stands in the scene's gate at its next step of that kind.
void fiber_seam_hold(scene_words_t words);
/// "deny RESOURCE": there is none from now on. "deny none": there is all.
void fiber_seam_deny(scene_words_t words);
bool fiber_seam_denies(void);

#endif
