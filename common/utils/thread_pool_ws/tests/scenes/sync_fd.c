// SPDX-License-Identifier: BSD-3-Clause
/// @file sync_fd.c
/// Scenes: fibers, tasks and threads wait for descriptors.
#include "scene.h"

// clang-format off
/// A fiber, a task and a thread wait for one descriptor, until HOW ends the waits.
#define ENDS(name, how, within, result) {name, \
   "pool workers=3; pair a b; token t\n" \
   "w: use t; ready a in" within " = " result "; use none\n" \
   "push w fiber; push w; thread w; until passing 3; until quiet" how "; join; settle\n" \
   "is ran w 3; is parked 0"}
#define SHARE(name, first, then) {"an_event_ends_the_waits_that_it_is_for_" name, \
   "pool workers=1; pair a b; fill a\n" \
   "r: read a\n" \
   "w: ready a out\n" \
   "e: ready a both = 4\n" \
   "push " first " fiber; until parked 1; push e fiber; until parked 2; push " then " fiber\n" \
   "until parked 3; drain b; until ran w; until ran e; until parked 1; write b; settle; is ran r"}

// A line of text is a line of the scene. The first ones are in processes of their own: fiber.c.
SCENES("sync_fd",
  {"without_resources_a_wait_fails_and_a_later_one_works",
   "apart\n"
   "pair a b; deny epoll; ready a in = -EMFILE; deny threads; ready a in = -EAGAIN; ready a out\n"
   "deny none; ready a in within=0 = -ETIMEDOUT"},
  {"the_program_closes_the_descriptor_of_the_library",
   "dies ws_fd_wait_until(): the program has closed descriptor\n"
   "pool workers=1; pair a b\n"
   "r: ready a in\n"
   "push r fiber; until parked 1; deny reactor; write b; until ran never"},
  {"fibers_pass_a_byte_to_each_other",
   "pool workers=1; pair a b\n"
   "p: times 1000: read a; write a\n"
   "q: times 1000: read b; write b\n"
   "push p fiber; push q fiber; until parked 2; write b; settle; read a; is ran p; is ran q"},
  SHARE("reader_first", "r", "w"), SHARE("reader_last", "w", "r"),
  {"each_byte_is_for_one_reader",
   "pool workers=2; pair a b\n"
   "r: read a\n"
   "push r 5 fiber; until parked 5; write b; until ran r 1; until parked 4; write b; until ran r 2\n"
   "until parked 3\n"
   "times 3: write b\n"
   "settle; is ran r 5"},
  {"a_descriptors_number_is_used_again",
   "pool workers=1\n"
   "r: read a\n"
   "times 3: pair a b; push r fiber; until parked 1; write b; settle"},
  ENDS("an_event_ends_waits", "; write b", "", "1"),
  ENDS("a_cancel_ends_waits", "; request t", "", "-ECANCELED"),
  ENDS("the_end_of_the_other_side_ends_waits", "; hangup b", "", "17"), // POLLIN and POLLHUP
  ENDS("a_time_limit_in_the_past_ends_waits", "", " within=0", "-ETIMEDOUT"),
  ENDS("a_time_limit_ends_waits", "", " within=1ms", "-ETIMEDOUT"),
  {"an_abort_ends_waits",
   "pool workers=1; pair a b\n"
   "r: ready a in = -ECANCELED\n"
   "push r fiber; until parked 1; stop abort; is ran r"},
)
// clang-format on
