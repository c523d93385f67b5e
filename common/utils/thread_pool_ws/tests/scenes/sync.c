// SPDX-License-Identifier: BSD-3-Clause
/// @file sync.c
/// Scenes: locks and other waits, by fibers, tasks and threads at once: their order, their limits, their
/// cancels, and misuse. fiber_operations.c adds what each of them must never do.
#include "scene.h"

// clang-format off
#define DIES(name, message, text) {name, "dies " message "\n" text}

/// A fiber, a task and a thread wait in each way, until HOW ends all waits.
#define ENDS(name, how, result, rested) {name, \
   "clock; pool workers=9; mutex m; mutex o; cond c; sem s 0; latch l 1; door d; barrier b 2; token t\n" \
   "lock m\n" \
   "w1: use t; pass m within=1800s = " result "; use none\n" \
   "w2: use t; pass s within=1800s = " result "; use none\n" \
   "w3: use t; lock o; pass c o within=1800s = " result "; try o = 0; unlock o; use none\n" \
   "w4: use t; pass l within=1800s = " result "; use none\n" \
   "w5: use t; pass d within=1800s = " result "; use none\n" \
   "w6: use t; rest 1800s = " rested "; use none\n" \
   "w7: use t; pass b within=1800s = " result "; use none\n" \
   "push w1; push w2; push w3; push w4; push w5; push w6\n" \
   "thread w1; thread w2; thread w3; thread w4; thread w5; thread w6\n" \
   "push w1 fiber; push w2 fiber; push w3 fiber; push w4 fiber; push w5 fiber; push w6 fiber\n" \
   "push w7 fiber; until parked 7; until passing 23\n" \
   how "; join; settle; is parked 0\n" /* nothing is left of the waits that were given up */ \
   "unlock m; try m; post s 2; try s; try s; try s = 0\n" \
   "p: pass b\n" \
   "push p fiber; until parked 1; pass b = 1"}

