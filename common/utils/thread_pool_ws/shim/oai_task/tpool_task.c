// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_task.c
/// OAI's task pool: open, push, abort. Shapes B1, B2, B2+; the answers are in task_ans_*.c.
/// A push needs ws_tpool_tag of that file, which needs this one: whoever links one from an archive gets both,
/// and a module loaded later finds all of them.
#include "tpool_task.h"

#include "common/utils/threadPool/thread-pool.h"

void initNamedTpool(char *params, tpool_t *tpool, bool performanceMeas, char *name)
{
  (void)performanceMeas;
  ws_tpool_params_t threads = ws_tpool_read(params);
  *tpool = (tpool_t){.ws = ws_tpool_open(&threads, name)};
}

void initFloatingCoresTpool(int nbThreads, tpool_t *tpool, bool performanceMeas, char *name)
{
  (void)performanceMeas;
  ws_tpool_params_t threads = ws_tpool_floating(nbThreads);
  *tpool = (tpool_t){.ws = ws_tpool_open(&threads, name)};
}

void pushTpool(tpool_t *tpool, task_t task)
{
  ws_tpool_t *ws = tpool->ws;
  ws_pool_t *pool = ws ? ws->pool : NULL;
  if (!pool) {
    task.func(task.args);
    return;
  }
  ws_group_t *tag = ws_tpool_tag(ws, task.func);
  if (ws_pool_push(pool, (ws_task_t){.func = task.func, .arg = task.args, .group = tag}) < 0)
    task.func(task.args);
}

void abortTpool(tpool_t *tpool)
{
  if (tpool->ws)
    ws_tpool_close(tpool->ws);
  tpool->ws = NULL;
}

int get_tpool_worker_index(void)
{
  return ws_worker_index();
}
