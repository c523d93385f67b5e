// SPDX-License-Identifier: BSD-3-Clause
/// @file test_path.c
/// The causes of a late burst, from rings and counters that are made up. A tick is a nanosecond here.
#include "../../../record/ws_lack.h"
#include "../../../record/ws_path.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

enum { EARLIER_US = -8000 }; ///< the joiner's note in an earlier burst
enum { US = 1000, BEGIN = 10000 * US, POOL = 1, LIMIT_US = 60, USUAL_US = 30, TASKS = 4 };
enum { JOINER, WORKER, OTHER, THREADS }; ///< other: it pushes too, or is the guard
enum { STOPPED = 1, QUOTA = 2, PHASE = 4, ALWAYS = 8, BESIDE = 16, ENDED = 32, UNKNOWN = 64, LOST = 128 };
enum { WORKER_LOST = 256 };

typedef struct {
  ws_cause_t cause;
  uint32_t us; ///< that the burst lasted
  const char *of[THREADS]; ///< events
  uint32_t lacks_us[2]; ///< of joiner and worker: a CPU
  uint32_t slept[2]; ///< so often, besides the sleeps of the pool
  uint32_t
      used_us; ///< of a CPU, by the joiner, from EARLIER_US to its first note in the burst; 0 = all of it
  uint32_t slept_before; ///< so often it slept between those
  uint32_t pushed; ///< 0 = TASKS
  uint32_t how;
} row_t;

static ws_event_ring_t ring[THREADS];
static uint32_t ws_os_process_cpu_count_seam(void)
{
  return 2;
}

/// What a thread has used until then.
static void note(uint32_t number, int64_t us, uint64_t idle_us, uint64_t slept)
{
  ws_ring_put(&ring[number], (uint64_t)(BEGIN + us * US), WS_NOTE_USED, slept,
              (uint64_t)(BEGIN + us * US) - idle_us * US);
}

static uint64_t idle_us; ///< the joiner's, from EARLIER_US to its first note in the burst

/// The joiner's first note in the burst. @return false: it makes no other one
static bool note_first(const row_t *row, int64_t us)
{
  idle_us = row->used_us > 0 ? (uint64_t)(us - EARLIER_US) - row->used_us : 0;
  note(JOINER, us, idle_us, row->slept_before);
  return false;
}

