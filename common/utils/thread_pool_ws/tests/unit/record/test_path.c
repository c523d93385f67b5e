// SPDX-License-Identifier: BSD-3-Clause
/// @file test_path.c
/// The causes of a late burst, from rings and counters that are made up. A tick is a nanosecond here.
#include "../../../record/ws_lack.h"
#include "../../../record/ws_path.h"
#include "../../../record/ws_usual.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

enum { US = 1000, BEGIN = 10000 * US, POOL = 1, LIMIT_US = 60, USUAL_US = 30, TASKS = 4 };
enum { JOINER, WORKER, OTHER, THREADS }; ///< other: it pushes too, or is the guard
enum { STOPPED = 1, QUOTA = 2, SILENT = 4, PHASE = 8, ALWAYS = 16, BESIDE = 32, LONG = 64, LOADED = 128 };
enum { ENDED = 256 };

typedef struct {
  ws_cause_t cause;
  uint32_t us; ///< that the burst lasted
  const char *of[THREADS]; ///< events
  uint32_t lacks_us[2], delay_us[2]; ///< of joiner and worker: a CPU; of that runnable
  int32_t turns[2]; ///< CPUs that they got, besides those after sleeps
  uint32_t pushed; ///< 0 = TASKS
  uint32_t how;
} row_t;

static ws_event_ring_t ring[THREADS];
static uint64_t now_ns;
static struct {
  uint64_t idle_ns, delay_ns, turns;
} counters[THREADS]; ///< by ring
static bool is_silent, is_long;

static uint64_t ws_os_now_ns_seam(void)
{
  return now_ns;
}

static uint32_t ws_os_process_cpu_count_seam(void)
{
  return 2;
}

static uint64_t ws_os_thread_cpu_ns_seam(int32_t tid)
{
  return now_ns - counters[(tid - 1) % THREADS].idle_ns;
}

static bool ws_os_read_seam(const char *path, char *text, size_t bytes)
{
  int32_t tid = 0;
  if (is_silent || sscanf(path, "/proc/self/task/%d/schedstat", &tid) != 1)
    return false;
  snprintf(text, bytes, "77 %llu %llu\n", (unsigned long long)counters[(tid - 1) % THREADS].delay_ns,
           (unsigned long long)counters[(tid - 1) % THREADS].turns);
  return true;
}

/// Events of a ring: a letter and us since the begin. P push, J join and j its end, O and o those of a wait
/// for another pool, R run and r its end, S sleep, W it wakes the worker, U it is up, Z and z it sleeps in a
/// wait, B a phase begins, p and x a push to another group and the end of such a task.
static void make_up(uint32_t number, const char *text)
{
  static const struct {
    char letter;
    uint8_t kind, group;
  } letters[] = {{'R', WS_NOTE_RUN, 0},    {'r', WS_NOTE_RAN, 0},    {'P', WS_NOTE_PUSH, 0},
                 {'J', WS_NOTE_JOIN, 0},   {'j', WS_NOTE_JOINED, 0}, {'S', WS_NOTE_PARK, 0},
                 {'U', WS_NOTE_UNPARK, 0}, {'W', WS_NOTE_WAKE, 0},   {'O', WS_NOTE_JOIN, 1},
                 {'o', WS_NOTE_JOINED, 1}, {'x', WS_NOTE_RAN, 2},    {'p', WS_NOTE_PUSH, 2},
                 {'B', WS_NOTE_PHASE, 0},  {'Z', WS_NOTE_SLEEP, 0},  {'z', WS_NOTE_SLEPT, 0}};
  ws_event_ring_t *of = &ring[number];
  for (char *end; *text; text = end + strspn(end, " ")) {
    const int64_t us = strtoll(text + 1, &end, 10);
    uint32_t i = 0;
    while (letters[i].letter != *text)
      i++;
    const ws_note_t kind = letters[i].kind;
    const uint64_t group = 0x1000 + 0x1230u * letters[i].group;
    const uint64_t address = kind == WS_NOTE_WAKE     ? POOL << 16
                             : kind == WS_NOTE_UNPARK ? (uint64_t)(us - 2) * US
                                                      : group;
    const bool counts = kind == WS_NOTE_PUSH;
    of->depth -= kind == WS_NOTE_RAN && of->depth > 0;
    ws_ring_put(of, (uint64_t)(BEGIN + us * US), kind,
                counts                   ? 1
                : kind == WS_NOTE_UNPARK ? 0
                                         : POOL + (letters[i].group == 1),
                address);
    of->depth += kind == WS_NOTE_RUN;
    if (kind == WS_NOTE_PARK)
      ws_ring_put(of, (uint64_t)(BEGIN + us * US), WS_NOTE_SLEEP, POOL, 0);
    if (is_long && us > 0 && *end) { // the scribe passes by
      const uint64_t end_ns = now_ns;
      now_ns = (uint64_t)(BEGIN + us * US);
      ws_lack_note(false);
      now_ns = end_ns;
    }
    if (us < -600) // before the first note
      continue;
    const bool rose = kind == WS_NOTE_UNPARK || kind == WS_NOTE_SLEPT;
    const uint64_t since_ns = now_ns - (uint64_t)(BEGIN + us * US);
    counters[number].idle_ns += kind == WS_NOTE_PARK || kind == WS_NOTE_SLEEP ? since_ns : 0;
    counters[number].idle_ns -= rose ? since_ns : 0;
    counters[number].turns += rose;
  }
}

