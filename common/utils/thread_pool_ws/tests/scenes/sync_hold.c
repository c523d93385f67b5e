// SPDX-License-Identifier: BSD-3-Clause
/// @file sync_hold.c
/// Scenes: races of the parking lot and of what waits there, step by step. "hold" has a thread stand between
/// two steps of a wait or a wake, and the scene goes on meanwhile.
#include "scene.h"

// clang-format off
/// The signal comes when the wait has unlocked the mutex, and its thread has done nothing since. Then the
/// condition variable is destroyed, and its memory has a new use.
#define GONE(start, signal, end) {"a_condition_variable_may_go_after_a_" signal "_" end, \
   "pool workers=2; mutex m; cond c\n" \
   "w: lock m; hold unlocked; pass c m; unlock m\n" \
   start "; until entered; " signal " c; cond c; let; " end "; is ran w; try m"}

/// The fiber ends while the thread that enqueued it has not moved on, and its stack is used again.
#define REUSED(how, result) {"a_fiber_ends_before_its_thread_moves_on_" how, \
   "pool workers=2; sem s 0; token t\n" \
   "w: hold entered; pass s = " result "\n" \
   "x: pass s\n" \
   "push w fiber token=t; until entered; " how "; until ran w; push x 40 fiber; until parked 40; let\n" \
   "post s 40; settle; is ran x 40"}

/// The waiter gets what it waits for as it enters. A cancel comes before it has moved on.
#define LATE(name, start, end, waits, gives, left) {"a_cancel_after_success_is_late_" name, \
   "pool workers=1; sem s 0; mutex m; lock m; token t\n" \
   "w: use t; hold before entered; " waits "; use none\n" \
   start "; until entered; " gives "; let; until entered 2; request t; let; " end "; is ran w; " left}

// A line of text is a line of the scene.
SCENES("sync_hold",
  {"a_wake_before_the_wait_begins",
   "pool workers=2; sem s 0\n"
   "w: hold before; pass s\n"
   "push w fiber; until entered; post s; let; settle; is ran w"},
  {"a_cancel_before_the_wait_begins_leaves_the_unit",
   "pool workers=2; sem s 0; token t\n"
   "w: hold before; pass s = -ECANCELED\n"
   "push w fiber token=t; until entered; request t; post s; let; settle; is ran w; try s"},
  {"an_abort_before_the_wait_begins",
   "pool workers=2; sem s 0\n"
   "w: hold before; pass s = -ECANCELED\n"
   "aborter: stop abort\n"
   "push w fiber; until entered; thread aborter; until stopping; let; join; is ran w"},
  REUSED("post s", "0"), REUSED("request t", "-ECANCELED"),
  LATE("fiber_unit", "push w fiber token=t", "settle", "pass s", "post s", "try s = 0"),
  LATE("thread_unit", "thread w", "join", "pass s", "post s", "try s = 0"),
  LATE("fiber_mutex", "push w fiber token=t", "settle", "pass m within=never; unlock m", "unlock m", "try m"),
  LATE("thread_mutex", "thread w", "join", "pass m within=never; unlock m", "unlock m", "try m"),
  {"a_thread_that_was_signalled_sleeps_until_it_has_the_mutex",
   "clock; mutex m; cond c\n"
   "w: lock m; hold entered limit; pass c m within=1800s; unlock m\n"
   "thread w; until entered; lock m; signal c; let; elapse 3600s; until expired >= 1; until quiet\n"
   "unlock m; join; is expired 1"},
  {"a_gate_that_was_open_for_a_moment_lets_a_wait_pass",
   "pool workers=2; door d\n"
   "f: hold before; pass d\n"
   "g: pass d\n"
   "push f fiber; until entered; open d; open d; shut d; try d = 0; let; until ran f\n"
   "push g fiber; until parked 1; open d; settle"},
  {"a_late_wake_of_a_gate_lets_no_later_wait_pass",
   "pool workers=2; door d\n"
   "o: hold unpark; open d\n"
   "w: pass d\n"
   "thread o; until entered; shut d; push w fiber; until parked 1; let; join; until quiet; is ran w 0\n"
   "open d; settle; is ran w"},
  {"a_late_wake_of_a_gate_that_is_gone_reaches_no_mutex",
   "pool workers=1; door d\n"
   "o: hold unpark; open d\n"
   "w: lock d; unlock d\n"
   "thread o; until entered; pass d; mutex d; lock d; push w fiber; until parked 1; let; join; is parked 1\n"
   "unlock d; settle; is ran w"},
  {"a_signal_gives_each_wait_its_own_mutex",
   "pool workers=1; mutex m; mutex n; cond c\n"
   "w: lock m; pass c m; unlock m\n"
   "x: lock n; pass c n; unlock n\n"
   "s: hold move; signal c\n"
   "push w fiber; until parked 1; signal c; settle; thread s; until entered; push x fiber; until parked 1\n"
   "let; join; settle; is ran x; try m; try n"},
  GONE("push w fiber", "signal", "settle"), GONE("push w fiber", "broadcast", "settle"),
  GONE("thread w", "signal", "join"), GONE("thread w", "broadcast", "join"),
  {"a_wait_has_its_mutex_until_a_signal_finds_it",
   "pool workers=2; mutex m; cond c\n"
   "w: lock m; hold before; pass c m; unlock m\n"
   "push w fiber; until entered; try m = 0; let; lock m; signal c; unlock m; settle; is ran w"},
  {"a_wait_that_is_cancelled_at_once_unlocks_its_mutex",
   "pool workers=1; mutex m; cond c; token t; request t\n"
   "w: lock m; hold unlocked; pass c m = -ECANCELED; try m = 0; unlock m\n"
   "push w fiber token=t; until entered; try m; unlock m; let; settle; is ran w; try m"},
  {"a_stop_waits_for_a_thread_that_resumes_a_fiber",
   "pool workers=1; sem s 0\n"
   "w: pass s\n"
   "p: hold woken; post s\n"
   "stopper: stop drain\n"
   "push w fiber; until parked 1; until quiet; thread p; until entered; until ran w; thread stopper\n"
   "until quiet; is ran stopper 0; let; join; is ran stopper"},
  {"a_stop_does_not_wait_for_a_thread_that_resumes_elsewhere",
   "pool workers=1; sem s 0\n"
   "w: pass s\n"
   "p: hold woken; post s\n"
   "push w fiber; until parked 1; until quiet; thread p; until entered\n"
   "times 64: pool other workers=1; stop drain; destroy @other\n"
   "let; join; settle @pool; is ran w @pool"},
)
// clang-format on
