// SPDX-License-Identifier: BSD-3-Clause
/// @file block.c
/// Scenes: tasks, and threads that help, may block. Queued tasks run meanwhile.
#include "scene.h"

// clang-format off
SCENES("block",
  {"all_workers_have_a_task_though_each_blocks",
   "pool workers=8\n"
   "times 5: stand 8; let 8; settle\n"
   "times 5: stand 8; let 8; settle; until workers_awake 0"},
  {"a_producer_that_sleeps_gets_its_tasks_run",
   "pool workers=4; stand 3; push task 100; until ran task 100\n"
   "stand; let 4; settle"},
  {"tasks_wait_for_later_tasks",
   "pool workers=6\n"
   "consumer: gate made\n"
   "producer: let made\n"
   "times 20: push consumer 4 in=g; push producer 4 in=g; wait g alone"},
  {"a_task_polls_for_a_later_one",
   "pool workers=2\n"
   "poller: busy answer\n"
   "answerer: let answer\n"
   "push poller; until entered answer; push answerer; until ran poller"},
  {"threads_that_help_and_block_keep_no_worker_from_its_task",
   "pool workers=2; stand 2\n"
   "helper: push held in=h; wait h\n"
   "held: gate door\n"
   "times 6: thread helper\n"
   "until entered door 6; let 2; until ran stand 2\n"
   "stand 2; let 2; let door 6; join; settle"},
  {"sections_nest_and_surplus_ends_do_nothing",
   "pool workers=2; unblock\n"
   "task: unblock; block; block; unblock; push other in=h; wait h; unblock; unblock\n"
   "times 50: push task 4 in=g; wait g\n"
   "stand 2; let 2; settle; is ran other 200"},
  {"sections_and_waits_in_another_pool_nest",
   "pool inner workers=1; pool outer workers=1\n"
   "task: block; push leaf in=h @inner; wait h @inner; unblock; settle @inner\n"
   "times 50: push task 2 in=g; wait g\n"
   "stand; let; settle; is ran leaf 100"},
  {"no_wake_is_lost",
   "pool workers=2 spin=off\n"
   "times 300: push task in=g; wait g alone"},
  {"a_task_is_run_whose_push_woke_no_worker",
   "pool workers=3 spin=off spin_ns_max=0\n"
   "times 200: push tiny 2 in=g; wait g; sleep 100us\n"
   "times 30: push tiny in=g; wait g alone"},
)
// clang-format on
