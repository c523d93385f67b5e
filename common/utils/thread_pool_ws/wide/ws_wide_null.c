// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wide_null.c
/// ws_wide.h for pools of few workers: links in place of the other sources of this room. Every pool is small.
#include "ws_inbox.h"
#include "ws_wide.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

void ws_wide_plan(ws_tasks_t *tasks, uint32_t workers)
{
  tasks->inboxes = tasks->domains = tasks->summaries = 0;
}

uint32_t ws_wide_domain(const struct ws_worker_s *worker)
{
  return 0;
}

bool ws_dispatch(struct ws_worker_s *worker, ws_task_t *task)
{
  return false;
}

// Inboxes: no worker opens one.

void ws_inbox_open(ws_inbox_t *inbox, ws_au64_t *mask) {}

bool ws_inbox_shut(ws_tasks_t *tasks, ws_inbox_t *inbox)
{
  return false;
}

bool ws_inbox_look(ws_inbox_t *inbox)
{
  return false;
}

void ws_inbox_empty(ws_inbox_t *inbox, ws_task_t *task) {}

bool ws_inbox_claim_more(ws_tasks_t *tasks, ws_queue_t *lane)
{
  return false;
}

bool ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_claim_t *claim, const ws_task_t *task)
{
  return false;
}

void ws_inbox_decline(const ws_tasks_t *tasks, ws_queue_t *own, ws_claim_t *claim) {}

bool ws_inbox_take_back(ws_tasks_t *tasks, ws_queue_t *lane, const ws_group_t *group, ws_task_t *task)
{
  return false;
}

bool ws_inbox_take_any(const ws_tasks_t *tasks, ws_task_t *task)
{
  return false;
}

bool ws_inbox_take_stuck(ws_tasks_t *tasks, ws_task_t *task)
{
  return false;
}

uint32_t ws_inbox_watch(ws_tasks_t *tasks)
{
  return 0;
}

uint32_t ws_inbox_stuck(const ws_tasks_t *tasks)
{
  return 0;
}

uint32_t ws_inbox_count(const ws_tasks_t *tasks)
{
  return 0;
}
