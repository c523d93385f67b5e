// SPDX-License-Identifier: BSD-3-Clause
/// @file queues.c
/// Scenes: the queues that all threads of a pool share (for high and low priority, and for threads without a
/// lane), the tasks that a waiting worker is handed, and the queues of many workers.
#include "scene.h"

// clang-format off
SCENES("queues",
  {"a_queue_that_all_share_holds_its_capacity",
   "pool workers=1 lanes=0 queue_capacity=4 full=fail; stand\n"
   "times 5: push a 4; push x = -EAGAIN; push x try = -EAGAIN; push h 4 high; push x high = -EAGAIN;"
   " push l 4 low; push x low = -EAGAIN; is queued_tasks 12; let; until queued_tasks 0; stand\n"
   "is ran a 20; is ran h 20; is ran l 20; is queue_bytes 0"},
  {"a_task_from_the_middle_leaves_room_at_once",
   "pool workers=1 queue_capacity=4 full=fail; stand\n"
   "push a high; push own high in=g; push b high; push own high in=g; push x high = -EAGAIN\n"
   "wait g; push c 2 high; push x high = -EAGAIN; forget; let; until ran c 2; is order a b c c"},
  {"a_queue_that_all_share_grows_and_keeps_its_order",
   "pool workers=1 lanes=0 queue_capacity=4; stand; push stand; push a 3; let; until entered 2\n"
   "push b; push c 4; push d 2; is queue_bytes >= 1; forget; let; until ran d 2\n"
   "is order a a a b c c c c d d"},
  {"a_full_queue_that_all_share_has_the_push_run_the_task",
   "pool workers=1 lanes=0 queue_capacity=4 full=inline; stand; push a 100; is ran a 96; is inline_tasks 96\n"
   "is queued_tasks 4; is lanes_used 0; let; settle; is ran a 100"},
  {"what_runs_and_what_waits_is_shown",
   "pool workers=1 spin=off; stand; push a 7\n"
   "is workers_active 1; is workers_awake 1; is queued_tasks 7; is lanes_used 1\n"
   "let; settle; until workers_awake 0; is workers_active 0"},
  {"a_wait_without_a_lane_takes_its_groups_tasks_and_no_others",
   "pool workers=1 lanes=0; stand\n"
   "push a; push own in=g; push weak weak=g; push b in=h; push own in=g low; push own in=g high\n"
   "push a high; wait g; is ran own 3; is ran weak 0; is ran a 0; is ran b 0"},
  {"a_task_takes_weak_tags_of_its_group_too",
   "pool workers=1 lanes=0; stand; group g 1\n"
   "weak: complete g\n"
   "outer: push a high; push weak high weak=g; push a high; wait g; is ran a 0\n"
   "push outer in=x; wait x; is ran weak"},
  {"a_wait_runs_what_its_task_pushed_to_a_queue_that_all_share",
   "pool workers=1; stand; group g 1\n"
   "own: push child low\n"
   "child: complete g\n"
   "push other high; push own tag=g; wait g; is ran other 0"},
  {"a_wait_runs_what_was_pushed_to_a_queue_that_all_share_in_a_wait_inside_it",
   "pool workers=1; stand; group g 3\n"
   "own: push part in=h; push one high; wait h; wait i\n"
   "part: push two low; push inner in=i\n"
   "inner: push three high\n"
   "one: complete g\n"
   "two: complete g\n"
   "three: complete g\n"
   "push bottom high; push own tag=g; wait g; is ran bottom 0"},
  {"a_wait_goes_on_where_it_stopped",
   "pool workers=1 lanes=0; stand\n"
   "own: let; until entered second; push late in=g\n"
   "a: gate second\n"
   "push a; push own in=g; push b; push c; push last in=g; wait g; is ran late; is ran b 0"},
  {"a_wait_goes_on_where_others_took_the_next_task",
   "pool workers=1 lanes=0; stand\n"
   "own: let; until entered second; push late in=g\n"
   "b: gate second\n"
   "push a; push own in=g; push b; push c; push last in=g; wait g; is ran late; is ran c 0"},
  {"a_wait_goes_on_where_another_wait_took_the_next_task",
   "pool workers=1 lanes=0; stand\n"
   "own: thread other; until ran b; push late in=g\n"
   "other: wait h\n"
   "push a; push own in=g; push b in=h; push c; push last in=g\n"
   "wait g; is ran late; is ran last; is ran a 0; is ran c 0"},
  {"a_cancel_takes_tasks_from_the_middle_and_the_others_keep_their_order",
   "pool workers=1; stand\n"
   "push a high; push x 3 key=k high; push b high; push x key=k high; push c high; push y key=k low\n"
   "cancel k wait = 5; is cancelled x 4; is cancelled y; forget; let; until ran c; is order a b c"},
  {"several_threads_without_a_lane_run_each_task_once",
   "pool workers=2 lanes=0 queue_capacity=16; group g 300; group h 300\n"
   "pusher: times 100: push a tag=g; push b tag=h high; push other\n"
   "a: complete g\n"
   "b: complete h\n"
   "taker: wait g; wait h\n"
   "times 3: thread pusher; thread taker\n"
   "join; settle; is ran a 300; is ran b 300; is ran other 300"},
  {"tasks_of_a_thread_that_has_ended_run",
   "pool workers=1 lanes=1; stand\n"
   "pusher: push a 3; push b high\n"
   "times 3: thread pusher; join; is lanes_used 1\n"
   "let; until ran a 9; until ran b 3"},
  {"a_task_in_any_workers_queue_is_found",
   "pool workers=70\n"
   "busy: push a in=g; block; gate; unblock\n"
   "push busy 69; until entered 69; wait g alone; is ran a 69; let 69; settle\n"
   "push busy 69; until entered 138; wait g alone; is ran a 138; push a; until ran a 139"},
  {"nested_tasks_run_once_on_40_workers",
   "pool workers=40\n"
   "root: push inner 2 in=a; push inner 2 in=b; wait b; wait a\n"
   "inner: push leaf 3; push last 2 in=c; wait c\n"
   "times 30: push root 3 in=g; wait g\n"
   "settle; is ran root 90; is ran inner 360; is ran leaf 1080; is ran last 720"},
  {"a_task_for_a_worker_that_spins_runs_once",
   "pool workers=4 spin=hot\n"
   "times 100: push a in=g; wait g; push a 3 in=g; push b; wait g\n"
   "settle; is ran a 400; is ran b 100"},
  {"a_task_for_a_worker_that_spins_ends_with_its_pool",
   "times 10: pool workers=4 spin=hot; push a 5 in=g; destroy; is done g\n"
   "times 10: pool workers=4 spin=hot; push a 5 in=g; settle; stop drain; push x = -ECANCELED; destroy\n"
   "is ran a 100"},
)
// clang-format on
