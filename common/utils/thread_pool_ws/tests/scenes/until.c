// SPDX-License-Identifier: BSD-3-Clause
/// @file until.c
/// Scenes: waits with a deadline.
#include "scene.h"

// clang-format off
#define SLOW "slow: sleep 20ms\n"
SCENES("until",
  {"a_wait_past_its_deadline_runs_nothing",
   "pool workers=1; stand; push own 5 in=g; push other 5\n"
   "wait g within=0 = -ETIMEDOUT; wait g alone within=0 = -ETIMEDOUT; settle within=0 = -ETIMEDOUT\n"
   "is ran own 0; is ran other 0; wait g within=never; is ran own 5; wait g within=0; wait g alone within=0"},
  {"no_task_begins_after_the_deadline", SLOW
   "pool workers=1; stand; push slow 5 in=g; push other 5\n"
   "wait g within=10ms = -ETIMEDOUT; is began slow <= 1; is done g 0\n"
   "wait g within=never; is ran slow 5; is ran other 0"},
  {"a_worker_waits_again_for_what_is_left", SLOW
   "pool workers=1\n"
   "nested: push slow 5 in=g; wait g within=10ms = -ETIMEDOUT; is began slow <= 1; "
   "wait g alone within=0 = -ETIMEDOUT\n"
   "nested: wait g within=never; is ran slow 5\n"
   "push nested in=all; wait all alone"},
  {"the_waits_around_a_late_one_run_what_is_left", SLOW
   "pool workers=1; stand\n"
   "leaves: push slow 5 in=g; wait g within=10ms = -ETIMEDOUT\n"
   "push leaves in=all; wait all; is began slow <= 1; wait g; is ran slow 5"},
  {"a_wait_for_the_pool_has_a_deadline", SLOW
   "pool workers=1; stand; push slow 5; settle within=10ms = -ETIMEDOUT; is began slow <= 1\n"
   "settle within=1ms = -ETIMEDOUT; let; settle within=never; is ran slow 5; settle within=0"},
  {"a_wait_with_a_deadline_takes_nothing_from_a_worker",
   "pool workers=1\n"
   "stands: push own 5 in=h; gate\n"
   "push stands in=g; until entered 1; wait g within=1ms = -ETIMEDOUT; settle within=1ms = -ETIMEDOUT\n"
   "is ran own 0; let; settle; is ran own 5"},
)
// clang-format on
