// SPDX-License-Identifier: BSD-3-Clause
/// @file test_trace.c
/// Phases of a slot: their events, from pool and program (--wrap=ws_traced_phase_began,
/// ws_traced_phase_ended), and that a forked child may tell some.
#include <string.h>
#include <unistd.h>

#include "../../../include/ws_trace.h"
#include "../../../include/ws_trace_slot.h"
#include "../../support/ws_test.h"

#define EVENTS_MAX 8u

typedef struct {
  bool end;
  ws_trace_phase_t phase;
  uint32_t frame, slot, id, tasks;
} event_t;

/// Of the calling thread.
static _Thread_local struct {
  uint32_t count;
  event_t event[EVENTS_MAX];
} seen;

void __real_ws_traced_phase_began(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id);
void __wrap_ws_traced_phase_began(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id);
void __real_ws_traced_phase_ended(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id,
                                  uint32_t tasks);
void __wrap_ws_traced_phase_ended(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id,
                                  uint32_t tasks);

static void note(event_t event)
{
  if (seen.count < EVENTS_MAX)
    seen.event[seen.count] = event;
  seen.count++;
}

void __wrap_ws_traced_phase_began(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  note((event_t){false, phase, frame, slot, id, 0});
  __real_ws_traced_phase_began(phase, frame, slot, id);
}

void __wrap_ws_traced_phase_ended(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id,
                                  uint32_t tasks)
{
  note((event_t){true, phase, frame, slot, id, tasks});
  __real_ws_traced_phase_ended(phase, frame, slot, id, tasks);
}

static void begin(ws_trace_phase_t phase)
{
  ws_trace_phase_begin(phase, 1, 2, 3);
}

/// @return the tasks of the event, -1 when there was none
static int64_t end(ws_trace_phase_t phase)
{
  const uint32_t before = seen.count;
  ws_trace_phase_end(phase);
  if (seen.count == before)
    return -1;
  const int64_t tasks = seen.event[before % EVENTS_MAX].tasks;
  seen.count = 0;
  return tasks;
}

static void push_some(ws_pool_t *pool, ws_au64_t *run, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    test_push(pool, test_count_task, run, NULL);
}

/// Those of this thread, from the first on; then none is seen.
static void expect_events(const event_t *expected, uint32_t count)
{
  CU_ASSERT_EQUAL_FATAL(seen.count, count);
  for (uint32_t i = 0; i < count; i++) {
    const event_t *is = &seen.event[i], *must = &expected[i];
    CU_ASSERT_TRUE(is->end == must->end && is->phase == must->phase && is->frame == must->frame);
    CU_ASSERT_TRUE(is->slot == must->slot && is->id == must->id && is->tasks == must->tasks);
  }
  seen.count = 0;
}

static void an_event_says_what_was_told(void)
{
  seen.count = 0;
  ws_trace_phase_begin(WS_TRACE_SYMBOL_PROCESSING, 1023, 19, 7);
  ws_trace_phase_end(WS_TRACE_SYMBOL_PROCESSING);
  ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, UINT32_MAX, 0, 1);
  ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
  static const event_t expected[] = {
      {false, WS_TRACE_SYMBOL_PROCESSING, 1023, 19, 7, 0},
      {true, WS_TRACE_SYMBOL_PROCESSING, 1023, 19, 7, 0},
      {false, WS_TRACE_ULSCH_DECODING, UINT32_MAX, 0, 1, 0},
      {true, WS_TRACE_ULSCH_DECODING, UINT32_MAX, 0, 1, 0},
  };
  expect_events(expected, TEST_COUNT(expected));
}

static void tasks_count_over_all_pools(void)
{
  ws_pool_t *pool = test_pool(1), *other = test_pool(2), *inline_pool = test_pool(0);
  ws_au64_t run = {0};
  push_some(pool, &run, 5); // before: does not count
  begin(WS_TRACE_ULSCH_DECODING);
  push_some(pool, &run, 3);
  push_some(other, &run, 10);
  push_some(inline_pool, &run, 100); // the pushing thread runs them
  ws_task_t batch[20];
  for (uint32_t i = 0; i < 20; i++)
    batch[i] = (ws_task_t){.func = test_count_task, .arg = &run};
  CU_ASSERT_EQUAL(ws_pool_push_batch(pool, batch, 20), 20);
  CU_ASSERT_EQUAL(ws_pool_push_batch(inline_pool, batch, 20), 20);
  CU_ASSERT_EQUAL(end(WS_TRACE_ULSCH_DECODING), 153);
  push_some(other, &run, 1); // after
  begin(WS_TRACE_ULSCH_DECODING);
  CU_ASSERT_EQUAL(end(WS_TRACE_ULSCH_DECODING), 0);
  test_destroy(pool);
  test_destroy(other);
  test_destroy(inline_pool);
}