/// A burst on time: four tasks of 30 us, the worker is called 2 us after the push.
/// @param number  of the row: its burst is not that of another row
static void learn(uint64_t key, bool in_phase, uint64_t number)
{
  make_up(JOINER,
          "B-9010 P-9000 W-8998 J-8997 R-8996 r-8966 R-8966 r-8936 R-8936 r-8906 R-8906 r-8876 j-8870");
  const uint64_t begin = BEGIN - (in_phase ? 9010 : 9000) * US;
  ring[JOINER].on_time.begin.v = begin;
  ring[JOINER].on_time.end.v = BEGIN - 8870 * US + number;
  ring[JOINER].on_time.pool.v = POOL;
  ring[JOINER].on_time.key.v = key;
  ring[JOINER].on_time.pushed.v = TASKS;
  ws_usual_learn();
}

/// A calm stretch of a loaded machine: the joiner has slept once, and then got a CPU after 30 us.
static void be_loaded(void)
{
  now_ns = BEGIN - 900 * US;
  ws_lack_note(false);
  make_up(JOINER, "P-850 J-849 j-840");
  now_ns = BEGIN - 600 * US;
  counters[JOINER].idle_ns = 290 * US;
  counters[JOINER].delay_ns = 30 * US;
  counters[JOINER].turns++;
  ws_lack_note(true);
}

/// @return the main cause
static ws_cause_t cause_of(const row_t *row, uint64_t number)
{
  const uint64_t key = row->how & PHASE ? WS_IN_PHASE + number : (0x4000 + number) << 16;
  ws_rings = (struct ws_rings_s){.count = {THREADS}, .wake_ns = {10 * US}};
  memset(ring, 0, sizeof(ring));
  memset(counters, 0, sizeof(counters));
  for (uint32_t i = 0; i < THREADS; i++) {
    ws_rings.ring[i].v = &ring[i];
    ring[i].tid.v = number * THREADS + i + 1;
    ws_rings.taken[i].v = 1;
    counters[i].turns = 1;
  }
  ring[WORKER].who.v = POOL << 16;
  ring[OTHER].who.v = row->how & BESIDE ? (POOL + 1) << 16 : 0;
  is_silent = row->how & SILENT;
  is_long = false;
  now_ns = BEGIN - 600 * US;
  learn(key, row->how & PHASE, number);
  if (row->how & LOADED)
    be_loaded();
  ws_lack_note(false);
  now_ns = BEGIN + row->us * US;
  counters[JOINER].idle_ns += (uint64_t)(600 + strtoll(row->of[JOINER] + 1, NULL, 10)) * US; // it rests
  counters[JOINER].turns++;
  is_long = row->how & LONG;
  for (uint32_t i = 0; i < THREADS; i++)
    make_up(i, row->of[i] ? row->of[i] : "");
  for (uint32_t i = 0; i < OTHER; i++) {
    counters[i].idle_ns += row->lacks_us[i] * US;
    counters[i].delay_ns += row->delay_us[i] * US;
    counters[i].turns += (uint64_t)row->turns[i];
  }
  ws_lack_note(false);
  ws_late_burst_t burst = {.ring = &ring[JOINER],
                           .tid = row->how & ENDED ? 0 : ring[JOINER].tid.v,
                           .begin = BEGIN,
                           .end = now_ns,
                           .pool = POOL,
                           .key = key,
                           .pushed = row->pushed ? row->pushed : TASKS,
                           .limit = LIMIT_US * US,
                           .usual = (row->how & ALWAYS ? 140 : USUAL_US) * US,
                           .was_stopped = row->how & STOPPED,
                           .has_quota = row->how & QUOTA};
  ws_path_blame(&burst);
  return burst.cause;
}

