// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_skip.c
/// ws_record.h, and the report of a skipped task.
#include "ws_run.h"

#include "../include/ws_record.h"

/// In this file only: a copy in another library would have another address.
static void run_record(void *record_arg)
{
  ws_record_t *record = record_arg;
  record->settle(record, WS_RECORD_RUN);
}

void (*ws_record_func(void))(void *record)
{
  return run_record;
}

void ws_skip_report(const struct ws_pool_s *pool, const ws_task_t *task)
{
  if (task->func == run_record) {
    ws_record_t *record = task->arg;
    record->settle(record, WS_RECORD_SKIPPED);
  } else if (pool->settings.skipped) {
    pool->settings.skipped(pool->settings.skipped_arg, task);
  }
}
