// SPDX-License-Identifier: BSD-3-Clause
/// @file test_record.c
/// ws_record.h: a record is settled once, when its task runs or is skipped. Programs and plugins:
/// cxx/test_cxx_plugin.cpp.
#include "../../../include/ws_record.h"
#include "../../support/ws_test.h"

#define RECORDS 5

typedef struct {
  ws_record_t record;
  ws_au32_t runs, skips, inside; ///< inside: of the calls, those in a task
} counted_t;

static ws_au32_t told; ///< calls of settings.skipped

static void settle(ws_record_t *record, int why)
{
  counted_t *counted = (counted_t *)(void *)record;
  ws_add_relaxed(why == WS_RECORD_RUN ? &counted->runs : &counted->skips, 1);
  if (ws_current_task())
    ws_add_relaxed(&counted->inside, 1);
}

static void note_skipped(void *tells, const ws_task_t *task)
{
  (void)task;
  ws_add_relaxed((ws_au32_t *)tells, 1);
}

static ws_pool_t *create(uint32_t workers)
{
  ws_settings_t settings = test_settings(workers);
  settings.skipped = note_skipped;
  settings.skipped_arg = &told;
  return test_create(&settings);
}

static void push(ws_pool_t *pool, counted_t *of, ws_group_t *group)
{
  *of = (counted_t){.record = {.settle = settle}};
  test_push(pool, ws_record_func(), &of->record, group);
}

static void records_of_tasks_that_run(void)
{
  for (uint32_t workers = 0; workers <= 2; workers++) {
    ws_pool_t *pool = create(workers);
    counted_t counted[RECORDS];
    ws_group_t group;
    ws_group_init(&group, RECORDS);
    for (uint32_t i = 0; i < RECORDS; i++)
      push(pool, &counted[i], &group);
    ws_group_wait(&group, pool);
    for (uint32_t i = 0; i < RECORDS; i++) {
      CU_ASSERT_EQUAL(ws_load_relaxed(&counted[i].runs), 1);
      CU_ASSERT_EQUAL(ws_load_relaxed(&counted[i].inside), 1);
      CU_ASSERT_EQUAL(ws_load_relaxed(&counted[i].skips), 0);
    }
    test_destroy(pool);
  }
}

static bool is_aborted(void *pool)
{
  return ws_load_acquire(&((ws_pool_t *)pool)->state) != WS_RUNNING; // all that an abort sets is set
}

static void *abort_pool(void *pool)
{
  ws_pool_stop(pool, WS_STOP_ABORT);
  return NULL;
}

/// One worker stands in a gate, with records and one other task behind it.
static void records_of_tasks_that_are_skipped(void)
{
  ws_pool_t *pool = create(1);
  counted_t counted[RECORDS];
  ws_group_t group;
  test_gate_t gate;
  test_threads_t aborting = {0};
  test_gate_init(&gate);
  ws_group_init(&group, RECORDS + 1);
  ws_store_relaxed(&told, 0);
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  for (uint32_t i = 0; i < RECORDS; i++)
    push(pool, &counted[i], &group);
  test_push(pool, test_empty_task, NULL, &group);
  test_spawn(&aborting, abort_pool, pool);
  CU_ASSERT_TRUE(test_until(is_aborted, pool));
  test_gate_let(&gate, 1);
  ws_group_wait(&group, NULL);
  test_join(&aborting);
  for (uint32_t i = 0; i < RECORDS; i++) {
    CU_ASSERT_EQUAL(ws_load_relaxed(&counted[i].skips), 1);
    CU_ASSERT_EQUAL(ws_load_relaxed(&counted[i].runs), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&counted[i].inside), 0); // as settings.skipped
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&told), 1); // for the task without a record
  CU_ASSERT_EQUAL(test_stats(pool).skipped_tasks, RECORDS + 1);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

TEST_MAIN("record", TEST_CASE(records_of_tasks_that_run), TEST_CASE(records_of_tasks_that_are_skipped))