static void tasks_without_a_pool_count(void)
{
  ws_au64_t run = {0};
  begin(WS_TRACE_ULSCH_DECODING);
  for (uint32_t i = 0; i < 22; i++)
    ws_trace_run(test_count_task, &run);
  CU_ASSERT_EQUAL(test_value(&run), 22);
  CU_ASSERT_EQUAL(end(WS_TRACE_ULSCH_DECODING), 22);
}

static void tasks_that_a_full_queue_runs_inline_count(void)
{
  ws_settings_t settings = test_settings(1);
  settings.full = WS_FULL_INLINE;
  settings.queue_capacity = 4;
  ws_pool_t *pool = test_create(&settings);
  test_gate_t gate;
  test_gate_init(&gate);
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  ws_au64_t run = {0};
  begin(WS_TRACE_SYMBOL_PROCESSING);
  push_some(pool, &run, 40);
  CU_ASSERT_TRUE(test_value(&run) > 0);
  CU_ASSERT_EQUAL(end(WS_TRACE_SYMBOL_PROCESSING), 40);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

/// @param lanes  0 = tasks go to the overflow queue
static void refuse(uint32_t lanes)
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = lanes;
  settings.full = WS_FULL_FAIL;
  settings.queue_capacity = 4;
  ws_pool_t *pool = test_create(&settings);
  test_gate_t gate;
  test_gate_init(&gate);
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  ws_au64_t run = {0};
  int64_t taken = 0;
  begin(WS_TRACE_SYMBOL_PROCESSING);
  for (uint32_t i = 0; i < 10; i++) {
    taken += ws_pool_push(pool, (ws_task_t){.func = test_count_task, .arg = &run}) == 0;
    taken += ws_pool_try_push(pool, (ws_task_t){.func = test_count_task, .arg = &run}) == 0;
  }
  CU_ASSERT_TRUE(taken > 0 && taken < 20);
  CU_ASSERT_EQUAL(end(WS_TRACE_SYMBOL_PROCESSING), taken);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static void tasks_that_are_refused_do_not_count(void)
{
  refuse(4);
  refuse(0);
}

/// Several transport blocks that are decoded together.
static void a_second_begin_is_an_event_of_the_same_phase(void)
{
  ws_pool_t *pool = test_pool(1);
  ws_au64_t run = {0};
  seen.count = 0;
  ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 7, 3, 5);
  push_some(pool, &run, 4);
  ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 7, 3, 6);
  push_some(pool, &run, 2);
  ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
  ws_trace_phase_end(WS_TRACE_ULSCH_DECODING); // one end ends it
  static const event_t expected[] = {
      {false, WS_TRACE_ULSCH_DECODING, 7, 3, 5, 0},
      {false, WS_TRACE_ULSCH_DECODING, 7, 3, 6, 0},
      {true, WS_TRACE_ULSCH_DECODING, 7, 3, 5, 6},
  };
  expect_events(expected, TEST_COUNT(expected));
  test_destroy(pool);
}

static void a_begin_in_another_slot_begins_anew(void)
{
  ws_pool_t *pool = test_pool(1);
  ws_au64_t run = {0};
  seen.count = 0;
  ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 7, 3, 5);
  push_some(pool, &run, 4);
  ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 7, 4, 6); // the end was missed
  push_some(pool, &run, 2);
  ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 8, 4, 9);
  push_some(pool, &run, 1);
  ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
  static const event_t expected[] = {
      {false, WS_TRACE_ULSCH_DECODING, 7, 3, 5, 0},
      {false, WS_TRACE_ULSCH_DECODING, 7, 4, 6, 0},
      {false, WS_TRACE_ULSCH_DECODING, 8, 4, 9, 0},
      {true, WS_TRACE_ULSCH_DECODING, 8, 4, 9, 1},
  };
  expect_events(expected, TEST_COUNT(expected));
  test_destroy(pool);
}

static void an_end_without_a_begin_is_nothing(void)
{
  CU_ASSERT_EQUAL(end(WS_TRACE_SYMBOL_PROCESSING), -1);
  begin(WS_TRACE_ULSCH_DECODING);
  CU_ASSERT_EQUAL(end(WS_TRACE_SYMBOL_PROCESSING), -1); // of the other
  CU_ASSERT_EQUAL(end(WS_TRACE_ULSCH_DECODING), 0);
}

static void phases_may_overlap(void)
{
  ws_pool_t *pool = test_pool(1);
  ws_au64_t run = {0};
  begin(WS_TRACE_SYMBOL_PROCESSING);
  push_some(pool, &run, 1);
  begin(WS_TRACE_ULSCH_DECODING);
  push_some(pool, &run, 2);
  CU_ASSERT_EQUAL(end(WS_TRACE_SYMBOL_PROCESSING), 3);
  push_some(pool, &run, 4);
  CU_ASSERT_EQUAL(end(WS_TRACE_ULSCH_DECODING), 6);
  test_destroy(pool);
}