/// Events of a ring: a letter and us since the begin. P push, J join and j its end, O and o those of a wait
/// for another pool, R run and r its end, S sleep, W it wakes the worker, U it is up, Z and z it sleeps in a
/// wait, B a phase begins, p and x a push to another group and the end of such a task, T and E it is up by a
/// timer, or by work that it saw. The joiner notes what it has used at the begin of a phase, else before the
/// second push or first wait of the burst; the worker before its first event. @return the time
/// asleep
static uint64_t make_up(uint32_t number, const char *text, uint64_t *slept, const row_t *row)
{
  uint32_t pushes = 0;
  bool notes = number == JOINER && row;
  int64_t since_us = 0;
  uint64_t asleep_us = 0;
  static const struct {
    char letter;
    uint8_t kind, group;
  } letters[] = {{'R', WS_NOTE_RUN, 0},    {'r', WS_NOTE_RAN, 0},    {'P', WS_NOTE_PUSH, 0},
                 {'J', WS_NOTE_JOIN, 0},   {'j', WS_NOTE_JOINED, 0}, {'S', WS_NOTE_PARK, 0},
                 {'U', WS_NOTE_UNPARK, 0}, {'W', WS_NOTE_WAKE, 0},   {'O', WS_NOTE_JOIN, 1},
                 {'o', WS_NOTE_JOINED, 1}, {'x', WS_NOTE_RAN, 2},    {'p', WS_NOTE_PUSH, 2},
                 {'B', WS_NOTE_PHASE, 0},  {'Z', WS_NOTE_SLEEP, 0},  {'z', WS_NOTE_SLEPT, 0},
                 {'T', WS_NOTE_UNPARK, 0}, {'E', WS_NOTE_UNPARK, 0}};
  ws_event_ring_t *of = &ring[number];
  for (char *end; *text; text = end + strspn(end, " ")) {
    const int64_t us = strtoll(text + 1, &end, 10);
    uint32_t i = 0;
    while (letters[i].letter != *text)
      i++;
    const ws_note_t kind = letters[i].kind;
    const uint64_t group = 0x1000 + 0x1230u * letters[i].group;
    const uint64_t address = kind == WS_NOTE_WAKE           ? POOL << 16
                             : *text == 'T' || *text == 'E' ? 0
                             : kind == WS_NOTE_UNPARK       ? (uint64_t)(us - 2) * US
                                                            : group;
    const bool counts = kind == WS_NOTE_PUSH;
    of->depth -= kind == WS_NOTE_RAN && of->depth > 0;
    pushes += kind == WS_NOTE_PUSH;
    if (notes && kind == WS_NOTE_PUSH && pushes == 2)
      notes = note_first(row, us);
    ws_ring_put(of, (uint64_t)(BEGIN + us * US), kind,
                counts                   ? 1
                : kind == WS_NOTE_UNPARK ? (*text == 'T') + 2 * (*text == 'E')
                                         : POOL + (letters[i].group == 1),
                address);
    of->depth += kind == WS_NOTE_RUN;
    if (kind == WS_NOTE_PARK)
      ws_ring_put(of, (uint64_t)(BEGIN + us * US), WS_NOTE_SLEEP, POOL, 0);
    if (kind == WS_NOTE_PARK || kind == WS_NOTE_SLEEP)
      since_us = us;
    if (kind == WS_NOTE_UNPARK || kind == WS_NOTE_SLEPT) {
      asleep_us += (uint64_t)(us - since_us);
      ++*slept;
    }
    if (notes && us >= 0 && (kind == WS_NOTE_JOIN || kind == WS_NOTE_PHASE))
      notes = note_first(row, us);
  }
  return asleep_us;
}

/// A burst on time: four tasks of 30 us, the worker is called 2 us after the push.
/// @param number  of the row: its burst is not that of another row
static void learn(uint64_t key, bool in_phase, uint64_t number)
{
  uint64_t slept = 0;
  make_up(JOINER,
          "B-9010 P-9000 W-8998 J-8997 R-8996 r-8966 R-8966 r-8936 R-8936 r-8906 R-8906 r-8876 j-8870",
          &slept, NULL);
  const uint64_t begin = BEGIN - (in_phase ? 9010 : 9000) * US;
  ring[JOINER].on_time.begin.v = begin;
  ring[JOINER].on_time.end.v = BEGIN - 8870 * US + number;
  ring[JOINER].on_time.pool.v = POOL;
  ring[JOINER].on_time.key.v = key;
  ring[JOINER].on_time.pushed.v = TASKS;
  ws_work_learn();
}

static uint64_t start_ns; ///< of the last burst