#define ONE "P0 J2 R3 r198 j200"
#define SHORT "P0 J2 R3 r31 R31 r59 R59 r87 j119"
static const row_t rows[] = {
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {ONE}},
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {ONE}, .lacks_us = {20},
     .delay_us = {20}}, // and a little without a CPU
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {"P0 W2 J3 R3 r31 j200", "S0 U12 R13 r190"}}, // on the worker
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {"P0 J2 R3 r33 R33 r63 R63 r198 j200"}}, // the others are as usual
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE}, .lacks_us = {150}, .delay_us = {150}, .turns = {1}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 W2 J3 R3 r31 j200", "S0 U12 R13 r190"}, .lacks_us = {0, 150},
     .delay_us = {0, 150}, .turns = {0, 1}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 J2 R3 r31 R31 r59 R59 r87 R87 r198 j200"}, .lacks_us = {130},
     .delay_us = {130}, .turns = {1}, .how = LONG},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE}, .lacks_us = {150}, .delay_us = {150}, .turns = {10},
     .how = LOADED}, // preempted so often
    {WS_CAUSE_ASLEEP, .us = 200, .of = {ONE}, .lacks_us = {150}, .delay_us = {60}, .turns = {1},
     .how = LOADED}, // two wakes
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE}, .delay_us = {150},
     .turns = {2}}, // it computes between its bursts
    {WS_CAUSE_ASLEEP, .us = 200, .of = {ONE}, .lacks_us = {150}, .delay_us = {2}, .turns = {1}},
    {WS_CAUSE_ASLEEP, .us = 200, .of = {"P0 W2 J3 R3 r31 j200", "S0 U12 R13 r190"}, .lacks_us = {0, 150},
     .turns = {0, 1}},
    // of the delay 10 us are of the wake
    {WS_CAUSE_ASLEEP, .us = 65, .of = {"P0 W2 J3 R3 r31 j65", "S0 U12 R13 r63"}, .lacks_us = {0, 21},
     .delay_us = {0, 12}, .turns = {0, 1}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE}, .lacks_us = {150}, .turns = {1},
     .how = STOPPED}, // looks like sleep
    {WS_CAUSE_ASLEEP, .us = 200, .of = {"P0 W2 J3 R3 r31 j200", "S0 U12 R13 r190"}, .lacks_us = {0, 150},
     .turns = {0, 1}},
    // a host took the CPU
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 W2 J3 R3 r31 j200", "S0 U12 R13 r190"}, .lacks_us = {0, 150}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 W2 J3 R3 r31 Z32 z199 j200", "S0 U12 R13 r190"},
     .lacks_us = {0, 150}},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 J2 R3 r190 Z190 z199 j200"}, .lacks_us = {150}},
    {WS_CAUSE_ASLEEP, .us = 200, .of = {"P0 J2 R3 r190 Z190 z199 j200"}, .lacks_us = {150}, .turns = {1}},
    {WS_CAUSE_NO_CPU_OR_ASLEEP, .us = 200, .of = {"P0 J2 R3 r180 j200"}, .lacks_us = {150},
     .turns = {-1}}, // it computed between its bursts, or has slept in its task
    // what it lacked was in an earlier task
    {WS_CAUSE_LONG_TASK, .us = 200, .of = {"P-400 J-399 R-398 r-220 j-219 " ONE}, .lacks_us = {150 + 219},
     .turns = {1}},
    {WS_CAUSE_NO_CPU_OR_ASLEEP, .us = 200, .of = {ONE}, .lacks_us = {150}, .turns = {1}, .how = SILENT},
    {WS_CAUSE_QUOTA, .us = 200, .of = {ONE}, .lacks_us = {150}, .delay_us = {150}, .turns = {1},
     .how = QUOTA},
    {WS_CAUSE_QUOTA, .us = 200, .of = {ONE}, .lacks_us = {150}, .turns = {1}, .how = QUOTA | SILENT},
    {WS_CAUSE_ASLEEP, .us = 200, .of = {ONE}, .lacks_us = {150}, .turns = {1}, .how = QUOTA},
    {WS_CAUSE_WAKE, .us = 70, .of = {"P0 W2 J3 R3 r31 j70", "S0 U40 R41 r69"}},
    {WS_CAUSE_NO_CPU, .us = 332,
     .of = {"P0 W2 J3 R3 r31 j332", "S0 U300 R301 r330"}}, // no wake takes so long
    {WS_CAUSE_NO_CPU, .us = 120,
     .of = {"W-1 P0 W2 J2 R3 r31 R31 r59 R59 r87 j119", "S-2"}}, // nor has it ended
    {WS_CAUSE_NO_CPU, .us = 120, .of = {"W-300 " SHORT, "S-400"}}, // called before the burst
    {WS_CAUSE_NO_CPU, .us = 120, .of = {"W-300 " SHORT, "S-400 U86 R87 r115"}},
    {WS_CAUSE_SERIAL, .us = 200, .of = {"P0 J150 R151 r180 j200"}},
    {WS_CAUSE_SERIAL, .us = 200, .of = {"P0 J150 R151 r180 j200"}, .lacks_us = {150},
     .turns = {1}}, // it slept, but in no task
    {WS_CAUSE_NO_CPU, .us = 200, .of = {"P0 J150 R151 r180 j200"}, .lacks_us = {150}, .delay_us = {150},
     .turns = {1}},
    {WS_CAUSE_SERIAL, .us = 200,
     .of = {"P0 W2 J150 R151 r180 j200", "S0"}}, // the worker would not have helped
    {WS_CAUSE_OTHER_POOL, .us = 200, .of = {"P0 J2 R3 O10 o190 r195 j200"}},
    // a thread of another pool is awake, on one CPU of two
    {WS_CAUSE_OTHER_POOL, .us = 200, .of = {"P0 W2 J3 R3 r198 j200", "S0 U12 R13 r190", "p-30"},
     .lacks_us = {150}, .delay_us = {150}, .turns = {1}, .how = BESIDE},
    {WS_CAUSE_NO_CPU, .us = 200, .of = {ONE, "S-2", "p-30"}, .lacks_us = {150}, .delay_us = {150},
     .turns = {1}, .how = BESIDE}, // two are enough for these
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
    // what its ring has is of another thread
    {WS_CAUSE_UNKNOWN, .us = 130, .of = {"P0 J2 R3 x33 R33 x123 j130"}, .how = ENDED},
    {WS_CAUSE_CALLED_LATE, .us = 100, .of = {"P0 W60 J61 R61 r65 j100", "S-90 U62 R63 r98"}},
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

TEST_MAIN_SEAMS("path", SEAM(ws_os_process_cpu_count), SEAM(ws_os_now_ns), SEAM(ws_os_read),
                SEAM(ws_os_thread_cpu_ns))
