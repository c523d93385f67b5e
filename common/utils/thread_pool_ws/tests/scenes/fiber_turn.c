// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_turn.c
/// Scenes: fibers that yield, or wake each other, without end let everything else have its turn. By the
/// scene's clock, which the fibers advance by what their runs take.
#include "scene.h"

// clang-format off
/// Three fibers on the only worker warm up. Then a thread pushes COUNT tasks t. At most MOST switches of the
/// fibers, and the tasks, come before the last task has run.
#define ASKS(count, most) \
   "until entered; forget; push t " count "; let; until ran t " count "; settle; is events <= " most
#define YIELD(name, settings, before, after, count, most) {name, \
   "clock; pool workers=1 " settings "\n" \
   "a: mark up\n" \
   "a: till ran up 3: yield\n" \
   "a: times 300: elapse " before "; yield\n" \
   "a: gate\n" \
   "a: till ran t " count ": mark s; elapse " after "; yield\n" \
   "f: mark up\n" \
   "f: till entered: elapse " before "; yield\n" \
   "f: till ran t " count ": mark s; elapse " after "; yield\n" \
   "push a fiber; push f 2 fiber\n" ASKS(count, most)}
/// The same by fibers that wake each other in turn.
#define PARKS(own, next, before, after, count) \
   "p" own ": mark up\n" \
   "p" own ": till ran up 3: yield\n" \
   "p" own ": pass s" own "\n" \
   "p" own ": till entered: elapse " before "; post s" next "; pass s" own "\n" \
   "p" own ": till ran t " count ": mark s; elapse " after "; post s" next "; pass s" own "\n" \
   "p" own ": post s" next "\n"
#define PARK(name, settings, before, after, count, most) {name, \
   "clock; pool workers=1 " settings "; sem s0 0; sem s1 0; sem s2 0\n" \
   "a: mark up\n" \
   "a: till ran up 3: yield\n" \
   "a: times 300: elapse " before "; post s1; pass s0\n" \
   "a: gate\n" \
   "a: till ran t " count ": mark s; elapse " after "; post s1; pass s0\n" \
   "a: post s1\n" \
   PARKS("1", "2", before, after, count) PARKS("2", "0", before, after, count) \
   "push a fiber; push p1 fiber; push p2 fiber\n" ASKS(count, most)}

#define BOTH(name, before, after, count, most) \
  YIELD(name "_yield", "fifo=0", before, after, count, most), \
  YIELD(name "_yield_fifo", "fifo=1", before, after, count, most), \
  PARK(name "_park", "fifo=0", before, after, count, most), \
  PARK(name "_park_fifo", "fifo=1", before, after, count, most)

/// All workers always have fibers that yield: a task of a thread, and one in the queue of a worker that
/// stands in a fiber.
#define BUSY(workers, fibers, fifo) \
  {"busy_workers_look_at_threads_" workers fifo, "pool workers=" workers " fifo=" fifo "\n" \
   "f: till ran t: yield\n" \
   "push f " fibers " fiber; push t; until ran t"}, \
  {"busy_workers_look_at_each_other_" workers fifo, "pool workers=" workers " fifo=" fifo "\n" \
   "f: till ran t: yield\n" \
   "h: push t; gate\n" \
   "push f " fibers " fiber; push h fiber; until ran t; let"}

#define REACHES(kind) {"yielding_fibers_let_each_task_run_" kind, "pool workers=1\n" \
   "f: till ran t: yield\n" \
   "g: push u\n" \
   "g: till ran u: yield\n" \
   "push f 3 fiber " kind "; push t; until ran t; settle; push g fiber " kind "; until ran u"}

#define NEXT(fifo) {"a_task_below_a_fiber_that_yields_is_next_" fifo, "pool workers=1 fifo=" fifo "\n" \
   "f: push t\n" \
   "f: till ran t: mark s; yield\n" \
   "push f fiber in=o; until done o; is ran s 1"}
#define SELDOM(fifo) {"a_yield_does_not_read_the_clock_" fifo, "clock; pool workers=1 fifo=" fifo "\n" \
   "a: mark up\n" \
   "a: till ran up 3: yield\n" \
   "a: clock\n" \
   "a: times 1000: yield\n" \
   "a: is reads <= 190; mark end\n" /* each sixteenth of 3000 */ \
   "f: mark up\n" \
   "f: till ran end: yield\n" \
   "push a fiber in=o; push f 2 fiber in=o; until done o"}

