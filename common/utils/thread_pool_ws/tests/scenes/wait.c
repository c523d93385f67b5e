// SPDX-License-Identifier: BSD-3-Clause
/// @file wait.c
/// Scenes: which tasks a wait runs, that it ends, and that it leaves no task behind.
#include "scene.h"

// A line of text is a line of the scene.
// clang-format off
SCENES("wait",
  {"units_are_counted",
   "group g 3; is done g 0; complete g 2; add g 4; complete g 1; complete g 3; is done g 0; complete g\n"
   "is done g; wait g alone; group g 1073741823; complete g 1073741823; is done g"},
  {"all_threads_that_wait_for_a_group_return",
   "pool workers=2; group g 41\n"
   "helps: wait g; is ran own 40\n"
   "sleeps: wait g alone; is ran own 40\n"
   "times 2: thread helps; thread sleeps\n"
   "push own 40 in=g; sleep 100us; complete g; join"},
  {"tasks_of_a_group_add_to_it",
   "pool workers=3\n"
   "n5: push n4 2 in=g\n"
   "n4: push n3 2 in=g\n"
   "n3: push n2 2 in=g\n"
   "n2: push n1 2 in=g\n"
   "n1: push n0 2 in=g\n"
   "times 20: push n5 in=g; wait g; is done g\n"
   "is ran n0 640; destroy; pool workers=1; push n5 in=g; wait g; is ran n0 672"},
  {"more_workers_than_a_word_has_bits_run_at_once",
   "pool workers=130 queue_capacity=16; times 2: stand 130; let 130; settle"},
  {"groups_may_be_waited_for_in_any_order",
   "pool workers=1 queue_capacity=2\n"
   "inside: times 20: push a in=ga; push b in=gb; push c in=gc; push d in=gd\n"
   "inside: wait gc; wait ga; wait gd; wait gb\n"
   "push inside in=all; wait all alone; thread inside; join; is ran d 40"},
  {"a_wait_runs_no_unrelated_task",
   "pool workers=2\n"
   "inside: times 40: push other; push own in=g; push other in=h\n"
   "inside: wait g\n"
   "push inside in=all; wait all alone; thread inside; join; wait h alone; settle\n"
   "is ran own 80; is ran other 160"},
  {"a_group_at_an_old_address_is_another_group",
   "pool workers=1 join_spin_ns_max=10000000\n"
   "leave: push orphan; push stands\n"
   "stands: gate\n"
   "later: sleep 100us; complete g\n"
   "push leave in=g; until entered 1; wait g alone\n"
   "group g 1; thread later; wait g; join; is ran orphan 0; let"},
  {"what_a_helper_leaves_behind_reaches_a_worker_that_sleeps",
   "simulated cpus=4; pool workers=1\n"
   "outer: push child in=middle; until began child; wait middle\n"
   "child: sleep 5ms; push rest in=middle\n"
   "push outer in=g; until began outer; wait g; is ran rest"},
  {"a_helper_reaches_its_buried_tasks_while_the_worker_sleeps",
   "simulated cpus=4; pool workers=1\n"
   "outer: push child in=middle; until began child; wait middle\n"
   "child: sleep 5ms; push x in=ga; push x in=gb; push x in=gc; wait gb; wait ga; wait gc\n"
   "push outer in=g; until began outer; wait g; is ran x 3"},
  {"a_wait_for_the_pool_covers_what_its_tasks_push",
   "pool workers=3\n"
   "n4: push n3 2\n"
   "n3: push n2 2\n"
   "n2: push n1 2\n"
   "n1: push n0 2\n"
   "times 20: push n4; push own in=g; settle; is done g\n"
   "is ran n0 320"},
  {"a_task_cannot_wait_for_its_pool",
   "pool workers=1\n"
   "inside: settle = -EDEADLK; settle within=0 = -EDEADLK; stop drain = -EDEADLK; is worker\n"
   "helped: settle = -EDEADLK; stop drain = -EDEADLK\n"
   "push inside in=g; wait g alone; stand; push helped in=h; wait h; is worker 0"},
  {"bursts_run_once_in_a_pool_of_many_workers",
   "pool workers=16\n"
   "pusher: times 40: push a 24 in=g; settle\n"
   "times 2: thread pusher\n"
   "join; is ran a 1920; is done g"},
  {"records_are_settled_where_their_tasks_run",
   "pool workers=2; push a 50 in=g record; wait g; pool none workers=0; push b 5 in=h record; wait h"},
)
// clang-format on
