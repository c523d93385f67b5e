// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_report.c
/// ws_tpool_report.h.
#include "ws_tpool_report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
  pthread_mutex_t lock; ///< of all fields below, and of reported in each object; held while a page is printed
  ws_tpool_t *first; ///< pools that there is to be a report about
  bool at_exit; ///< the process's end is taken care of
} reports = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void print_line(void *unused, const char *text)
{
  (void)unused;
  fprintf(stderr, "%s\n", text);
}

static void report_locked(ws_tpool_t *tpool)
{
  if (tpool->reported)
    return;
  tpool->reported = true;
  fprintf(stderr, "thread_pool_ws: pool %s:\n", tpool->report_name);
  ws_pool_report(tpool->pool, print_line, NULL);
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