#define FULL(kind) {"fibers_yield_in_a_full_queue_without_memory_" kind, \
   "pool workers=1 queue_capacity=2; stand\n" \
   "y: times 1000: yield\n" \
   "push y 20 fiber " kind "; push v; deny memory; let; until ended 20; until ran v; is ran y 20"}

SCENES("fiber_turn",
  // runs that are longer than the time between two looks
  BOTH("slow_fibers_look_at_each_switch", "60us", "60us", "1", "3"),
  // runs of a quarter of that time
  BOTH("a_round_fills_the_time", "12500", "12500", "1", "6"),
  BOTH("a_round_has_an_end", "0", "0", "1", "18"),
  // runs that take no time, and then become slow: the worst that can happen
  BOTH("a_round_has_an_end_also_if_fibers_become_slow", "0", "60us", "1", "18"),
  // each look takes one task; after one that found a task the next comes at once
  BOTH("many_tasks_share_with_fibers", "0", "0", "100", "416"),
  BUSY("2", "6", "0"), BUSY("2", "6", "1"), BUSY("3", "9", "0"), BUSY("3", "9", "1"),
  REACHES("normal"), REACHES("high"), REACHES("low"),
  NEXT("0"), NEXT("1"), SELDOM("0"), SELDOM("1"), FULL("normal"), FULL("high"),
  {"a_wait_returns_while_other_fibers_yield",
   "pool workers=1\n"
   "p: mark up\n"
   "p: till ran back: mark late; yield\n"
   "last: till ran up 3: yield\n"
   "last: forget\n"
   "w: push p 3 fiber; push last fiber in=g; wait g; mark back\n"
   "push w in=o; until done o; settle; is events <= 2"},
  {"a_wait_returns_while_other_fibers_yield_also_after_a_unit_by_hand",
   "pool workers=1; group g 2\n"
   "p: till ran back: mark s; yield\n"
   "last: till ran s >= 3: yield\n"
   "w: push p 3 fiber; push last fiber in=g; wait g; mark back\n"
   "push w; until ran s >= 100; complete g; until ran back; settle"},
  {"a_fiber_lets_a_buried_task_have_a_turn",
   "pool workers=1; sem s 0\n"
   "p: pass s\n"
   "p: till ran tells: mark y; yield\n"
   "posts: post s\n"
   "w: push n; push tells in=g; push n; push posts in=g; wait g\n"
   "push p fiber; until parked 1; push w in=o; until done o; settle; is ran y <= 3"},
  {"fibers_in_a_wait_in_a_wait_take_turns",
   "pool workers=1\n"
   "y: mark up\n"
   "y: till ran up 20: yield\n"
   "w: push n; push y 20 fiber in=g; wait g\n"
   "outer: push w in=h; wait h\n"
   "push outer in=o; until done o; is ran y 20"},
  {"a_yield_in_a_full_queue_without_memory_is_not_the_fibers_own_next_run",
   "pool workers=1 queue_capacity=2\n"
   "x: push v; push y fiber; deny memory; till ran v: yield\n"
   "y: till ran v: yield\n"
   "push x fiber in=o; until done o"},
  {"others_wait_for_memory_while_a_queue_is_full_of_fibers_that_yield",
   "pool workers=1 queue_capacity=2; stand\n"
   "y: till ran v: mark s; yield\n"
   "push y 20 fiber; push v; deny memory; let; until ran s >= 1000; is ran v 0\n"
   "deny none; until ran v; until ended 20"},
  {"a_push_to_a_full_queue_fails_without_memory",
   "y: yield\n"
   "x: deny memory; push n 2 fiber; push n fiber = -ENOMEM; deny none\n"
   "pool workers=1; push y 20 fiber; settle; destroy; pool workers=1 queue_capacity=2 fifo=0\n"
   "push x in=o; until done o; settle; is ran n 2"},
  {"a_push_of_a_task_to_a_full_queue_without_memory_runs_it",
   "pool workers=1 queue_capacity=2; stand; push a 2; deny memory; push a; push b high; push c low\n"
   "is ran a; is ran b; is ran c; deny none; push a; push b high; push c low; is queued_tasks 5\n"
   "let; settle; is ran a 4"},
)
// clang-format on
