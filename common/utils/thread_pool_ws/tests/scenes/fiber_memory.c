// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_memory.c
/// Scenes: stacks, and memory that runs out. Each in a process of its own: it counts what the process has.
#include "scene.h"

// clang-format off
#define STACKS "apart\nclock; pool workers=1; latch l 1\nw: pass l\n"

// A line of text is a line of the scene.
SCENES("fiber_memory",
  {"stacks_that_are_idle_for_long_are_unmapped",
   STACKS
   "push w 100 fiber in=g; until parked 100; is stacks 100; down l; until done g; destroy\n"
   "elapse 5s; until stacks 0\n"
   "pool workers=1; latch l 1; push w 100 fiber in=h; until parked 100; down l; until done h; destroy\n"
   "elapse 5s; until stacks 0"},
  {"a_thread_keeps_no_large_stack",
   STACKS
   "push w 5 fiber stack=1048576; until parked 5; is sharedstacks 0; down l; settle; is sharedstacks 5"},
  {"a_push_without_memory_fails_and_a_later_one_works",
   STACKS
   "deny addresses; times 2: push n fiber stack=1048576 in=g = -ENOMEM\n"
   "deny pages; push n fiber stack=1048576 in=g = -ENOMEM; is stacks 0; is done g 0; settle\n"
   "deny none; push n fiber stack=1048576 in=h; wait h"},
  {"a_push_that_the_pool_refuses_gives_its_stack_back",
   STACKS
   "push n fiber; stop drain; times 200: push n fiber in=g = -ECANCELED\n"
   "is stacks <= 2; is done g 0; settle"},
  {"without_memory_for_a_time_limit_a_wait_blocks_its_worker",
   "apart\n"
   "pool workers=1; sem s 0\n"
   "w: deny memory; pass s within=1ms = -ETIMEDOUT; deny none\n"
   "push w fiber; settle; is ran w"},
  {"the_thread_for_time_limits_is_woken_only_for_an_earlier_one",
   "apart\n"
   "clock; pool workers=1 spin_ns_max=0; sem p 1; sem q 0; sem end 0\n"
   "w1: pass end at=3600s\n"
   "w2: pass end at=10800s\n"
   "w3: pass end at=7200s\n"
   "w4: pass end at=1800s\n"
   "a: times 1000: pass p at=14400s; post q\n"
   "a: pass end\n"
   "b: times 1000: pass q at=14400s; post p\n"
   "b: pass end\n"
   "push w1 fiber; until parked 1; until quiet; clock; push w2 fiber; push w3 fiber\n"
   "push a fiber; push b fiber; until passing 2005; until parked 5; is wakes 0\n"
   "push w4 fiber; until parked 6; is wakes 1; post end 6; settle"},
)
// clang-format on
