// SPDX-License-Identifier: BSD-3-Clause
/// @file event.c
/// Scenes: tags, waits for events, sections that block.
#include "scene.h"

// clang-format off
#define WEAK                                                \
   "waiter: group g 40\n"                                   \
   "waiter: times 40: push own weak=g; push other\n"        \
   "waiter: wait g\n"                                       \
   "own: complete g\n"
SCENES("event",
  {"a_wait_runs_tasks_with_its_tag",
   "pool workers=1; stand; group g 40\n"
   "own: complete g\n"
   "times 40: push other; push own tag=g\n"
   "wait g; is ran own 40; is ran other 0"},
  {"a_thread_outside_leaves_weak_tags_to_the_workers",
   "pool workers=1; stand; group g 40; push own 40 weak=g\n"
   "own: is worker; complete g\n"
   "lets: sleep 1ms; let\n"
   "thread lets; wait g; join; is began own 40"},
  {"a_worker_runs_tasks_with_a_weak_tag", WEAK "pool workers=1; push waiter in=all; wait all alone; "
  "is ran own 40"},
  {"a_task_outside_runs_tasks_with_a_weak_tag", WEAK "pool workers=1; stand; push waiter in=all; "
  "wait all; is ran own 40"},
  {"a_tag_completes_nothing",
   "pool workers=2; group g 1; push a 40 tag=g; settle; is done g 0; complete g; is run_tasks 40"},
  {"an_event_has_its_own_tasks_run_only",
   "pool workers=1; stand; push other tag=h; push makes tag=g; push other; await e tag=g; is ran makes; "
   "is ran other 0\n"
   "makes: is worker 0; let e"},
  {"an_event_that_a_worker_makes_ready_ends_the_sleep",
   "pool workers=1; stand; push makes; let; await e tag=g; push more; await f tag=h\n"
   "makes: is worker; let e\n"
   "more: is worker; let f"},
  {"a_thread_without_a_lane_waits_for_an_event",
   "pool workers=1 lanes=0; push makes; await e tag=g\n"
   "makes: sleep 300us; let e"},
  {"an_event_has_no_children_of_its_tasks_run",
   "pool workers=1\n"
   "makes: push child; until entered e; sleep 1ms; let e\n"
   "push makes tag=g; until began makes; await e tag=g; settle; is ran child"},
  {"who_waits_for_an_event_leaves_its_place_to_another_worker",
   "simulated cpus=1; pool workers=2; push waits in=g; push makes in=g; wait g alone\n"
   "waits: await e tag=x\n"
   "makes: let e"},
  {"a_worker_that_blocks_leaves_its_place_to_another",
   "simulated cpus=1; pool workers=2; push waits in=g; push makes in=g; wait g alone; is workers_awake <= 1\n"
   "waits: block; block; unblock; gate; unblock\n"
   "makes: let\n"
   "block; unblock; unblock"},
  {"a_worker_may_wait_in_another_pool",
   "pool b workers=1; pool workers=1\n"
   "waits: push blocks in=h @b; wait h @b\n"
   "blocks: block; sleep 300us; unblock\n"
   "push waits 10 in=g @pool; wait g alone; is ran blocks 10"},
)
// clang-format on
