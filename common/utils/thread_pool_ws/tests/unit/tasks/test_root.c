// SPDX-License-Identifier: BSD-3-Clause
/// @file test_root.c
/// A task that the thread runs in a wait has yielded to an unrelated fiber, whose push stays in the queue. No
/// wait of another thread for the group of before may take that, also when the task has ended.
#include "../../../core/ws_run.h"
#include "../../../tasks/ws_queue.h"
#include "../../support/ws_test.h"

TEST_CASE(a_mixed_root_stays_mixed)
{
  static ws_group_t before, of_task, of_fiber; // told apart by their addresses
  static ws_cell_t cells[4];
  ws_group_t *const roots[] = {&of_task, NULL}; // of the task, which may have no group
  for (uint32_t i = 0; i < TEST_COUNT(roots); i++) {
    ws_queue_t queue = {0};
    ws_task_t task = {.func = test_empty_task, .group = &of_fiber};
    ws_queue_init(&queue, cells, TEST_COUNT(cells), false);
    ws_root_enter(&queue, &before);
    ws_group_t *const outer = ws_root_enter(&queue, roots[i]);
    CU_ASSERT_PTR_EQUAL(outer, &before);
    ws_root_mix(&queue, &of_fiber);
    ws_queue_push(&queue, &task, 1);
    ws_root_leave(&queue, outer);
    CU_ASSERT_FALSE(ws_group_is(ws_own_load(&queue.root), &before, true));
    CU_ASSERT_TRUE(ws_deque_take(&queue.deque, &task));
    ws_root_leave(&queue, outer); // no unrelated task is left
    CU_ASSERT_TRUE(ws_group_is(ws_own_load(&queue.root), &before, true));
  }
}

TEST_MAIN("root")
