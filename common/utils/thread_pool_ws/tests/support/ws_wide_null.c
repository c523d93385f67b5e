// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wide_null.c
/// ws_wide.h for pools of few workers: links in place of ws_wide.c and ws_dispatch.c. No pool has
/// inboxes, domains or summary words.
#include "../../tasks/ws_tasks.h"
#include "../../wide/ws_wide.h"

void ws_wide_plan(ws_tasks_t *tasks, uint32_t workers)
{
  tasks->inboxes = tasks->domains = tasks->summaries = 0;
}

uint32_t ws_wide_domain(const struct ws_worker_s *worker)
{
  return 0;
}

bool ws_dispatch(struct ws_search_s *search, ws_task_t *task)
{
  return false;
}
