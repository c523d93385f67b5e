// SPDX-License-Identifier: BSD-3-Clause
/// @file key.c
/// Scenes: cancel by key. Each task of a key runs or is cancelled, once; its group is completed either way.
#include "scene.h"

// clang-format off
#define HELD "pool workers=1 spin=off; stand; "
/// Three tasks of a key, one of each priority.
#define THREE "push a in=g key=k; push a in=g key=k high; push a in=g key=k low; "
SCENES("key",
  {"queued_tasks_are_skipped_and_later_ones_are_not",
   HELD THREE "push other 5; cancel k = 3; is cancelled a 0; cancel k = 0\n"
   "let; wait g alone; settle; is ran a 0; is cancelled a 3; is ran other 5; is cancelled_tasks 3; "
   "is skipped_tasks 0\n"
   "push a in=g key=k; wait g; is ran a; cancel k = 0; cancel k wait = 0"},
  {"keys_are_apart",
   HELD "push a key=k; push b 3 key=other; cancel k = 1; let; settle; is ran b 3; is cancelled a; "
   "is cancelled_tasks 1"},
  {"what_has_started_goes_on",
   "pool workers=1\n"
   "stands: gate\n"
   "push stands key=k; until entered 1; push a 3 key=k; cancel stands one = -EBUSY; cancel k = 3\n"
   "cancel k wait = 0; let; settle; is ran stands; cancel stands one = -EBUSY; cancel a one = -EBUSY; "
   "is cancelled a 3"},
  {"a_key_has_more_cancels_than_words",
   "pool workers=1 spin=off\n"
   "times 60: stand; push a 3 key=k; cancel k = 3; push b key=k high; cancel k wait = 1; let; settle\n"
   "is cancelled a 180; is cancelled b 60; is cancelled_tasks 240"},
  {"one_task_of_a_key",
   HELD "push a 4 in=g key=k; cancel a one; cancel a one = -EALREADY; push b in=g key=k; cancel b one; "
   "push a in=g key=k\n"
   "let; wait g alone; settle; is ran a 4; is cancelled a; is cancelled b; is cancelled_tasks 2; "
   "cancel k wait = 2"},
  {"each_task_is_cancelled_by_one_call",
   HELD "push a 3 key=k; push b key=k; cancel b one; cancel k = 3; cancel b one = -EALREADY; "
   "cancel a one = -EALREADY\n"
   "let; settle; is cancelled a 3; is cancelled b"},
  {"a_refused_push_does_not_count",
   "pool workers=1 full=fail queue_capacity=2; stand; push x 2; push a key=k = -EAGAIN; cancel k = 0; "
   "cancel k wait = 0"},
  {"an_abort_skips_tasks_of_a_key_and_they_do_not_count",
   HELD THREE "push b key=k; cancel b one\n"
   "aborter: stop abort = 4\n"
   "thread aborter; until stopping; let; join; is cancelled a 3; is cancelled b; is done g; cancel k = 0"},
  {"a_cancel_that_waits_counts_what_an_abort_has_skipped",
   HELD "push a 4 key=k\n"
   "aborter: stop abort = 4\n"
   "thread aborter; until stopping; let; join; cancel k wait = 4"},
  {"a_drain_skips_what_was_cancelled",
   HELD THREE "cancel k = 3; let; stop drain; is cancelled a 3; push a key=k = -ECANCELED; "
   "cancel k wait = 0"},
  {"a_task_cannot_wait_for_a_cancel",
   "pool workers=1; push inside in=g; wait g alone\n"
   "inside: push a key=k; cancel k wait = -EDEADLK\n"
   "settle; is ran a"},
  {"a_cancel_that_waits_skips_the_callers_own_tasks",
   HELD "push other 3; " THREE "push other 3; cancel k = 3; push b key=k; cancel k wait = 1\n"
   "is cancelled a 3; is cancelled b; is done g; is ran other 0; is queued_tasks 6; let; settle"},
  {"a_cancel_that_waits_skips_the_tasks_of_threads_without_a_queue",
   "pool workers=1 lanes=0; stand; push other 3; " THREE "cancel k wait = 3; is cancelled a 3; "
   "is ran other 0"},
  {"a_wait_covers_earlier_cancels",
   HELD "push a key=k; times 17: cancel k\n"
   "waiter: cancel k wait; is cancelled a\n"
   "thread waiter; sleep 200us; is ran waiter 0; let; join"},
  {"a_wait_returns_what_was_skipped",
   "simulated cpus=4; " HELD "push a 10 key=k\n"
   "first: cancel k wait = 10\n"
   "second: cancel k wait = 1\n"
   "thread first; sleep 5ms; push a key=k; thread second; sleep 5ms; is ran first 0; is ran second 0; "
   "let; join"},
  {"a_wait_leaves_out_later_tasks",
   "simulated cpus=4; " HELD "push a key=k\n"
   "waiter: cancel k wait = 1; is ran later 0\n"
   "thread waiter; sleep 5ms; push stand; push later key=k; let; join; is ran later 0; let; settle; "
   "is ran later"},
  {"an_early_cancel_does_not_take_the_count_of_a_later_one",
   "simulated cpus=4; " HELD "push early key=k; times 16: cancel k\n"
   "waiter: cancel k wait = 1\n"
   "push late key=k high; thread waiter; sleep 5ms; let; join; is cancelled early; is cancelled late"},
  {"each_cancelled_task_is_returned_by_one_call",
   "pool workers=2\n"
   "pusher: times 150: push a key=k; push b key=k high; push c key=k low\n"
   "all: till ran pusher 2: cancel k; sleep 5us\n"
   "some: till ran pusher 2: cancel a one = any; cancel b one = any; cancel c one = any; sleep 5us\n"
   "push a key=k; push b key=k; push c key=k; times 2: thread pusher; thread all; thread some\n"
   "join; settle; is unreturned k 0"},
  {"each_cancelled_task_is_returned_by_one_wait_and_may_free_itself",
   "pool workers=2; stand 2; push a 50 key=k frees; cancel k wait = 50; let 2\n"
   "pusher: times 150: push a key=k frees; push a key=k frees high; push a key=k frees low\n"
   "times 3: thread pusher\n"
   "till ran pusher 3: cancel k wait = any; sleep 5us\n"
   "cancel k wait = any; settle; is unreturned k 0"},
)
// clang-format on
