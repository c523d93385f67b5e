// SPDX-License-Identifier: BSD-3-Clause
/// @file lanes.c
/// Scenes: threads that have no queue of their own (lane) in the pool. The workers stand, or wait themselves:
/// no other thread can run what these threads wait for.
#include "scene.h"

// clang-format off
/// Another thread has the only lane, until "let lane; join". The worker stands.
#define WITHOUT                                                                \
  "pool workers=1 lanes=1\n"                                                   \
  "holder: stand; gate lane\n"                                                 \
  "thread holder; until entered lane 1\n"
/// More pools than a thread remembers.
#define TWENTY(x)                                                                                   \
  x("a") x("b") x("c") x("d") x("e") x("f") x("g") x("h") x("i") x("j") x("k") x("l") x("m") x("n") \
  x("o") x("p") x("q") x("r") x("s") x("t")
#define MAKE(name) "pool " name " workers=1\n"
#define PUSH(name) "push task in=all @" name "; "
#define ONE(name) "settle @" name "; is run_tasks 100 @" name "; is lanes_used 1 @" name "\n"
SCENES("lanes",
  {"a_thread_has_one_lane_in_each_of_many_pools",
   TWENTY(MAKE) "times 100: " TWENTY(PUSH) "\nwait all alone; is ran task 2000\n" TWENTY(ONE)},
  {"a_wait_without_a_lane_runs_its_own_tasks_only",
   "pool workers=1 lanes=0; stand\n"
   "times 20: push other; push own in=g; push other in=h\n"
   "wait g; is ran own 20; is ran other 0\n"
   "let; wait h; settle; is ran other 40"},
  {"waits_across_two_pools_end",
   "pool b workers=1 lanes=0; pool workers=1 lanes=0\n"
   "x: push y in=h @b; wait h @b\n"
   "y: push z in=i @pool; wait i @pool\n"
   "push x 100 in=g @pool; wait g alone; is ran z 100"},
  {"a_wait_finds_what_was_pushed_without_a_lane",
   WITHOUT "push own in=g; is lanes_used 1; let lane; join; push other; is lanes_used 1; wait g; "
   "is ran own; is ran other 0"},
  {"a_wait_goes_on_with_a_lane_that_it_gets",
   WITHOUT "gets: let lane; join; push own 10 in=g\n"
   "push gets in=g; is began gets 0; wait g; is ran own 10"},
  {"a_task_gets_a_lane_and_its_wait_runs_weak_tags",
   WITHOUT "own: complete h\n"
   "gets: let lane; join; push own 2 weak=h; is lanes_used 1; wait h; settle = -EDEADLK\n"
   "group h 2; push gets in=g; wait g; is ran own 2; let; settle"},
  {"a_task_runs_tasks_with_a_weak_tag_in_a_lane_of_another_pool",
   "pool b workers=1; pool workers=1; stand\n"
   "own: complete h\n"
   "waits: push own 2 weak=h @pool; wait h @pool\n"
   "group h 2; push waits in=g @b; wait g alone; is ran own 2; let"},
  {"a_wait_that_names_no_pool_helps_in_that_of_its_task",
   "pool workers=1 lanes=0; stand\n"
   "waits: push own in=h; wait h alone\n"
   "push waits in=g; wait g; is ran own\n"
   "pool b workers=1; stand; push waits in=g; wait g within=never; is ran own 2"},
  {"a_worker_that_runs_a_task_of_another_pool_helps_there",
   "pool b workers=1; stand; pool workers=1\n"
   "outer: push waits in=i @b; wait i @b; push last in=h @pool; wait h alone\n"
   "waits: push own in=j @b; wait j alone\n"
   "push outer in=g @pool; wait g alone; is ran own; is ran last"},
  {"a_wait_for_the_pool_helps",
   "pool workers=1 lanes=0; stand; push lets; settle\n"
   "lets: let"},
  {"a_wait_for_the_pool_goes_on_with_a_lane_that_it_gets",
   WITHOUT "gets: let lane; join; push lets\n"
   "lets: let\n"
   "push gets; settle"},
  {"tasks_that_a_wait_takes_leave_room",
   "pool workers=1 lanes=0 full=fail queue_capacity=2; stand\n"
   "times 100: push own 2 in=g; push own = -EAGAIN; wait g\n"
   "is ran own 200"},
  {"a_wait_with_a_deadline_takes_what_was_pushed_without_a_lane",
   "pool workers=1 lanes=0; stand; push own 3 in=g; wait g within=never; is ran own 3"},
  {"a_task_may_push_to_a_pool_around_it_that_drains",
   "pool b workers=1 lanes=0; stand; pool workers=1 lanes=0\n"
   "holds: gate a\n"
   "outer: push inner in=h @b; wait h @b\n"
   "inner: gate c; push own @pool\n"
   "stopper: stop drain @pool\n"
   "watcher: until stopping @pool; let c\n"
   "push holds; until entered a 1; push outer in=g; thread stopper; thread watcher; wait g; let a; join; "
   "is ran own"},
  {"a_wait_for_an_event_runs_no_children",
   WITHOUT "parent: push child\n"
   "later: sleep 1ms; let e\n"
   "push parent tag=g; let lane; join; push other; thread later; await e tag=g; join; is ran child 0; "
   "is ran other 0"},
)
// clang-format on
