// SPDX-License-Identifier: BSD-3-Clause
/// @file chain.c
/// Scenes: tasks that push their successors without end (link) keep no other task from its turn (told).
#include "scene.h"

// clang-format off
#define LINK "link: is began link <= 2500; unless ran told: push link\n"
/// What "waiter" does, by the only worker, and by a thread outside while the worker stands.
#define WAITS(name, text)                                                                   \
  {name "_of_a_worker",                                                                     \
   "pool workers=1; push waiter in=all; wait all alone; settle; is ran told\n" text},       \
  {name "_outside",                                                                         \
   "pool workers=1; stand; thread waiter; join; is ran told; let; settle\n" text}

SCENES("chain",
  WAITS("a_buried_task_has_a_turn_in_a_wait", LINK
   "waiter: push other; push told in=g; push other; push link in=g; wait g\n"
   "told: is ran link <= 200"),
  WAITS("a_deeply_buried_task_has_a_turn_in_a_wait", LINK
   "waiter: push other; push told in=g; push other 500; push link in=g; wait g\n"
   "told: is ran link <= 2000"),
  WAITS("a_task_below_the_chain_has_a_turn_in_a_wait", LINK
   "waiter: group g 2; push other; push first in=g; wait g\n"
   "first: push told; push link\n"
   "told: complete g; is ran link <= 200"),
  WAITS("a_chain_of_high_priority_lets_normal_tasks_have_a_turn_in_a_wait",
   "link: is began link <= 2500; unless ran told: push link high\n"
   "waiter: push other; push told in=g; push other; push link in=g; wait g\n"
   "told: is ran link <= 500"),
  WAITS("a_chain_of_high_priority_lets_low_tasks_have_a_turn_in_a_wait",
   "link: is began link <= 2500; unless ran told: push link high\n"
   "waiter: push told in=g low; push link in=g; wait g\n"
   "told: is ran link <= 500"),
  WAITS("a_task_that_two_waits_have_moved_has_a_turn",
   "link: is began link <= 2500; unless ran told: push link tag=g\n"
   "waiter: push a in=ga; push b in=gb; push told in=g; wait gb; wait ga; push link tag=g; wait g\n"
   "told: is ran link <= 500"),
  WAITS("a_task_of_high_priority_that_two_waits_have_moved_has_a_turn",
   "link: is began link <= 2500; unless ran told: push link tag=g high\n"
   "waiter: push a in=ga high; push b in=gb high; push told in=g high; wait gb; wait ga\n"
   "waiter: push link tag=g high; wait g\n"
   "told: is ran link <= 500"),
  WAITS("an_inner_wait_leaves_the_outer_ones_tasks", LINK
   "waiter: group g 3; push link in=g; push inside in=g; wait g\n"
   "inside: push x in=h; push told; wait h\n"
   "told: complete g"),
  {"a_wait_takes_tasks_of_its_group_from_a_worker_that_stands", LINK
   "pool workers=2\n"
   "remote: push told; gate\n"
   "waiter: push link in=g; wait g\n"
   "push remote in=g; until entered 1; push waiter in=all; until ran told; is ran link <= 500\n"
   "let; wait all alone"},
  {"each_queue_has_its_turn",
   "pool workers=2 lanes=1 spin=off\n"
   "runs: gate a; push told; push told high; push told low; push link; push h high; push l low\n"
   "stands: push told; push told high; push told low; gate b\n"
   "link: is began link <= 2500; unless ran told 10: push link\n"
   "h: is began h <= 2500; unless ran told 10: push h high\n"
   "l: is began l <= 2500; unless ran told 10: push l low\n"
   "without: push told\n"
   "push runs; until entered a 1; push stands; until entered b 1\n"
   "push told; push told high; push told low; thread without; join\n"
   "let a; until ran told 10; let b; settle"},
  {"each_queue_has_its_turn_in_a_fifo_pool",
   "pool workers=2 lanes=1 spin=off fifo=1\n"
   "runs: gate a; push told; push link\n"
   "stands: push told; gate b\n"
   "link: is began link <= 2500; unless ran told 4: push link\n"
   "without: push told\n"
   "push runs; until entered a 1; push stands; until entered b 1; push told; thread without; join\n"
   "let a; until ran told 4; is ran link <= 1000; let b; settle"},
  {"empty_queues_of_threads_are_passed_over",
   "pool workers=1 lanes=21\n"
   "runs: gate a; push told; push link\n"
   "link: is began link <= 2500; unless ran told 2: push link\n"
   "idle: push x; gate\n"
   "push x; times 14: thread idle\n"
   "until entered 14; settle; push runs; until entered a 1; push told\n"
   "let a; until ran told 2; is ran link <= 1000; let 14; join; settle"},
  {"the_queues_of_threads_have_their_turn_one_after_the_other",
   "pool workers=1 lanes=4\n"
   "runs: gate a; push link\n"
   "link: is began link <= 2500; unless ran last 3: push link\n"
   "p1: push t1 9 in=g; push last in=g; gate\n"
   "p2: push t2 9 in=g; push last in=g; gate\n"
   "p3: push t3 9 in=g; push last in=g; gate\n"
   "last: is ran t1 >= 8; is ran t2 >= 8; is ran t3 >= 8\n"
   "push runs; until entered a 1; thread p1; thread p2; thread p3; until entered 3; let a; wait g alone\n"
   "let 3; join; settle"},
  {"several_chains_take_the_tasks_of_a_worker_that_stands",
   "pool workers=3 lanes=2\n"
   "stands: push told; gate\n"
   "link: unless ran told: push link\n"
   "push link 3; push stands; until entered 1; until ran told; let; settle"},
)
// clang-format on
