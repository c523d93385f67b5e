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
/// A task destroys its pool, and pushes to it afterwards.
#define KILLS "kills: gate; destroy; push a 10\n"
#define HELD(before, pushed)                                                                     \
  "pool workers=2 observed; " before "retain; push a" pushed "\n"                                          \
  "killer: destroy; is stopped 2\n"                                                               \
  "thread killer; until began killer; sleep 1ms; is ran killer 0; release; join; is ran killer"
SCENES("stop",
  {"a_drain_runs_everything_and_what_it_pushes",
   "n3: push n2 2\n"
   "n2: push n1 2 high\n"
   "n1: push n0 2 low\n"
   "pool workers=3; push n3 20 in=g; stop drain; is ran n0 160; is done g; is run_tasks 300\n"
   "stop drain = -EALREADY; push n0 = -ECANCELED; push n0 try = -ECANCELED; push n0 batch = -ECANCELED; "
   "settle\n"
   "destroy; pool workers=1; push n3 20; stop drain; is ran n0 320"},
  {"an_abort_skips_and_completes_groups",
   "pool workers=1; stand; push skipped 100 in=g; push l 3 low in=g; push h 3 high in=g; "
   "push r 4 in=g record\n"
   "aborter: stop abort = 110\n"
   "thread aborter; until stopping; let; join\n"
   "is done g; wait g; is skipped skipped 100; is skipped r 4; is skipped_tasks 110; settle"},
  {"a_pool_that_a_task_destroys_runs_everything_and_ends",
   KILLS
   "pool workers=1 observed; push kills; until entered 1; push a 10; let; until stopped 1; is ran a 20\n"
   "pool workers=3 observed; push kills; until entered 2; push a 10; let; until stopped 4; is ran a 40"},
  {"a_task_of_another_pool_destroys_a_pool",
   "pool b workers=2 observed; pool workers=1\n"
   "kills: destroy b; is stopped 2\n"
   "push kills; settle"},
  {"a_push_runs_a_task_that_destroys_its_pool",
   "pool workers=0; push kills; until stopping; push a = -ECANCELED\n"
   "kills: destroy"},
  {"a_task_destroys_its_pool_during_a_stop",
   KILLS
   "stopper: stop drain\n"
   "pool workers=1 observed; push kills; until entered 1; thread stopper; "
   "until stopping; let; join; is ran a 10\n"
   "destroy; is stopped 1"},
  {"a_pool_is_destroyed_once",
   "dies ws_pool_destroy(): called a second time for the pool\n"
   "kills: destroy; destroy\n"
   "pool workers=1 observed; push kills; until stopped 1"},
  {"a_pool_is_not_destroyed_while_it_stops",
   "dies ws_pool_destroy(): a ws_pool_stop() of the pool is not over\n"
   "pool workers=1; stand; thread stopper; until stopping; destroy\n"
   "stopper: stop drain"},
  {"a_pool_that_a_thread_holds_is_not_destroyed", HELD("", "; settle")},
  {"a_stopped_pool_that_a_thread_holds_is_not_destroyed", HELD("stop drain; ", " = -ECANCELED")},
  STOPS("a_drain", "workers=2 queue_capacity=32", "stop drain; is skipped_tasks 0"),
  STOPS("a_drain_without_lanes", "workers=3 queue_capacity=32 lanes=0", "stop drain; is skipped_tasks 0"),
  STOPS("an_abort_without_lanes", "workers=2 queue_capacity=2 lanes=0", "stop abort = any"),
  STOPS("an_abort", "workers=2 queue_capacity=32", "stop abort = any"),
  {"tasks_for_workers_that_spin_at_the_moment_of_a_drain",
   "pool workers=4 spin=hot\n"
   "pusher: times 100: push a refused\n"
   "thread pusher; thread pusher; until ran a >= 3; stop drain; is skipped_tasks 0; join"},
  {"batches_at_the_moment_of_a_drain",
   "pool workers=2 queue_capacity=32\n"
   "pusher: push a 20000 batch = any\n"
   "thread pusher; thread pusher; until ran a >= 10; stop drain; is skipped_tasks 0; join"},
)
// clang-format on
