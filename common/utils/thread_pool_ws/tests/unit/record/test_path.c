// SPDX-License-Identifier: BSD-3-Clause
/// @file test_path.c
/// The causes of a late burst, from rings that are made up. A tick is a nanosecond here.
#include "../../../record/ws_path.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

enum { US = 1000, BEGIN = 1000 * US, POOL = 1, LIMIT_US = 60 };

static ws_event_ring_t ring[2];
static uint64_t now_ns, without_ns[3]; ///< by ring + 1: time without a CPU

static uint64_t ws_os_now_ns_seam(void)
{
  return now_ns;
}

static uint64_t ws_os_thread_cpu_ns_seam(int32_t tid)
{
  return now_ns - without_ns[tid];
}

/// Events of a ring: a letter and us since the begin. P push, J join and j its end, O and o those of
/// a wait for another pool, R run and r its end, S sleep, W it wakes the worker of ring 1, U it is up.
/// @return ns for which it sleeps
static uint64_t make_up(ws_event_ring_t *of, const char *text)
{
  static const char letters[] = "RrPJjSUWOo";
  uint64_t asleep = 0;
  for (char *end; *text; text = end + strspn(end, " ")) {
    const uint64_t us = (uint64_t)strtoll(text + 1, &end, 10);
    const uint32_t at = (uint32_t)(strchr(letters, *text) - letters), other = at > 7;
    const ws_note_t kind = (ws_note_t)(other ? at - 8 + WS_NOTE_JOIN : at + 1);
    const uint64_t who = POOL << 16, group = 0x1000 + other;
    const uint64_t address = kind == WS_NOTE_WAKE ? who : kind == WS_NOTE_UNPARK ? (us - 2) * US : group;
    of->depth -= kind == WS_NOTE_RAN && of->depth > 0;
    ws_ring_put(of, BEGIN + us * US, kind, kind == WS_NOTE_UNPARK ? 0 : POOL + other, address);
    of->depth += kind == WS_NOTE_RUN;
    asleep += kind == WS_NOTE_PARK ? now_ns - BEGIN - us * US : 0;
    asleep -= kind == WS_NOTE_UNPARK ? now_ns - BEGIN - us * US : 0;
  }
  return asleep;
}

/// @return the main cause of a burst that lasted so long
static ws_cause_t cause_of(uint64_t us, uint64_t usual_us, const char *joiner, const char *worker)
{
  uint32_t most = 0;
  ws_rings = (struct ws_rings_s){.count = {2}, .wake_ns = {10 * US}, .ring = {{&ring[0]}, {&ring[1]}}};
  memset(ring, 0, sizeof(ring));
  ring[0].tid.v = 1;
  ring[1].tid.v = 2;
  ring[1].who.v = POOL << 16;
  const uint64_t joiner_without_ns = without_ns[1];
  without_ns[1] = without_ns[2] = 0;
  now_ns = BEGIN - 500 * US;
  ws_path_sample();
  without_ns[1] = joiner_without_ns;
  now_ns = BEGIN + us * US;
  make_up(&ring[0], joiner);
  without_ns[2] = make_up(&ring[1], worker);
  ws_late_burst_t burst = {.ring = &ring[0],
                           .begin = BEGIN,
                           .end = now_ns,
                           .pool = POOL,
                           .limit = LIMIT_US * US,
                           .usual = usual_us * US,
                           .task_p99 = 32 * US};
  ws_path_blame(&burst);
  for (uint32_t i = 1; i < WS_CAUSES; i++)
    most = burst.part[i] > burst.part[most] ? i : most;
  return burst.part[WS_CAUSE_TOO_FEW] > 0 ? WS_CAUSE_TOO_FEW : (ws_cause_t)most;
}

TEST_CASE(each_cause_follows_from_the_rings)
{
  static const struct {
    ws_cause_t cause;
    uint32_t us, joiner_without_us; ///< a CPU
    const char *joiner, *worker;
  } rows[] = {
      {WS_CAUSE_LONG_TASK, 200, 0, "P0 J2 R3 r198 j200", ""},
      {WS_CAUSE_LONG_TASK, 200, 20, "P0 J2 R3 r198 j200", ""},
      {WS_CAUSE_NO_CPU, 200, 150, "P0 J2 R3 r198 j200", ""},
      {WS_CAUSE_LONG_TASK, 200, 0, "P0 W2 J3 R3 r31 j200", "S0 U12 R13 r190"}, // on the worker
      {WS_CAUSE_WAKE, 70, 0, "P0 W2 J3 R3 r31 j70", "S0 U40 R41 r69"},
      {WS_CAUSE_NO_CPU, 332, 0, "P0 W2 J3 R3 r31 j332", "S0 U300 R301 r330"}, // no wake takes so long
      {WS_CAUSE_NO_CPU, 120, 0, "P0 W2 J3 R3 r31 R31 r59 R59 r87 j119", "S0"}, // nor has it ended
      // called before the burst
      {WS_CAUSE_NO_CPU, 120, 0, "W-300 P0 J2 R3 r31 R31 r59 R59 r87 j119", "S-400"},
      {WS_CAUSE_NO_CPU, 120, 0, "W-300 P0 J2 R3 r31 R31 r59 R59 r87 j119", "S-400 U86 R87 r115"},
      {WS_CAUSE_SERIAL, 200, 0, "P0 J150 R151 r180 j200", ""},
      {WS_CAUSE_NO_CPU, 200, 150, "P0 J150 R151 r180 j200", ""},
      {WS_CAUSE_SERIAL, 200, 0, "P0 W2 J150 R151 r180 j200", "S0"}, // the worker would not have helped
      {WS_CAUSE_OTHER_POOL, 200, 0, "P0 J2 R3 O10 o190 r195 j200", ""},
      {WS_CAUSE_TOO_FEW, 150, 0, "P0 J2 R3 r31 R31 r59 R59 r87 R87 r115 R115 r143 j150", ""},
      {WS_CAUSE_UNKNOWN, 70, 0, "P0 J2 R3 r31 R40 r68 j70", ""},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    without_ns[1] = rows[i].joiner_without_us * US;
    CU_ASSERT_EQUAL(
        cause_of(rows[i].us, rows[i].cause == WS_CAUSE_TOO_FEW ? 140 : 30, rows[i].joiner, rows[i].worker),
        rows[i].cause);
  }
}

TEST_MAIN_SEAMS("path", SEAM(ws_os_now_ns), SEAM(ws_os_thread_cpu_ns))