/// @return the main cause
static ws_cause_t cause_of(const row_t *row, uint64_t number)
{
  const uint64_t key = row->how & PHASE ? WS_IN_PHASE + number : (0x4000 + number) << 16;
  ws_rings = (struct ws_rings_s){.count = {THREADS}, .wake_ns = {10 * US}};
  memset(ring, 0, sizeof(ring));
  for (uint32_t i = 0; i < THREADS; i++) {
    ws_rings.ring[i].v = &ring[i];
    ring[i].tid.v = number * THREADS + i + 1;
    ws_rings.taken[i].v = 1;
  }
  ring[WORKER].who.v = POOL << 16;
  ring[OTHER].who.v = row->how & BESIDE ? (POOL + 1) << 16 : 0;
  learn(key, row->how & PHASE, number);
  for (uint32_t i = 0; i < THREADS; i++) {
    uint64_t slept = 0;
    if (i == JOINER)
      note(JOINER, EARLIER_US, idle_us = 0, 0);
    if (i == WORKER && !(row->how & UNKNOWN))
      note(WORKER, -650, 0, 0);
    const uint64_t asleep_us = make_up(i, row->of[i] ? row->of[i] : "", &slept, row);
    if (i < OTHER && row->of[i] && !(row->how & UNKNOWN))
      note(i, row->us + i, asleep_us + row->lacks_us[i] + (i == JOINER ? idle_us : 0),
           slept + row->slept[i] + (i == JOINER ? row->slept_before : 0));
  }
  for (uint32_t i = 0; i < WS_RING_EVENTS && row->how & (LOST | WORKER_LOST); i++)
    ws_ring_put(&ring[row->how & LOST ? JOINER : WORKER], BEGIN + (row->us + i) * US, WS_NOTE_PUSH, 1, 0);
  ws_late_burst_t burst = {.ring = &ring[JOINER],
                           .tid = row->how & ENDED ? 0 : ring[JOINER].tid.v,
                           .begin = BEGIN,
                           .end = BEGIN + row->us * US,
                           .pool = POOL,
                           .key = key,
                           .pushed = row->pushed ? row->pushed : TASKS,
                           .limit = LIMIT_US * US,
                           .usual = (row->how & ALWAYS ? 140 : USUAL_US) * US,
                           .lacked = row->how & LOST ? row->lacks_us[JOINER] * US : 0,
                           .slept = row->slept[JOINER] > 0,
                           .was_stopped = row->how & STOPPED,
                           .has_quota = row->how & QUOTA};
  ws_path_blame(&burst);
  start_ns = burst.start;
  return burst.cause;
}

