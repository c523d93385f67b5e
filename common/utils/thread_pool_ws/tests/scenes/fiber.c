// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber.c
/// Scenes: fibers take turns, join, and go on elsewhere; a pool stops while fibers run or wait.
#include "scene.h"

// Resources that a process makes once run out: scenes apart. They are the first, for ThreadSanitizer lets a
// child make threads only if its parent has none.
#define WITHOUT_THREADS "apart\npool workers=1; sem s 0; sem e 0; deny threads\n"

#define FAMILY                                                                                               \
  "leaf: yield\n"                                                                                            \
  "m1: push leaf fiber in=g1; push leaf in=g1; push leaf fiber in=g1; wait g1\n"                             \
  "m2: push leaf fiber in=g2; push leaf in=g2; push leaf fiber in=g2; wait g2\n"                             \
  "m3: push leaf fiber in=g3; push leaf in=g3; push leaf fiber in=g3; wait g3\n"                             \
  "top: push m1 fiber in=h; push m2 in=h; push m3 fiber in=h; wait h\n"

// clang-format off
#define JOINS(workers) {"fibers_and_tasks_join_each_other_" workers, \
   "pool workers=" workers "\n" FAMILY "push top fiber in=o; push m1 in=o; wait o; is ran leaf 12"}
#define DRAINS(workers) {"a_drain_waits_for_fibers_and_what_they_push_" workers, \
   "pool workers=" workers "\n" FAMILY "push top fiber; stop drain; is ran leaf 9; is parked 0"}
#define HELPS(kind) {"a_wait_helps_with_fibers_of_its_group_that_go_on_" kind, \
   "pool workers=1; sem s 0\n" \
   "f: times 3: yield\n" \
   "f: pass s; is worker 0\n" \
   "push f 2 fiber in=g " kind "; until parked 2; stand; post s 2; wait g; let"}

