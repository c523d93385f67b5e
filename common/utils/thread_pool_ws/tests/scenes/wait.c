// SPDX-License-Identifier: BSD-3-Clause
/// @file wait.c
/// Scenes: which tasks a wait runs, and that it ends.
#include "scene.h"

// A line of text is a line of the scene.
// clang-format off
SCENES("wait",
  {"a_wait_without_a_lane_runs_its_own_tasks_only",
   "pool workers=1 lanes=0; stand\n"
   "times 20: push other; push own in=g; push other in=h\n"
   "wait g; is ran own 20; is ran other 0\n"
   "let; wait h; settle; is ran other 40"},
  {"a_task_cannot_wait_for_its_pool",
   "pool workers=1\n"
   "inside: settle = -EDEADLK; stop drain = -EDEADLK\n"
   "push inside in=g; wait g; push inside in=h; wait h alone; is ran inside 2"},
  {"an_abort_skips_and_completes_groups",
   "pool workers=1; stand; push skipped 100 in=g\n"
   "aborter: stop abort = 100\n"
   "thread aborter; until queued_tasks <= 0; let; join\n"
   "is done g; wait g; is ran skipped 0; is skipped_tasks 100"},
)
// clang-format on
