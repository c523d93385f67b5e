// SPDX-License-Identifier: BSD-3-Clause
/// @file test_steal.c
/// A thief does not look at the queue that served it last again and again: it waits between two looks, but
/// not while tasks that come after it are queued.
#include "../../../core/ws_search.h"
#include "../../../core/ws_steal.h"
#include "../../../tasks/ws_queue.h"
#include "../../support/ws_seam.h"

static uint64_t now_ns;
static uint32_t reads;

static uint64_t ws_os_now_ns_seam(void)
{
  reads++;
  return now_ns += 100;
}

TEST_CASE(a_thief_waits_unless_shared_tasks_do)
{
  static struct ws_pool_s pool;
  static ws_queue_t own, lane, *queues[] = {&own, &lane};
  static ws_cell_t cells[2][2];
  pool.workers = pool.tasks.workers = 1;
  pool.tasks.queue = queues;
  for (uint32_t i = 0; i < 2; i++) {
    ws_queue_init(queues[i], cells[i], 2, false);
    ws_tasks_put(&pool.tasks, queues[i], i);
  }
  ws_store_relaxed(&pool.tasks.queues, 2);
  for (uint32_t shared = 0; shared < 2; shared++) {
    ws_search_t search = {.pool = &pool, .here = {.queue = &own}};
    ws_task_t task;
    own.thief.victim = 1;
    own.thief.memo.deque = &lane.deque;
    own.thief.looked_ns = now_ns;
    ws_store_relaxed(&pool.tasks.shared_tasks, shared);
    reads = 0;
    CU_ASSERT_FALSE(ws_steal(&search, &task));
    CU_ASSERT_EQUAL(reads > 0, shared == 0);
  }
}

TEST_MAIN_SEAMS("steal", SEAM(ws_os_now_ns))