// A line of text is a line of the scene.
SCENES("fiber",
  {"without_a_thread_for_time_limits_a_wait_blocks_its_worker",
   WITHOUT_THREADS
   "w: pass s within=0 = -ETIMEDOUT; pass s within=1us = -ETIMEDOUT; pass e within=90000s\n"
   "push w fiber; until passing 3; until quiet; is parked 0; post e; settle\n"
   "deny none; push w fiber; until passing 6; until parked 1; post e; settle; is ran w 2"},
  {"an_abort_ends_a_wait_that_blocks_its_worker",
   WITHOUT_THREADS
   "w: pass e within=90000s = -ECANCELED\n"
   "push w fiber; until passing 1; until quiet; is parked 0; stop abort; is ran w"},
  {"fibers_that_yield_take_turns",
   "pool workers=1\n"
   "a: times 2: mark x; yield\n"
   "b: times 2: mark y; yield\n"
   "c: times 2: mark z; yield\n"
   "outer: push a fiber in=g; push b fiber in=g; push c fiber in=g; forget; wait g; mark end\n"
   "push outer fiber in=o; until done o\n"
   "is order c z a x b y z x y end"},
  {"a_fiber_goes_on_on_another_worker",
   "pool workers=2\n"
   "h: gate\n"
   "f: till index 0: push h; yield; let\n"
   "f: till index 1: push h; yield; let\n"
   "f: till index 0: push h; yield; let\n"
   "push f fiber in=o; until done o; settle"},
  {"polls_let_other_fibers_run",
   "pool workers=1; mutex m; sem s 0; latch l 1\n"
   "holds: lock m; yield; unlock m; yield; post s; yield; down l\n"
   "polls: poll m; poll s; poll l; unlock m\n"
   "push holds fiber in=g; push polls fiber in=g; until done g"},
  JOINS("1"), JOINS("2"), DRAINS("1"), DRAINS("2"), DRAINS("3"), HELPS("normal"), HELPS("high"), HELPS("low"),
  {"a_fiber_keeps_its_priority_when_it_goes_on",
   "pool workers=1; sem s 0\n"
   "h: pass s; mark high\n"
   "l: pass s; mark low\n"
   "push l fiber low; until parked 1; push h fiber high; until parked 2; stand; forget\n"
   "push n; post s 2; let; until ran low; is order high n low"},
  {"a_fiber_that_waits_for_another_pool_runs_its_tasks",
   "pool b workers=1; stand; pool workers=1\n"
   "f: is fiber; yield; mark x\n"
   "t: is fiber 0; yield; mark x\n"
   "outer: push f fiber @b; push t @b; push f fiber @b; settle @b; is fiber; yield; mark end\n"
   "helper: until ran x 3; let\n"
   "thread helper; push outer fiber stack=524288 in=o; until done o; is ran end"},
  {"a_fiber_ends_its_wait_for_a_group_at_its_time_limit",
   "clock; pool workers=1; group g 1\n"
   "b: elapse 3600s\n"
   "f: push b; wait g within=0 = -ETIMEDOUT; mark a; wait g within=1800s = -ETIMEDOUT; mark c\n"
   "f: is done g 0; let; wait g within=9000000s; wait g within=0; mark d\n"
   "push f fiber in=o; gate; complete g; wait o; is order f a b c d"},
  {"a_group_is_done_in_time",
   "clock; pool workers=1\n"
   "f: let; wait g within=3600s\n"
   "times 100: group g 1; push f fiber in=o; gate; complete g; wait o"},
  {"many_time_limits_end",
   "pool workers=2; group g 1\n"
   "f: times 20: wait g within=50us = -ETIMEDOUT\n"
   "push f 100 fiber; settle; complete g"},
  {"a_group_that_a_thread_completes_ends_waits",
   "pool workers=1; group g 2\n"
   "w: wait g\n"
   "push w 5 fiber; until parked 5; complete g; is parked 5; complete g; settle; is ran w 5"},
  {"a_fiber_may_destroy_its_pool",
   "pool workers=1\n"
   "d: till ran go: yield\n" // the push has returned: it uses the pool
   "d: destroy; rest 1us; mark end\n"
   "push d fiber; mark go; until ran end"},
  {"an_abort_drops_fibers_that_have_not_begun",
   "pool workers=1\n"
   "r: mark up\n"
   "r: till ran go: yield\n"
   "aborter: stop abort = 5\n"
   "push r fiber; until ran up; stand; push x 5 fiber in=g; thread aborter; until stopping\n"
   "mark go; let; join; is done g; is ran x 0; is ran r; is dropped 5; is begun 1"},
  {"an_abort_ends_waits_that_can_be_cancelled",
   "pool workers=2; sem s 0; mutex m\n"
   "holds: lock m; pass s = -ECANCELED; unlock m\n"
   "locks: lock m; unlock m\n"
   "waits: times 2: pass s = -ECANCELED\n"
   "waits: rest never = -ECANCELED; lock m; yield; unlock m; wait none\n"
   "push holds fiber; until parked 1; push locks fiber; push waits 5 fiber; until parked 7\n"
   "stop abort; is ended 7; is parked 0"},
  {"an_abort_ends_all_waits_of_its_pool_only",
   "pool b workers=1; sem s 0; push w fiber; until parked 1; pool workers=2\n"
   "w: pass s\n"
   "n: rest never = -ECANCELED\n"
   "push n 3000 fiber; until parked 3001; stop abort; is ran n 3000; is parked 1; post s; settle @b"},
  {"an_abort_ends_no_wait_that_was_signalled",
   "pool workers=2; mutex m; cond c\n"
   "w: lock m; pass c m; unlock m\n"
   "n: rest never = -ECANCELED\n"
   "aborter: stop abort\n"
   "push w 3 fiber; until parked 3; lock m; broadcast c; push n 1000 fiber; until parked 1003\n"
   "thread aborter; until ran n 1000; is parked 3; unlock m; join; is ran w 3"},
  {"a_drain_waits_for_fibers_that_wait",
   "pool workers=2; sem s 0\n"
   "w: pass s\n"
   "p: till ran go: yield\n"
   "p: post s 5\n"
   "looks: until stopping; mark go\n"
   "push w 5 fiber; until parked 5; push p fiber; thread looks; stop drain; is ran w 5; is parked 0"},
  {"a_thread_ends_the_last_wait_while_the_pool_goes",
   "w: pass s\n"
   "p: until stopping\n"
   "p: post s 5\n"
   "times 20: pool workers=2; sem s 0; push w 5 fiber; until parked 5; thread p; stop drain; destroy; join\n"
   "is ran w 100"},
)
// clang-format on
