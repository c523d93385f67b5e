// SPDX-License-Identifier: BSD-3-Clause
/// @file test_phases.c
/// Phases of a slot: their events, and which tasks they count. Linked with the core that records
/// (ws_recorder.h).
#include "../../../include/ws_trace.h"
#include "../../../include/ws_trace_slot.h"
#include "../../support/ws_scene.h"

/// Of the calling thread: its events of phases as a text, "U7.3.5 u7.3.5:2" for a phase of two tasks, and the
/// tasks of the last one that ended.
static _Thread_local struct {
  char text[128];
  int64_t tasks;
} seen;

static void look_at_phases(const recorded_t *recorded)
{
  const bool symbols = strncmp(recorded->event, "symbol_processing_", 18) == 0;
  const bool ends = strstr(recorded->event, "_end") != NULL;
  if (!symbols && strncmp(recorded->event, "ulsch_decoding_", 15) != 0)
    return;
  const size_t length = strlen(seen.text);
  const int written =
      snprintf(seen.text + length, sizeof(seen.text) - length, "%s%c%lld.%lld.%lld", length ? " " : "",
               symbols ? (ends ? 's' : 'S')
               : ends  ? 'u'
                       : 'U',
               (long long)recorded->field[0], (long long)recorded->field[1], (long long)recorded->field[2]);
  if (!ends)
    return;
  seen.tasks = recorded->field[3];
  if (length + (size_t)written < sizeof(seen.text))
    snprintf(seen.text + length + written, sizeof(seen.text) - length - (size_t)written, ":%lld",
             (long long)seen.tasks);
}

static void begin(ws_trace_phase_t phase)
{
  seen.text[0] = '\0';
  seen.tasks = -1;
  ws_trace_phase_begin(phase, 1, 2, 3);
}

/// @return the tasks of the event, -1 when there was none
static int64_t end(ws_trace_phase_t phase)
{
  ws_trace_phase_end(phase);
  return seen.tasks;
}

static void push_some(ws_pool_t *pool, ws_au64_t *run, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    test_push(pool, test_count_task, run, NULL);
}

/// A begin as above, an end by its letter, and '+' with a number of pushes.
static void play(ws_pool_t *pool, const char *steps)
{
  ws_au64_t run = {0};
  for (const char *at = steps; *at; at += strcspn(at, " "), at += *at == ' ') {
    uint32_t frame, slot, id;
    char letter;
    const ws_trace_phase_t phase =
        *at == 'S' || *at == 's' ? WS_TRACE_SYMBOL_PROCESSING : WS_TRACE_ULSCH_DECODING;
    if (sscanf(at, "%c%u.%u.%u", &letter, &frame, &slot, &id) == 4)
      ws_trace_phase_begin(phase, frame, slot, id);
    else if (*at == '+')
      push_some(pool, &run, (uint32_t)strtoul(at + 1, NULL, 10));
    else
      ws_trace_phase_end(phase);
  }
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
}

TEST_CASE(events_of_phases)
{
  static const struct {
    const char *steps, *events;
  } rows[] = {
      {"S1023.19.7 s U4294967295.0.1 u", "S1023.19.7 s1023.19.7:0 U4294967295.0.1 u4294967295.0.1:0"},
      {"+5 U1.2.3 +2 u +1 U1.2.3 u", "U1.2.3 u1.2.3:2 U1.2.3 u1.2.3:0"},
      // several transport blocks that are decoded together: one end ends them
      {"U7.3.5 +4 U7.3.6 +2 u u", "U7.3.5 U7.3.6 u7.3.5:6"},
      // the end was missed: a begin in another slot begins anew
      {"U7.3.5 +4 U7.4.6 +2 U8.4.9 +1 u", "U7.3.5 U7.4.6 U8.4.9 u8.4.9:1"},
      {"s U1.2.3 s u", "U1.2.3 u1.2.3:0"},
      {"S1.2.3 +1 U1.2.3 +2 s +4 u", "S1.2.3 U1.2.3 s1.2.3:3 u1.2.3:6"},
  };
  recorder_begin(look_at_phases);
  ws_pool_t *pool = test_pool(1);
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    memset(&seen, 0, sizeof(seen));
    play(pool, rows[i].steps);
    CU_ASSERT_STRING_EQUAL(seen.text, rows[i].events);
  }
  test_destroy(pool);
}

TEST_CASE(an_unknown_phase_is_ignored)
{
  static const uint32_t unknown[] = {WS_TRACE_PHASES, WS_TRACE_PHASES + 1, INT32_MAX, UINT32_MAX};
  recorder_begin(look_at_phases);
  for (uint32_t i = 0; i < TEST_COUNT(unknown); i++) {
    ws_trace_phase_t phase;
    memcpy(&phase, &unknown[i], sizeof(phase)); // no such value need fit the enumeration
    begin(phase);
    CU_ASSERT_EQUAL(end(phase), -1);
    CU_ASSERT_STRING_EQUAL(seen.text, "");
  }
}

static ws_au64_t run_inside;

/// A phase of its own thread, with a join in it.
static void tell(void *pool)
{
  ws_group_t group;
  ws_group_init(&group, 3);
  begin(WS_TRACE_ULSCH_DECODING);
  for (uint32_t i = 0; i < 3; i++)
    test_push(pool, test_count_task, &run_inside, &group);
  ws_group_wait(&group, pool);
  ws_add_relaxed(&run_inside, end(WS_TRACE_ULSCH_DECODING) == 3 ? 100 : 0);
}

/// To any pool, and to none. Pushes of tasks count in the phases of their threads.
TEST_CASE(each_task_counts)
{
  recorder_begin(look_at_phases);
  ws_pool_t *pool = test_pool(1), *other = test_pool(2), *inline_pool = test_pool(0);
  ws_au64_t run = {0};
  ws_task_t batch[20];
  for (uint32_t i = 0; i < 20; i++)
    batch[i] = (ws_task_t){.func = test_count_task, .arg = &run};
  begin(WS_TRACE_ULSCH_DECODING);
  push_some(pool, &run, 3);
  push_some(other, &run, 10);
  push_some(inline_pool, &run, 100); // the pushing thread runs them
  CU_ASSERT_EQUAL(ws_pool_push_batch(pool, batch, 20), 20);
  CU_ASSERT_EQUAL(ws_pool_push_batch(inline_pool, batch, 20), 20);
  for (uint32_t i = 0; i < 22; i++)
    ws_trace_run(test_count_task, &run);
  test_on_workers(other, 8, tell, other); // this thread runs none of them
  CU_ASSERT_EQUAL(end(WS_TRACE_ULSCH_DECODING), 183);
  CU_ASSERT_EQUAL(test_value(&run_inside), 8 * 103);
  test_destroy(pool);
  test_destroy(other);
  test_destroy(inline_pool);
  CU_ASSERT_EQUAL(test_value(&run), 175);
}

TEST_MAIN("phases")
