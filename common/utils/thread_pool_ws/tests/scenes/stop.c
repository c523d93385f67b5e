// SPDX-License-Identifier: BSD-3-Clause
/// @file stop.c
/// Scenes: pools that are drained, aborted and destroyed.
#include "scene.h"

// clang-format off
#define STOPS(name, settings, how)                                                               \
  {"pushes_at_the_moment_of_" name,                                                              \
   "pool " settings "\n"                                                                         \
   "pusher: push a 20000 refused\n"                                                              \
   "thread pusher; thread pusher; thread pusher; until ran a >= 10; " how "; join"}
SCENES("stop",
  {"a_drain_runs_everything_and_what_it_pushes",
   "n3: push n2 2\n"
   "n2: push n1 2 high\n"
   "n1: push n0 2 low\n"
   "pool workers=3; push n3 20 in=g; stop drain; is ran n0 160; is done g\n"
   "stop drain = -EALREADY; push n0 = -ECANCELED; push n0 try = -ECANCELED; push n0 batch = -ECANCELED; "
   "settle\n"
   "destroy; pool workers=1; push n3 20; stop drain; is ran n0 320"},
  {"an_abort_skips_and_completes_groups",
   "pool workers=1; stand; push skipped 100 in=g; push l 3 low in=g; push h 3 high in=g; "
   "push r 4 in=g record\n"
   "aborter: stop abort = 110\n"
   "thread aborter; until stopping; let; join\n"
   "is done g; wait g; is skipped skipped 100; is skipped r 4; is skipped_tasks 110; settle"},
  {"a_drain_runs_tasks_of_each_priority",
   "pool workers=1; stand; push l 3 low in=g; push h 3 high in=g; push a 3 in=g; let; stop drain; is done g\n"
   "is ran l 3; is ran h 3; is ran a 3; is skipped_tasks 0"},
  {"a_destroyed_pool_has_run_what_was_queued",
   "times 10: pool workers=2; push a 50; destroy\n"
   "is ran a 500"},
  STOPS("a_drain", "workers=2 queue_capacity=32", "stop drain; is skipped_tasks 0"),
  STOPS("a_drain_with_full_queues", "workers=1 queue_capacity=32 full=inline",
        "stop drain; is skipped_tasks 0"),
  STOPS("a_drain_of_workers_that_spin", "workers=3 spin=hot", "stop drain; is skipped_tasks 0"),
  STOPS("a_drain_without_lanes", "workers=3 queue_capacity=32 lanes=0", "stop drain; is skipped_tasks 0"),
  STOPS("an_abort", "workers=2 queue_capacity=32", "stop abort = any"),
  STOPS("an_abort_of_workers_that_spin", "workers=3 spin=hot", "stop abort = any"),
  STOPS("an_abort_with_full_queues", "workers=1 queue_capacity=32 full=inline", "stop abort = any"),
  STOPS("an_abort_with_a_lane", "workers=3 queue_capacity=32 lanes=1", "stop abort = any"),
  {"tasks_for_workers_that_spin_at_the_moment_of_a_drain",
   "pool workers=2 spin=hot\n"
   "pusher: times 100: push a refused\n"
   "thread pusher; thread pusher; until ran a >= 3; stop drain; is skipped_tasks 0; join"},
  {"batches_at_the_moment_of_a_drain",
   "pool workers=2 queue_capacity=32\n"
   "pusher: push a 20000 batch = any\n"
   "thread pusher; thread pusher; until ran a >= 10; stop drain; is skipped_tasks 0; join"},
)
// clang-format on
