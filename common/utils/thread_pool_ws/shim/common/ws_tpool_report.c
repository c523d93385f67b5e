// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_report.c
/// ws_tpool_report.h.
#include "ws_tpool_report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "ws_stats.h"
#include "ws_tpool_log.h"

static struct {
  pthread_mutex_t lock; ///< of all fields below, and of reported in each object; held while one is printed
  ws_tpool_t *first; ///< pools with a report
  bool at_exit; ///< a handler for the end of the process is registered
} reports = {.lock = PTHREAD_MUTEX_INITIALIZER};

/// @param tpool  points to the pool until the report's first line, which would name it by a number of the
///               library's
static void print_line(void *tpool_arg, const char *text)
{
  const ws_tpool_t **tpool = tpool_arg;
  if (*tpool)
    ws_tpool_say("thread_pool_ws: report of pool %s", (*tpool)->report_name);
  else
    ws_tpool_say("%s", text);
  *tpool = NULL;
}

static void report_locked(ws_tpool_t *tpool)
{
  if (tpool->reported)
    return;
  tpool->reported = true;
  const ws_tpool_t *heading = tpool;
  ws_pool_report(tpool->pool, print_line, &heading);
}

/// Workers may still run: statistics can be read at any time.
static void report_at_exit(void)
{
  pthread_mutex_lock(&reports.lock);
  for (ws_tpool_t *tpool = reports.first; tpool; tpool = tpool->next_report) {
    if (ws_tpool_enter(tpool))
      report_locked(tpool);
    ws_tpool_leave(tpool);
  }
  pthread_mutex_unlock(&reports.lock);
}

void ws_tpool_report_later(ws_tpool_t *tpool, const char *name)
{
  snprintf(tpool->report_name, sizeof(tpool->report_name), "%s", name);
  pthread_mutex_lock(&reports.lock);
  tpool->next_report = reports.first;
  reports.first = tpool;
  if (!reports.at_exit)
    reports.at_exit = atexit(report_at_exit) == 0;
  pthread_mutex_unlock(&reports.lock);
}

void ws_tpool_report(ws_tpool_t *tpool)
{
  pthread_mutex_lock(&reports.lock);
  if (tpool->report_name[0])
    report_locked(tpool);
  pthread_mutex_unlock(&reports.lock);
}