// A line of text is a line of the scene.
SCENES("sync",
  DIES("a_free_mutex_is_unlocked", "ws_mutex_unlock(): the mutex is not locked", "mutex m; unlock m"),
  DIES("too_many_units", "ws_sem_post(): 1 units on top of 1073741823", "sem s 1073741823 static; post s"),
  DIES("units_overflow", "ws_sem_post(): 4294967295 units on top of 2", "sem s 2 static; post s 4294967295"),
  DIES("too_many_units_at_first", "ws_sem_init(): 1073741824 units on top of 0", "sem s 1073741824"),
  DIES("too_many_parties", "ws_barrier_init(): 2147483648 parties", "barrier b 2147483648"),
  DIES("no_parties", "ws_barrier_init(): 0 parties", "barrier b 0"),
  DIES("no_parties_in_a_wait", "ws_barrier_wait(): the barrier has 0 parties", "barrier b 0 static; pass b"),
  DIES("a_latch_below_0", "ws_latch_count_down(): 2 to count down, but the latch waits for 1",
   "latch l 1; down l 2"),
  DIES("waits_with_two_mutexes", "ws_cond_wait(): two waits at one time",
   "pool workers=1; mutex m; mutex n; cond c\n"
   "w: lock m; pass c m\n"
   "x: lock n; pass c n\n"
   "push w fiber; until parked 1; push x fiber; until parked 2; signal c"),
  {"one_at_a_time_has_a_mutex",
   "pool workers=6; mutex m\n"
   "a: times 300: lock m; unlock m\n"
   "b: times 300: lock m; yield; unlock m\n"
   "c: times 300: poll m; unlock m\n"
   "d: times 300: pass m within=never; yield; unlock m\n"
   "push a; push b; push c; push d; push a 4 fiber; push b 4 fiber; push c 4 fiber; push d 4 fiber\n"
   "thread a; thread b; thread c; thread d; join; settle; try m"},
  {"a_mutex_is_given_to_the_oldest_wait",
   "pool workers=2; mutex m; lock m; try m = 0; pass m within=0 = -ETIMEDOUT\n"
   "a: lock m; mark x; unlock m\n"
   "b: lock m; mark y; unlock m\n"
   "c: lock m; mark z; unlock m\n"
   "push a fiber; until parked 1; push b fiber; until parked 2; push c fiber; until parked 3\n"
   "forget; unlock m; settle; is order x y z; try m; unlock m"},
  {"a_signal_ends_one_wait",
   "pool workers=2; mutex m; cond c; signal c\n"
   "w: lock m; pass c m; mark x; unlock m\n"
   "push w 6 fiber; until parked 6\n"
   "lock m; signal c; is parked 6; unlock m; until ran x 1; is parked 5\n"
   "signal c; lock m; is ran x 2; is parked 4; unlock m\n"
   "times 4: lock m; signal c; unlock m\n"
   "settle; is ran x 6; try m"},
  {"a_broadcast_ends_all_waits_one_after_the_other",
   "pool workers=2; mutex m; cond c\n"
   "w: lock m; pass c m; mark x; yield; unlock m\n"
   "push w 6 fiber; push w; thread w; until parked 6; until passing 16; until quiet\n"
   "lock m; broadcast c; is parked 6; is ran x 0; unlock m; join; settle; is ran x 8\n"
   "push w 7 fiber; until parked 7; broadcast c; settle; is ran x 15; try m"},
  {"a_semaphore_has_as_many_units_as_were_given",
   "pool workers=5; sem s 3\n"
   "p: times 300: pass s; yield; post s\n"
   "q: times 300: pass s; post s\n"
   "push p 6 fiber; push q 6 fiber; push p; push q; push q; thread p; thread q; thread q; join; settle\n"
   "times 3: try s\n"
   "try s = 0; pass s within=0 = -ETIMEDOUT"},
  {"fibers_pass_units_to_each_other",
   "pool workers=3; sem p 8; sem q 0\n"
   "a: times 1000: pass p; post q; pass p; post q; pass p; yield; post q\n"
   "b: times 1000: pass q; post p; pass q; yield; post p; pass q; post p\n"
   "push a 8 fiber; push b 8 fiber; settle\n"
   "times 8: try p\n"
   "try p = 0; try q = 0"},
  {"a_latch_waits_for_0_and_a_gate_until_it_opens",
   "pool workers=2; latch l 3; door d\n"
   "w: pass l; pass d\n"
   "thread w; push w 10 fiber; until parked 10\n"
   "down l; try l = 0; pass l within=0 = -ETIMEDOUT; is parked 10; down l 2; try l\n"
   "until passing 23; until parked 10; is ran w 0; try d = 0; pass d within=0 = -ETIMEDOUT\n"
   "open d; try d; join; settle; is ran w 11; shut d; pass d within=0 = -ETIMEDOUT"},
  {"a_barrier_waits_for_all_parties",
   "pool workers=2; barrier b 7; pass b within=0 = -ETIMEDOUT\n"
   "w: times 300: pass b\n"
   "thread w; thread w; push w 5 fiber; join; settle; is last b 300"},
  ENDS("time_limits_end_waits", "elapse 3600s", "-ETIMEDOUT", "0"),
  ENDS("a_cancel_ends_waits", "try t = 0; request t; try t; request t", "-ECANCELED", "-ECANCELED"),
  {"a_token_that_was_requested_ends_later_waits",
   "pool workers=1; sem s 1; token t; request t\n"
   "f: pass s; pass s = -ECANCELED; use none; pass s\n"
   "push f fiber token=t; until parked 1; post s; settle; is ran f"},
  {"a_cancel_ends_no_wait_that_returns_nothing",
   "pool workers=1; mutex m; token t; group g 1; lock m\n"
   "f: lock m; unlock m; wait g\n"
   "push f fiber token=t; until parked 1; request t; is parked 1; push f fiber token=t; until parked 2\n"
   "unlock m; until passing 3; until parked 2; complete g; settle; is ran f 2"},
  {"a_wait_that_was_signalled_is_ended_by_nothing_else",
   "clock; pool workers=1; mutex m; cond c; token t\n"
   "w: lock m; pass c m within=1800s; unlock m\n"
   "r: rest 3000s\n"
   "push w 3 fiber token=t; push r fiber; until parked 4; lock m; broadcast c; elapse 3600s; until ran r\n"
   "request t; is parked 3; unlock m; settle; is ran w 3"},
  {"many_sleeps_end_in_their_order",
   "clock; pool workers=2\n"
   "r1: rest at=900s\n"
   "r2: rest at=4500s\n"
   "r3: rest at=8100s\n"
   "r4: rest at=11700s\n"
   "times 50: push r3 fiber; push r1 fiber; push r4 fiber; push r2 fiber\n"
   "until parked 200; elapse 3600s; until ran r1 50; is parked 150\n"
   "elapse 3600s; until ran r2 50; is parked 100\n"
   "elapse 3600s; until ran r3 50; is parked 50; elapse 3600s; settle; is ran r4 50"},
  {"a_task_that_waits_lets_another_worker_run",
   "pool workers=1; sem s 0\n"
   "w: pass s\n"
   "push w; until blocked; post s; settle; is blocked 0"},
)
// clang-format on
