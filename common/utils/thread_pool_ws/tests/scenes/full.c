// SPDX-License-Identifier: BSD-3-Clause
/// @file full.c
/// Scenes: what pushes do when a queue is full, and memory that grows and comes back.
#include "scene.h"

// clang-format off
/// The worker stands.
#define HELD(capacity, full) "pool workers=1 spin=off queue_capacity=" capacity " full=" full "; stand\n"
#define TRY(full)                                                                                            \
  {"a_push_that_tries_never_grows_nor_runs_" full,                                                           \
   HELD("4", full) "push a 4 try; push a try = -EAGAIN; is ran a 0; is queue_bytes 0\n"                      \
   "let; settle; is ran a 4"}
#define KIND(priority)                                                                                       \
  {"a_full_queue_of_" priority "_priority_grows",                                                            \
   HELD("2", "grow") "push a 300 " priority "; is queued_tasks 300; is queue_bytes >= 1\n"                   \
   "let; settle; is ran a 300"},                                                                             \
  {"a_full_queue_of_" priority "_priority_refuses",                                                          \
   HELD("8", "fail") "push a 8 " priority "; push a " priority " = -EAGAIN; push b 8; push b = -EAGAIN"},    \
  {"a_full_queue_of_" priority "_priority_has_the_push_run_the_task",                                        \
   HELD("8", "inline") "push a 8 " priority "; is ran a 0; push a " priority "; is ran a 1\n"                \
   "is inline_tasks 1"}
SCENES("full",
  {"a_full_queue_grows",
   HELD("2", "grow") "push a 1000; is queued_tasks 1000; is growths >= 1; is queue_bytes >= 1\n"
   "is high_water_tasks >= 875; is high_water_tasks <= 1000; is ran a 0; let; settle; is queued_tasks 0; "
   "is ran a 1000"},
  {"a_full_queue_has_the_push_run_the_task",
   HELD("2", "inline") "push a 100; is ran a 98; is inline_tasks 98; let; settle; is ran a 100"},
  {"a_full_queue_refuses",
   HELD("2", "fail") "group g 3; push a 2 in=g; push a in=g = -EAGAIN; let; settle; is done g 0\n"
   "complete g; is done g; push a; settle; is ran a 3"},
  TRY("grow"), TRY("inline"), TRY("fail"),
  {"a_batch_grows", HELD("8", "grow") "push a 5 batch; push a 45 batch; is ran a 0; let; settle; "
  "is ran a 50"},
  {"a_batch_runs_the_rest", HELD("8", "inline") "push a 5 batch; push a 45 batch; is ran a 42; let; "
  "settle; is ran a 50"},
  {"a_batch_is_taken_from_the_front",
   HELD("8", "fail") "push a 5 batch; push a 45 batch = 3; push a 7 batch = 0; is ran a 0; let; settle; "
   "is ran a 8"},
  KIND("high"), KIND("low"),
  {"without_workers_pushes_run_their_tasks",
   "pool workers=0; push a 3 in=g; is ran a 3; is done g; wait g; push a 4 batch; push a try; is ran a 8; "
   "settle\n"
   "is inline_tasks 8; is workers 0"},
  {"grown_queues_of_threads_and_workers_shrink",
   "pool workers=1 queue_capacity=2\n"
   "inside: push a 3000 in=g; wait g\n"
   "times 3: thread inside; join; push inside in=all; wait all alone; until queue_bytes 0\n"
   "is growths >= 2"},
  {"a_queue_shrinks_though_its_thread_finds_nothing_to_wait_for",
   HELD("2", "grow") "push a 500 in=g; let; until done g; is queue_bytes >= 1; wait g; until queue_bytes 0"},
  {"pool_wide_queues_give_their_memory_back",
   HELD("2", "grow") "times 3: push a 300 low in=g; push b 300 high; is queue_bytes >= 1; let; wait g; "
   "settle; until queue_bytes 0; stand\n"
   "let; is ran a 900; is ran b 900"},
  {"a_queue_shrinks_though_all_workers_sleep",
   HELD("2", "grow") "push a 500; let; until ran a 500; until workers_awake 0; settle; until queue_bytes 0"},
  {"a_queue_shrinks_though_its_thread_only_pushes",
   HELD("2", "grow") "push a 500; is queue_bytes >= 1\n"
   "next: gate\n"
   "times 1100: push next; let; until queued_tasks 0\n"
   "until queue_bytes 0"},
)
// clang-format on