#define ONE "P0 J2 R3 r198 j200"
#define SHORT "P0 J2 R3 r31 R31 r59 R59 r87 j119"
#define BOTH "P0 W2 J3 R3 r31 j200", "S0 U12 R13 r190"
static const row_t rows[] = {
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {ONE}},
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {ONE}, .lacks_us = {19}}, // as exactly as the clocks are read
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {BOTH}}, // on the worker
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {"P0 J2 R3 r33 R33 r63 R63 r198 j200"}}, // the others are as usual
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {ONE}, .lacks_us = {150}, .how = UNKNOWN}, // it has noted nothing
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE}, .lacks_us = {150}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {BOTH}, .lacks_us = {0, 150}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 J2 R3 r31 R31 r59 R59 r87 R87 r198 j200"}, .lacks_us = {130}},
    {WS_CAUSE_ASLEEP, .us = 200, .of = {ONE}, .lacks_us = {150}, .slept = {1}},
    {WS_CAUSE_ASLEEP, .us = 200, .of = {BOTH}, .lacks_us = {0, 150}, .slept = {0, 1}},
    {WS_CAUSE_ASLEEP, .us = 65, .of = {"P0 W2 J3 R3 r31 j65", "S0 U12 R13 r63"}, .lacks_us = {0, 21},
     .slept = {0, 1}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE}, .lacks_us = {150}, .slept = {1},
     .how = STOPPED}, // looks like sleep
    // it slept in its wait, too
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 J2 R3 r186 Z186 z199 j200"}, .lacks_us = {150}},
    {WS_CAUSE_ASLEEP, .us = 200, .of = {"P0 J2 R3 r186 Z186 z199 j200"}, .lacks_us = {150}, .slept = {1}},
    {WS_CAUSE_NO_CPU_OR_ASLEEP, .us = 200, .of = {"P0 J2 R3 r190 Z190 z199 j200"},
     .lacks_us = {150}}, // so short that it may have been none, and the sleep another
    // what it lacked was in a task before
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {"P0 W2 J3 R3 r31 j200", "R-398 r-220 R13 r190"},
     .lacks_us = {0, 150}},
    {WS_CAUSE_QUOTA, .us = 200, .of = {ONE}, .lacks_us = {150}, .how = QUOTA},
    {WS_CAUSE_ASLEEP, .us = 200, .of = {ONE}, .lacks_us = {150}, .slept = {1}, .how = QUOTA},
    {WS_CAUSE_WAKE, .us = 70, .of = {"P0 W2 J3 R3 r31 j70", "S0 U40 R41 r69"}},
    {WS_CAUSE_NO_CPU, .us = 332,
     .of = {"P0 W2 J3 R3 r31 j332", "S0 U300 R301 r330"}}, // no wake takes so long
    {WS_CAUSE_WAKE, .us = 70, .of = {"P0 W2 J2 R3 r31 R40 r68 j70", "S-2"}}, // it has not ended
    {WS_CAUSE_NO_CPU, .us = 120, .of = {"W-1 P0 W2 J2 R3 r31 R31 r59 R59 r87 j119", "S-2"}}, // the same
    {WS_CAUSE_NO_CPU, .us = 120, .of = {"W-300 " SHORT, "S-400"}}, // called before the burst
    {WS_CAUSE_NO_CPU, .us = 120, .of = {"W-300 " SHORT, "S-400 U86 R87 r115"}},
    // a worker that is awake takes no task, though there are some: it runs on, or has lost its CPU
    {WS_CAUSE_NO_CPU, .us = 120, .of = {"P0 J2 R3 r31 R31 r59 R59 r87 R87 r115 j119", "R-200 r-120"}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 J2 R3 r31 R31 r59 R59 r87 R87 r115 j200", "T-5 R150 r180"}},
    // one that rises late, by a call or its timer
    {WS_CAUSE_WAKE, .us = 120, .of = {"W0 " SHORT, "S-400 U62 R63 r90"}},
    {WS_CAUSE_WAKE, .us = 120, .of = {SHORT, "S-400 T62 R63 r90"}},
    {WS_CAUSE_NO_CPU, .us = 120, .of = {SHORT, "S-400 T100 R101 r110"}},
    {WS_CAUSE_NO_CPU, .us = 120, .of = {SHORT, "S-400 E100 R101 r110"}}, // kept from going to sleep
    {WS_CAUSE_NO_CPU, .us = 120,
     .of = {"W-1 P0 W2 J2 R3 r31 R31 r59 R59 r87 j119", "S-2 Z50"}}, // by a signal
    {WS_CAUSE_SERIAL, .us = 200, .of = {"P0 P1 J150 R151 r180 j200"}},
    {WS_CAUSE_SERIAL, .us = 200, .of = {"P0 P1 J150 R151 r180 j200"}, .lacks_us = {150},
     .slept = {1}}, // it slept, but in no task
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 P1 J150 R151 r180 j200"}, .lacks_us = {150}},
    // before its first note the joiner used a CPU as it pleased, a little, or slept
    {WS_CAUSE_UNKNOWN, .us = 200, .of = {"P0 J150 R151 r180 j200"}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 J150 R151 r180 j200"}, .used_us = 15},
    {WS_CAUSE_NO_CPU_OR_ASLEEP, .us = 200, .of = {"P0 J150 R151 r180 j200"}, .used_us = 15,
     .slept_before = 1},
    // a woken worker took its CPU: a short task is not long, its worker was not late
    {WS_CAUSE_NO_CPU, .us = 400, .of = {"P0 P1 W3 P350 J352 j400", "S0 U12 R13 r60 R351 r398"},
     .lacks_us = {345}},
    {WS_CAUSE_NO_CPU, .us = 400, .of = {"P0 W350 P352 J353 j400", "S0 U360 R361 r390"}, .used_us = 20},
    {WS_CAUSE_UNKNOWN, .us = 400, .of = {"P0 W350 P352 J353 j400", "S0 U360 R361 r390"}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 J150 R151 r180 j200"}, .how = STOPPED}, // before the note
    {WS_CAUSE_SERIAL, .us = 200,
     .of = {"P0 P1 W2 J150 R151 r180 j200", "S0"}}, // the worker would not have helped
    {WS_CAUSE_OTHER_POOL, .us = 200, .of = {"P0 J2 R3 O10 o190 r195 j200"}},
    // a thread of another pool is awake, on one CPU of two
    {WS_CAUSE_OTHER_POOL, .us = 200, .of = {"P0 W2 J3 R3 r198 j200", "S0 U12 R13 r190", "p-30"},
     .lacks_us = {150}, .how = BESIDE},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE, "S-2", "p-30"}, .lacks_us = {150},
     .how = BESIDE}, // two are enough for these
    {WS_CAUSE_LONGER_WORK, .us = 285, .of = {"P0 J2 R3 r73 R73 r143 R143 r213 R213 r283 j285"}},
    // on both threads; one of them alone explains nothing
    {WS_CAUSE_LONGER_WORK, .us = 145, .of = {"P0 W2 J3 R3 r73 R73 r140 j145", "S0 U12 R13 r78 R78 r143"}},
    {WS_CAUSE_MORE_WORK, .us = 190, .of = {"P0 J2 R3 r33 R33 r63 R63 r93 R93 r123 R123 r153 R153 r183 j185"},
     .pushed = 8},
    // of a size that misses the deadline each time
    {WS_CAUSE_MORE_WORK, .us = 190, .of = {"P0 J2 R3 r33 R33 r63 R63 r93 R93 r123 R123 r153 R153 r183 j185"},
     .pushed = 8, .how = ALWAYS},
    {WS_CAUSE_TOO_FEW, .us = 150, .of = {"P0 J2 R3 r31 R31 r59 R59 r87 R87 r115 R115 r143 j150"},
     .how = ALWAYS},
    {WS_CAUSE_OTHER_BURST, .us = 130,
     .of = {"P0 J2 R3 r33 R33 r63 R63 r93 R93 r123 j130", "R-20 x40 R41 x100 R101", "p-30"}},
    // events of the burst are overwritten
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE}, .lacks_us = {150}, .how = LOST},
    {WS_CAUSE_ASLEEP, .us = 200, .of = {ONE}, .lacks_us = {150}, .slept = {1}, .how = LOST},
    {WS_CAUSE_UNSEEN, .us = 200, .of = {ONE}, .how = LOST},
    {WS_CAUSE_UNSEEN, .us = 200, .of = {BOTH}, .how = WORKER_LOST},
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {ONE}, .how = WORKER_LOST}, // the path is known
    // what its ring has is of another thread
    {WS_CAUSE_UNSEEN, .us = 130, .of = {"P0 J2 R3 x33 R33 x123 j130"}, .how = ENDED},
    {WS_CAUSE_CALLED_LATE, .us = 100, .of = {"P0 P1 W60 J61 R61 r65 j100", "S-90 U62 R63 r98"}},
    {WS_CAUSE_CALLED_LATE, .us = 100,
     .of = {"P0 J1 R1 r5 j100", "S-90 U62 R63 r98", "W-300 W60"}}, // by the guard
    {WS_CAUSE_STARTED_LATE, .us = 140, .of = {"B0 P100 J101 R102 r132 j140"}, .how = PHASE},
    {WS_CAUSE_SERIAL, .us = 140, .of = {"B0 P10 J101 R102 r132 j140"}, .how = PHASE},
    {WS_CAUSE_UNKNOWN, .us = 70, .of = {"P0 J2 R3 r31 R40 r68 j70"}},
};

TEST_CASE(each_cause_follows_from_the_rings)
{
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const ws_cause_t cause = cause_of(&rows[i], i);
    if (cause != rows[i].cause)
      printf("row %u: %s, not %s\n", i, ws_cause_name(cause), ws_cause_name(rows[i].cause));
    CU_ASSERT_EQUAL(cause, rows[i].cause);
  }
}

TEST_CASE(a_burst_starts_with_its_first_task_on_any_thread)
{
  const row_t off_path = {.us = 400, .of = {"P0 W3 P350 J352 j400", "S0 U12 R13 r60 R351 r398"}},
              gone = {.us = 200, .of = {ONE}, .how = LOST};
  cause_of(&off_path, TEST_COUNT(rows));
  CU_ASSERT_EQUAL(start_ns, 13 * US);
  cause_of(&gone, TEST_COUNT(rows) + 1);
  CU_ASSERT_EQUAL(start_ns, 0);
}

TEST_MAIN_SEAMS("path", SEAM(ws_os_process_cpu_count))