static void an_unknown_phase_is_ignored(void)
{
  static const uint32_t unknown[] = {WS_TRACE_PHASES, WS_TRACE_PHASES + 1, INT32_MAX, UINT32_MAX};
  seen.count = 0;
  for (uint32_t i = 0; i < TEST_COUNT(unknown); i++) {
    ws_trace_phase_t phase;
    memcpy(&phase, &unknown[i], sizeof(phase)); // no such value need fit the enumeration
    ws_trace_phase_begin(phase, 1, 2, 3);
    ws_trace_phase_end(phase);
  }
  CU_ASSERT_EQUAL(seen.count, 0);
}

typedef struct {
  ws_pool_t *pool;
  uint32_t children;
  ws_au64_t run;
  int64_t tasks;
} told_t;

/// A phase with a join in it, in which the thread may run tasks of others.
static void tell(void *arg)
{
  told_t *told = arg;
  ws_group_t group;
  ws_group_init(&group, told->children);
  begin(WS_TRACE_ULSCH_DECODING);
  for (uint32_t i = 0; i < told->children; i++)
    if (ws_pool_push(told->pool, (ws_task_t){.func = test_count_task, .arg = &told->run, .group = &group})
        != 0)
      ws_add_relaxed(&test_refused, 1);
  ws_group_wait(&group, told->pool);
  told->tasks = end(WS_TRACE_ULSCH_DECODING);
}

/// Leaves in tasks how often the number was wrong.
static void *tell_often(void *arg)
{
  told_t *told = arg;
  int64_t wrong = 0;
  for (uint32_t i = 0; i < 200; i++) {
    tell(told);
    wrong += told->tasks != told->children;
  }
  told->tasks = wrong;
  return NULL;
}

static void a_worker_tells_of_its_own_pushes(void)
{
  ws_pool_t *pool = test_pool(2);
  told_t told[4];
  ws_group_t group;
  ws_group_init(&group, 4);
  begin(WS_TRACE_ULSCH_DECODING); // of this thread
  for (uint32_t i = 0; i < 4; i++) {
    told[i] = (told_t){.pool = pool, .children = 10 + i};
    test_push(pool, tell, &told[i], &group);
  }
  while (!ws_group_done(&group)) // this thread would run some of them, and their ends would be its own
    test_sleep_ms(1);
  for (uint32_t i = 0; i < 4; i++)
    CU_ASSERT_EQUAL(told[i].tasks, told[i].children);
  CU_ASSERT_EQUAL(end(WS_TRACE_ULSCH_DECODING), 4);
  test_destroy(pool);
}

static void threads_do_not_meet(void)
{
  ws_pool_t *pool = test_pool(2);
  test_threads_t threads = {0};
  told_t told[4];
  for (uint32_t i = 0; i < 4; i++) {
    told[i] = (told_t){.pool = pool, .children = 1 + 3 * i};
    test_spawn(&threads, tell_often, &told[i]);
  }
  test_join(&threads);
  for (uint32_t i = 0; i < 4; i++) {
    CU_ASSERT_EQUAL(told[i].tasks, 0);
    CU_ASSERT_EQUAL(test_value(&told[i].run), 200 * told[i].children);
  }
  test_destroy(pool);
}

static int tell_in_child(void *tasks)
{
  begin(WS_TRACE_SYMBOL_PROCESSING);
  begin(WS_TRACE_ULSCH_DECODING);
  return end(WS_TRACE_SYMBOL_PROCESSING) == 0 && end(WS_TRACE_ULSCH_DECODING) == *(int *)tasks ? 0 : 1;
}

/// Its parent's threads are not there, its pool is dead; but nothing waits for them, and a phase goes on.
static void a_forked_child_tells_phases(void)
{
  ws_pool_t *pool = test_pool(2);
  ws_au64_t run = {0};
  push_some(pool, &run, 10);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_in_child(tell_in_child, &(int){0}), 0);
  begin(WS_TRACE_ULSCH_DECODING);
  push_some(pool, &run, 10);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_in_child(tell_in_child, &(int){10}), 0);
  CU_ASSERT_EQUAL(end(WS_TRACE_ULSCH_DECODING), 10);
  test_destroy(pool);
}

TEST_MAIN("trace", TEST_CASE(an_event_says_what_was_told), TEST_CASE(tasks_count_over_all_pools),
          TEST_CASE(tasks_without_a_pool_count), TEST_CASE(tasks_that_a_full_queue_runs_inline_count),
          TEST_CASE(tasks_that_are_refused_do_not_count),
          TEST_CASE(a_second_begin_is_an_event_of_the_same_phase),
          TEST_CASE(a_begin_in_another_slot_begins_anew), TEST_CASE(an_end_without_a_begin_is_nothing),
          TEST_CASE(phases_may_overlap), TEST_CASE(an_unknown_phase_is_ignored),
          TEST_CASE(a_worker_tells_of_its_own_pushes), TEST_CASE(threads_do_not_meet),
          TEST_CASE(a_forked_child_tells_phases))
