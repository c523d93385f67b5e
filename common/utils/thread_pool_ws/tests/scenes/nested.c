// SPDX-License-Identifier: BSD-3-Clause
/// @file nested.c
/// Scenes: waits inside waits, and tasks that lie under others. A wait finds its tasks wherever they lie,
/// runs no unrelated one (each scene checks that), and leaves the others as they were.
#include "scene.h"

// clang-format off
SCENES("nested",
  {"a_thread_outside_finds_its_task_under_3000_others",
   "pool workers=1; stand; push z; push own in=g; push other 3000\n"
   "wait g; is ran own 1; is ran other 0; is ran z 0; let; settle; is ran other 3000"},
  {"a_wait_takes_its_tasks_from_a_full_queue_and_there_is_room_again",
   "pool workers=1 fifo=1 queue_capacity=8 full=fail; stand\n"
   "push a; push own in=g; push b; push c; push own in=g; push d; push e; push f; push x = -EAGAIN\n"
   "wait g; push h 2; push x = -EAGAIN; forget; let; until ran h 2; is order a b c d e f h h"},
  {"tasks_under_which_a_worker_found_its_own_run",
   "pool workers=1\n"
   "outer: push a 3; push own in=g; push b 3; push own in=g; push c 3; wait g\n"
   "push outer; until ran outer; is ran own 2; settle; is ran a 3; is ran b 3; is ran c 3"},
  {"tasks_that_a_worker_could_not_move_run",
   "pool workers=1 lanes=0 queue_capacity=64 full=fail\n"
   "outer: gate; push a; push own 20 in=g; push a 20; push own 20 in=g; push a 3; wait g; is ran z 0\n"
   "push outer; until entered 1; push z 60; let; until ran outer; is ran own 40; settle; is ran a 24"},
  {"a_wait_runs_what_its_task_pushes",
   "pool workers=1; stand; group g 1\n"
   "own: push child\n"
   "child: complete g\n"
   "push other; push own tag=g; wait g; is ran child; is ran other 0"},
  {"a_wait_runs_what_its_task_pushed_though_an_inner_wait_digs_below_it",
   "pool workers=1; stand; group g 1\n"
   "own: push child; wait h\n"
   "child: complete g\n"
   "push bottom; push deep in=h; push other; push own tag=g\n"
   "wait g; is ran child; is ran deep; is ran bottom 0; is ran other 0"},
  {"a_wait_runs_what_its_task_pushes_after_an_inner_wait_took_an_older_task",
   "pool workers=1; stand; group g 1\n"
   "own: wait h; push child\n"
   "child: complete g\n"
   "push bottom; push own tag=g; push deep in=h; wait g; is ran deep; is ran child; is ran bottom 0"},
  {"a_wait_runs_what_a_wait_inside_it_moved_and_left",
   "pool workers=1; stand; group g 1\n"
   "own: push left tag=h; push key tag=h; push other; await opened tag=h; is ran left 0\n"
   "key: let opened\n"
   "left: complete g\n"
   "push bottom; push own tag=g; wait g; is ran left; is ran bottom 0"},
  {"a_wait_runs_no_unrelated_task_that_a_wait_inside_it_moved_and_left",
   "pool workers=1; stand\n"
   "own: push other; await opened tag=h; push last in=g\n"
   "key: let opened\n"
   "push bottom; push left tag=h; push key tag=h; push own in=g; wait g; is ran left 0; is ran last"},
  {"three_waits_inside_each_other_find_their_tasks",
   "pool workers=1; stand; group g 1\n"
   "own: push last; push middle in=h; push mine; wait h; is ran mine 0\n"
   "middle: push mine; push inner in=i; push mine; wait i; wait j\n"
   "last: complete g\n"
   "times 2: push other; push deep in=j; push other\n"
   "push own tag=g; wait g; is ran last; is ran deep 2; is ran inner; is ran other 0"},
  {"a_worker_finds_its_tasks_inside_another_wait",
   "pool workers=1; group g 1\n"
   "all: push bottom; push deep in=h; push other; push own tag=g; wait g; is ran other 0; is ran bottom 0\n"
   "own: push child; push mine; push inner in=i; push mine; wait i; wait h\n"
   "child: complete g\n"
   "push all in=x; wait x alone; is ran inner; is ran deep; settle; is ran other; is ran mine 2"},
  {"a_wait_finds_what_the_wait_around_it_moved",
   "pool workers=1\n"
   "outer: push other; push own in=g; push part 9 in=h; push other; push part 9 in=h; push other; wait g\n"
   "own: wait h\n"
   "push outer in=x; wait x alone; is ran part 18; settle; is ran other 3"},
  {"a_wait_with_a_time_limit_finds_what_the_wait_around_it_moved",
   "pool workers=1\n"
   "outer: push other; push own in=g; push part 9 in=h; push other; push part 9 in=h; push other; wait g\n"
   "own: wait h within=100s\n"
   "push outer in=x; wait x alone; is ran part 18; settle; is ran other 3"},
  {"a_task_that_blocks_needs_what_the_wait_around_it_moved",
   "pool workers=3\n"
   "outer: push below in=b; push own in=w; push other; wait w\n"
   "own: wait b; block; gate; unblock\n"
   "other: let\n"
   "push outer in=x; wait x alone"},
  {"nested_waits_run_no_unrelated_task_while_others_steal",
   "pool workers=3\n"
   "a: push other; push deep in=a; push b in=b; push other; wait b; push deep in=c; push other; wait c\n"
   "b: push d in=d; push other; push e in=e; push other; wait d; wait e\n"
   "d: push other; push deep in=f; push other; wait f\n"
   "e: push other; push deep in=h; push deep in=h; push other; wait h\n"
   "times 40: push a in=g; push other; push deep in=k; push a in=g; push other; wait k; wait g\n"
   "settle; is ran a 80; is ran deep 440"},
  {"the_oldest_and_the_newest_of_many_run_once_each_while_others_steal",
   "pool workers=2 queue_capacity=4\n"
   "one: push own 30 in=g; push other 30; push own 30 in=g; wait g\n"
   "two: push own 30 in=h; push other 30; push own 30 in=h; wait h\n"
   "push one in=x; push two in=x; push other 100; wait x; settle; is ran own 120; is ran other 160"},
  {"a_worker_lifts_each_task_once_however_many_of_its_own_lie_below",
   "simulated cpus=1; pool workers=1 queue_capacity=4096\n"
   "outer: push a; push own 1000 in=g; push other 1000; wait g within=1ms\n"
   "push outer in=x; wait x alone; settle; is ran other 1000"},
)
// clang-format on
