// SPDX-License-Identifier: BSD-3-Clause
/// @file awake.c
/// Scenes: how many workers are awake, which of them a push wakes, and that a pool at rest stands still.
#include "scene.h"

// clang-format off
#define ALL_SLEEP "until workers_awake 0; sleep 50ms; "

SCENES("awake",
  // The cap: no more workers than CPUs that other threads leave, unless tasks block.
  {"as_many_workers_work_as_there_are_cpus",
   "simulated cpus=2; pool workers=8 spin=off; " ALL_SLEEP
   "push busy 40 in=g; until workers_awake 2; wait g alone\n"
   "busy: work 1ms; is workers_awake <= 2"},
  {"no_more_than_cpus_that_the_process_may_use",
   "simulated cpus=8; on 7; pool workers=8 spin=off; " ALL_SLEEP "push busy 40 in=g; wait g alone\n"
   "busy: work 1ms; is workers_awake 1"},
  {"the_cap_holds_again_after_a_rest", // but for a worker that was woken beside another one, and has no CPU
   "simulated cpus=2; pool workers=8 spin=off; stand 8; let 8; settle; " ALL_SLEEP
   "push busy 40 in=g; wait g alone\n"
   "busy: work 1ms; is workers_awake <= 3"},
  {"the_cap_holds_again_while_tasks_come",
   "simulated cpus=1; pool workers=3 spin=off; " ALL_SLEEP "stand 3; let 3\n"
   "times 40: push task in=g; wait g alone; sleep 600us\n"
   "task: work 200us\n"
   "push busy 9 in=h; wait h alone\n"
   "busy: work 1ms; is workers_awake 1"},
  {"a_worker_that_runs_its_own_tasks_does_not_stall",
   "simulated cpus=1; pool workers=2 fifo=1 spin=off; " ALL_SLEEP "push first in=g; wait g alone\n"
   "first: push own 100 in=g\n"
   "own: work 1ms; is workers_awake 1"},

  {"a_task_that_polls_for_another_on_the_only_cpu_lifts_the_cap",
   "simulated cpus=1; pool workers=2 spin=off; " ALL_SLEEP "push poller; until entered answer\n"
   "push answerer in=g; wait g alone within=100ms\n"
   "poller: busy answer\n"
   "answerer: let answer"},
  {"threads_that_block_as_they_help_need_no_cpu",
   "simulated cpus=2; pool workers=2 spin=off; stand 2; times 6: thread helper\n"
   "until entered door 6; let 2; until ran stand 2; " ALL_SLEEP
   "push poller 2; until entered go 2; let go; let door 6\n"
   "helper: push held in=h; wait h\n"
   "held: gate door\n"
   "poller: busy go"},

  // A thread that makes room under the cap wakes a worker itself, and does not leave that to the guard.
  {"a_worker_that_blocks_makes_room",
   "simulated cpus=1; pool workers=2 spin=off; " ALL_SLEEP "push blocker in=g; wait g alone\n"
   "blocker: push other; is workers_awake 1; block; is workers_awake 2; unblock"},
  {"a_thread_that_sleeps_in_a_wait_makes_room",
   "simulated cpus=2; pool workers=2 spin=off join_spin_ns_max=0; push busy; until entered go; sleep 50ms\n"
   "group g 1; push other; wait g within=100us; let go\n"
   "busy: busy go\n"
   "other: complete g"},

  // Wakes.
  {"a_burst_wakes_as_many_workers_as_it_has_tasks",
   "simulated cpus=8; pool workers=4 spin=off\nheld: gate door\n"
   ALL_SLEEP "note; push held 1 batch; until entered door 1; is more wakes_sent 1; let door 1; settle\n"
   ALL_SLEEP "note; push held 2 batch; until entered door 3; is more wakes_sent 2; let door 2; settle\n"
   ALL_SLEEP "note; push held 3 batch; until entered door 6; is more wakes_sent 3; let door 3; settle"},
  {"a_push_wakes_one_worker_however_many_tasks_it_brings",
   "simulated cpus=8; pool workers=4 spin=off; " ALL_SLEEP
   "note; push task 60 batch; is more wakes_sent 1; settle"},
  {"a_push_wakes_no_worker_where_none_sleeps",
   "simulated cpus=2; pool workers=1 spin=off; stand; note; push task 200\n"
   "is more wakes_sent 0; let; settle"},
  {"a_push_wakes_no_worker_while_one_searches",
   "simulated cpus=3; pool workers=4 spin=hot; sleep 1ms; is workers_awake 2; note; push task 6 batch\n"
   "is more wakes_sent 0; settle"},

  // Hints: the thread that gives one has a CPU, and is itself the last to need a worker.
  // More: three threads at once find that one more may be awake.
  {"a_hint_wakes_as_many_as_are_wanted_and_have_cpus",
   "simulated cpus=4; pool workers=8 spin=off; push task; settle; " ALL_SLEEP
   "note; prewake 100; sleep 500us; is more wakes_sent >= 3; is more wakes_sent <= 5; " ALL_SLEEP
   "note; prewake 2; sleep 500us; is more wakes_sent >= 2; is more wakes_sent <= 3; " ALL_SLEEP
   "note; prewake 0; sleep 500us; is more wakes_sent 0"},
  {"a_worker_that_a_hint_has_woken_looks_and_sleeps_again",
   "simulated cpus=4; pool workers=3 spin=off; " ALL_SLEEP
   "note; prewake 3; until workers_awake 3; " ALL_SLEEP "is more parks 3; is more futile_wakes 3"},
  {"a_worker_that_a_push_has_woken_finds_its_task",
   "simulated cpus=2; pool workers=1 spin=off; " ALL_SLEEP
   "note; push task; until ran task 1; " ALL_SLEEP "is more wakes_sent 1; is more futile_wakes 0"},
  {"a_thread_without_a_lane_is_counted_where_it_wakes",
   "simulated cpus=2; pool workers=1 lanes=0 spin=off; " ALL_SLEEP
   "note; push task; until ran task 1; " ALL_SLEEP "prewake 1; is more wakes_sent 2"},
  {"a_hint_for_as_many_as_pay_wakes_as_many_as_its_thread_can_call",
   "simulated cpus=4; pool workers=3 spin=off; push task; settle; " ALL_SLEEP
   "note; prewake 4294967295; sleep 500us; is more wakes_sent >= 1; " ALL_SLEEP
   "is more wakes_sent <= 3; is more futile_wakes >= 1"},
  {"a_push_wakes_no_worker_where_a_hint_has_woken_one",
   "simulated cpus=2; pool workers=1 spin=off; push task; settle; " ALL_SLEEP
   "note; prewake 1; until workers_awake 1; sleep 200us; prewake 1; push task; is more wakes_sent 1; settle"},

  // A pinned worker is not woken in the place of the thread that pushes.
  {"a_worker_that_would_stop_the_producer_sleeps_on",
   "simulated cpus=2; pool workers=1 pin_step=1 spin=off; on 0; " ALL_SLEEP "note; push task 10\n"
   "is more wakes_sent 0; is more spared_wakes 10; prewake 1; is more wakes_sent 0; settle"},
  {"the_guard_wakes_it_if_the_producer_does_not_wait",
   "simulated cpus=2; pool workers=1 pin_step=1 spin=off; on 0; " ALL_SLEEP
   "push task; work 10ms; is ran task"},

  // A worker that is woken, or spins, gets no CPU: another one runs the tasks, and pushes do not rely on it.
  {"a_woken_worker_without_a_cpu_delays_no_task",
   "simulated cpus=4; pool workers=2 pin_step=1 spin=off; on 3; " ALL_SLEEP "hog 0 100ms\n"
   "push task 4 in=g; wait g alone within=5ms; is starved_searches >= 1\n"
   "sleep 20ms; push task in=g; wait g alone within=100us\n"
   "sleep 200ms; times 4: stand 2; let 2; settle"},
  {"a_spinning_worker_without_a_cpu_delays_no_task",
   "simulated cpus=5; pool workers=4 pin_step=1 spin=hot; on 4; sleep 1ms\n"
   "hog 0 4ms; hog 1 1ms; hog 2 4ms; hog 3 4ms; sleep 200us\n"
   "times 3: push task 4 in=g; wait g alone within=3ms\n"
   "is starved_searches >= 1; spin off; sleep 20ms; times 4: stand 4; let 4; settle"},
  {"workers_without_cpus_do_not_hide_the_others",
   "simulated cpus=14; pool workers=12 pin_step=1 spin=off; on 13; " ALL_SLEEP
   "hog 0 1s; hog 1 1s; hog 2 1s; hog 3 1s; hog 4 1s; hog 5 1s; hog 6 1s; hog 7 1s; hog 8 1s; hog 9 1s\n"
   "hog 10 1s; push task in=g; wait g alone within=5ms"},

  // Hot pools.
  {"workers_of_a_hot_pool_stay_awake",
   "simulated cpus=3; pool workers=2 spin=hot; sleep 1ms; note; push task 3; settle; sleep 1ms\n"
   "is workers_awake 2; is more parks 0"},
  {"a_pool_can_become_hot_and_cool",
   "simulated cpus=3; pool workers=2 spin=off\n"
   "sleep 5ms; is workers_awake 0; spin hot; sleep 300us; is workers_awake 2; spin off\n"
   "sleep 5ms; is workers_awake 0; spin hot; sleep 300us; is workers_awake 2; spin fixed\n"
   "sleep 20ms; is workers_awake 0; spin hot; sleep 300us; is workers_awake 2; spin auto\n"
   "sleep 20ms; is workers_awake 0"},
  {"of_too_many_hot_workers_only_the_surplus_sleeps",
   "simulated cpus=3; pool a workers=2 spin=hot; sleep 300us; pool b workers=1 spin=hot; sleep 300us\n"
   "is workers_awake >= 1 @a; destroy b; sleep 5ms; is workers_awake 2 @a"},
  {"a_hot_pool_needs_no_guard",
   "simulated cpus=2; pool workers=2 spin=off; " ALL_SLEEP "push task 3; settle\n"
   "spin hot; sleep 16ms; is guard_looks >= 1; note; sleep 2ms; is more guard_looks 0"},
  {"hot_workers_leave_a_cpu_to_other_threads",
   "simulated cpus=2; pool workers=3 spin=hot; sleep 1ms; is workers_awake 1"},

  // At rest.
  {"an_idle_pool_stands_still",
   "simulated cpus=4; pool workers=8; push task 100; settle; " ALL_SLEEP "note; sleep 3s\n"
   "is more parks 0; is more spins 0; is more guard_looks 0; is more wakes_sent 0; is workers_active 0"},
  {"a_wait_on_the_only_cpu_does_not_spin",
   "simulated cpus=1; pool workers=1 join_spin_ns_max=1000000000\n"
   "busy: work 10ms\n"
   "push busy in=g; until began busy; wait g within=13ms; push busy; until began busy 2; settle within=13ms"},
)
// clang-format on
