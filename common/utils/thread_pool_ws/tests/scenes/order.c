// SPDX-License-Identifier: BSD-3-Clause
/// @file order.c
/// Scenes: the order in which tasks begin. h1, h2 have high priority, n1, n2 normal, l1, l2 low.
#include "scene.h"

// clang-format off
#define SIX(g)                                                                                               \
  "push l1 low" g "; push n1" g "; push h1 high" g "; push l2 low" g "; push n2" g "; push h2 high" g
#define REST(name, before, priority)                                                      \
  {name,                                                                                  \
   "pool workers=1; " before "push waiter in=all; wait all alone; is ran rest\n"          \
   "waiter: group g 2; push leave in=g; wait g\n"                                         \
   "leave: push rest" priority "\n"                                                       \
   "rest: complete g"}
#define BELOW(name, priority)                                                                                \
  {name,                                                                                                     \
   "simulated cpus=4; pool workers=1; push stands in=g; until began stands; until queued_tasks 1\n"          \
   "wait g; is ran below\n"                                                                                  \
   "stands: push below in=g" priority "; until ran below"}
SCENES("order",
  {"a_worker_takes_the_highest_first_and_the_oldest_of_each",
   "pool workers=1 spin=off; stand; forget; " SIX(" in=g") "; is queued_tasks 6\n"
   "let; wait g alone; is order h1 h2 n1 n2 l1 l2; settle; is queued_tasks 0"},
  {"the_first_of_high_priority_goes_first",
   "pool workers=1 spin=off; stand; forget; push n1 in=g; push n2 in=g; push h1 high in=g\n"
   "let; wait g alone; is order h1 n1 n2"},
  {"own_tasks_of_normal_priority_run_newest_first",
   "pool workers=1; push own in=g; wait g alone; is order own h1 h2 n2 n1 l1 l2\n"
   "own: " SIX(" in=g")},
  {"own_tasks_run_oldest_first_in_a_fifo_pool",
   "pool workers=1 fifo=1; push own in=g; wait g alone; is order own h1 h2 n1 n2 l1 l2\n"
   "own: " SIX(" in=g")},
  {"a_task_that_pushes_itself_in_a_fifo_pool_goes_behind_all_others",
   "pool workers=1 fifo=1; stand; forget; push again; push a; push b in=g; let; until ran again 2; "
   "is order again a b again\n"
   "again: unless began again >= 2: push again"},
  {"a_thread_without_a_queue_has_priorities",
   "pool workers=1 lanes=0; stand; forget; " SIX(" in=g") "; let; wait g alone; is order h1 h2 n1 n2 l1 l2"},
  {"a_thread_without_a_queue_helps_in_their_order",
   "pool workers=1 lanes=0; stand; forget; " SIX(" in=g") "; wait g; is order h1 h2 n1 n2 l1 l2; let"},
  {"tasks_of_a_thread_that_has_ended_keep_their_order",
   "pool workers=1 spin=off; stand; forget\n"
   "pusher: push l1 low in=g; push n1 in=g; push h1 high in=g\n"
   "thread pusher; join; thread pusher; join; let; wait g alone; is order h1 h1 n1 n1 l1 l1"},
  {"a_wait_takes_its_highest_first_and_leaves_the_others_in_order",
   "pool workers=1 spin=off; stand; forget; push l1 low in=g; push n1 in=g; push h1 high in=g\n"
   "push x1 low in=h; push y1 in=h; push z1 high in=h; push l2 low in=g; push h2 high in=g\n"
   "push x2 low in=h; push y2 in=h; push z2 high in=h\n"
   "wait g; is order h1 h2 n1 l1 l2; is queued_tasks 6\n"
   "forget; let; wait h alone; is order z1 z2 y1 y2 x1 x2"},
  {"nested_waits_reach_tasks_of_each_priority",
   "pool workers=1\n"
   "n4: push x; push n3 in=g3 low; push x high; push n3 in=g3 high; push x low; push n3 in=g3; push x; "
   "wait g3\n"
   "n3: push x; push n2 in=g2 low; push x high; push n2 in=g2 high; push x low; push n2 in=g2; push x; "
   "wait g2\n"
   "n2: push x; push n1 in=g1 low; push x high; push n1 in=g1 high; push x low; push n1 in=g1; push x; "
   "wait g1\n"
   "push n4 in=all; wait all alone; settle; is ran n1 27; is ran x 52; is queued_tasks 0"},
  REST("a_wait_runs_what_its_tasks_push", "", ""),
  REST("a_wait_runs_the_first_task_of_high_priority", "", " high"),
  REST("a_wait_runs_the_first_task_of_low_priority", "", " low"),
  REST("a_wait_runs_a_task_of_high_priority_that_its_tasks_push", "push x high; settle; ", " high"),
  REST("a_wait_runs_a_task_of_low_priority_that_its_tasks_push", "push x low; settle; ", " low"),
  BELOW("a_wait_takes_tasks_of_its_group_from_a_worker", ""),
  BELOW("a_wait_takes_tasks_of_high_priority_of_its_group", " high"),
  BELOW("a_wait_takes_tasks_of_low_priority_of_its_group", " low"),
  {"a_worker_is_woken_for_tasks_that_a_wait_moves",
   "pool workers=1 spin=off; stand; push other; push own in=g; push other 2; thread lets; wait g; join; "
   "settle\n"
   "lets: let\n"
   "own: unless worker: until ran other 3"},
  {"sleeping_workers_are_woken_whatever_the_priority",
   "pool workers=3 spin=off\n"
   "times 20: push n1 in=g; wait g alone; sleep 300us; push l1 low in=g; wait g alone; push h1 high in=g; "
   "wait g alone"},
)
// clang-format on
