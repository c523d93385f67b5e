// SPDX-License-Identifier: BSD-3-Clause
/// @file test_summary.c
/// The words that say which workers' queues may hold tasks (ws_summary.h). A pool of few workers has some,
/// too (--wrap=ws_summary_words).
#include "../../../pool/ws_types.h"
#include "../../../tasks/ws_places.h"
#include "../../../tasks/ws_queue.h"

#include <string.h>

#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define WORKERS (2 * WS_SUMMARY_WORKERS + 3)
#define LANES 2u

static ws_tasks_t tasks;
static ws_summary_t summary[3];
static ws_queue_t queues[WORKERS + LANES], *queue_of[WORKERS + LANES];
static ws_cell_t cells[WORKERS + LANES][4];

static uint32_t ws_summary_words_seam(uint32_t workers)
{
  return (workers + WS_SUMMARY_WORKERS - 1) / WS_SUMMARY_WORKERS;
}

static void begin(uint32_t summaries)
{
  memset(&tasks, 0, sizeof(tasks));
  memset(summary, 0, sizeof(summary));
  memset(queues, 0, sizeof(queues));
  tasks.queue = queue_of;
  tasks.workers = WORKERS;
  tasks.summary = summary;
  tasks.summaries = summaries;
  ws_store_release(&tasks.queues, WORKERS + LANES);
  for (uint32_t i = 0; i < WORKERS + LANES; i++) {
    queue_of[i] = &queues[i];
    ws_queue_init(&queues[i], cells[i], 4);
    if (i < WORKERS)
      ws_summary_begin(&tasks, &queues[i], i);
  }
}

static void push(uint32_t queue)
{
  const ws_task_t task = {.func = test_empty_task};
  ws_queue_push(&queues[queue], &task, 1);
}

static void take(uint32_t queue)
{
  ws_task_t task;
  CU_ASSERT_TRUE(ws_queue_take_oldest(&queues[queue], &task)); // as a thief
}

static void small_pools_have_none(void)
{
  CU_ASSERT_EQUAL(__real_ws_summary_words(1), 0);
  CU_ASSERT_EQUAL(__real_ws_summary_words(32), 0);
  CU_ASSERT_EQUAL(__real_ws_summary_words(33), 3);
  CU_ASSERT_EQUAL(__real_ws_summary_words(WS_WORKERS_MAX), WS_WORKERS_MAX / WS_SUMMARY_WORKERS);
  begin(0);
  for (uint32_t i = 0; i < WORKERS + LANES; i++) {
    CU_ASSERT_EQUAL(ws_summary_next(&tasks, i), i); // each queue is looked at
    push(i);
    ws_summary_rest(&queues[i]);
  }
  CU_ASSERT_EQUAL(ws_queued(&tasks), WORKERS + LANES);
}

static void a_search_looks_where_tasks_are(void)
{
  static const uint32_t at[] = {0, WS_SUMMARY_WORKERS - 1, WS_SUMMARY_WORKERS, WORKERS - 1};
  begin(3);
  CU_ASSERT_EQUAL(ws_summary_next(&tasks, 0), WORKERS); // the first lane
  CU_ASSERT_FALSE(ws_work_visible(&tasks));
  for (uint32_t i = 0; i < 4; i++)
    push(at[i]);
  uint32_t from = 0;
  for (uint32_t i = 0; i < 4; i++, from++) {
    from = ws_summary_next(&tasks, from);
    CU_ASSERT_EQUAL(from, at[i]);
    CU_ASSERT_TRUE(ws_summary_has(&tasks, at[i]));
    CU_ASSERT_FALSE(ws_summary_has(&tasks, at[i] ^ 1));
  }
  CU_ASSERT_EQUAL(ws_summary_next(&tasks, from), WORKERS);
  CU_ASSERT_EQUAL(ws_summary_next(&tasks, WORKERS + 1), WORKERS + 1);
  CU_ASSERT_EQUAL(ws_queued(&tasks), 4);
}

static void each_queue_is_found(void)
{
  for (uint32_t i = 0; i < WORKERS + LANES; i++) {
    begin(3);
    push(i);
    CU_ASSERT_TRUE(ws_work_visible(&tasks));
    CU_ASSERT_EQUAL(ws_queued(&tasks), 1);
    take(i);
    CU_ASSERT_FALSE(ws_work_visible(&tasks));
  }
}

static void a_bit_stays_until_the_owner_searches_elsewhere(void)
{
  begin(3);
  push(5);
  push(5);
  take(5);
  ws_summary_rest(&queues[5]);
  CU_ASSERT_TRUE(ws_summary_has(&tasks, 5)); // a task is left
  take(5);
  CU_ASSERT_TRUE(ws_summary_has(&tasks, 5)); // a thief does not touch it
  ws_summary_rest(&queues[5]);
  CU_ASSERT_FALSE(ws_summary_has(&tasks, 5));
  push(5);
  CU_ASSERT_TRUE(ws_summary_has(&tasks, 5));
}

#define TREES (TEST_SANITIZED ? 200u : 2000u)
#define DEPTH 5u

static ws_pool_t *pool;
static ws_au64_t leaves;

static void grow(void *depth)
{
  const uintptr_t left = (uintptr_t)depth;
  if (left == 0) {
    ws_add_relaxed(&leaves, 1);
    return;
  }
  ws_group_t group;
  ws_group_init(&group, 2);
  for (int i = 0; i < 2; i++)
    ws_pool_push(pool, (ws_task_t){.func = grow, .arg = (void *)(left - 1), .group = &group});
  ws_group_wait(&group, pool);
}

static void nested_tasks_run_once_in_a_pool_with_summaries(void)
{
  pool = test_pool(4);
  CU_ASSERT_EQUAL(pool->tasks.summaries, 1);
  ws_store_relaxed(&leaves, 0);
  for (uint32_t i = 0; i < TREES; i++) {
    ws_group_t group;
    ws_group_init(&group, 1);
    ws_pool_push(pool, (ws_task_t){.func = grow, .arg = (void *)(uintptr_t)DEPTH, .group = &group});
    ws_group_wait(&group, pool);
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&leaves), TREES << DEPTH);
  test_destroy(pool);
}

static void test_seams(void)
{
  seam.ws_summary_words = ws_summary_words_seam;
}

TEST_MAIN_SEAMS(test_seams, "summary", TEST_CASE(small_pools_have_none),
                TEST_CASE(a_search_looks_where_tasks_are), TEST_CASE(each_queue_is_found),
                TEST_CASE(a_bit_stays_until_the_owner_searches_elsewhere),
                TEST_CASE(nested_tasks_run_once_in_a_pool_with_summaries))
