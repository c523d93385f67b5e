// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_seam.h
/// Scenes with fibers: a clock of the scene's own, threads that stand between two steps, resources that run
/// out.
#ifndef FIBER_SEAM_H
#define FIBER_SEAM_H

#include "../../os/ws_os.h" // IWYU pragma: export
#include "scene.h" // IWYU pragma: export

/// What the functions in the seam have seen.
typedef struct {
  ws_au64_t zero_ns; ///< the time of the last "clock"
  ws_au64_t reads, wakes; ///< since then, by workers: looks at the clock, wakes of threads
  ws_au64_t expired; ///< sleeps with "hold limit" that ended by their time limit
  ws_au32_t blocked; ///< threads between ws_blocking_begin() and ws_blocking_end()
  ws_au32_t denied; ///< resources: bits
} fiber_seam_t;
extern fiber_seam_t fiber_seam;

/// A scene begins: the machine's clock, no holds, all resources.
void fiber_seam_begin(void);

/// "clock": time passes by "elapse TIME" only, from now on.
void seam_clock(scene_words_t words);
void seam_elapse(scene_words_t words);
/// "hold PLACE": the calling thread stands in the scene's gate at its next step of that kind.
void seam_hold(scene_words_t words);
/// "deny RESOURCE": there is none from now on. "deny none": there is all.
void seam_deny(scene_words_t words);

#endif
