// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_task.c
/// OAI's task pool: open, push, abort. Shapes B1, B2, B2+; the answers are in task_ans_*.c.
/// A push needs ws_tpool_tag of that file, which needs this one. So a program that links one of them from an
/// archive gets both, and a module loaded later finds all functions.
#include "tpool_task.h"

#include "../common/ws_tpool_lead.h"
#include "common/utils/threadPool/thread-pool.h"
#include "tpool_profile.h"
#include "ws_pool.h"
#include "ws_trace.h"

static void init(tpool_t *tpool, ws_tpool_params_t *threads, const char *name)
{
  ws_tpool_t *ws = ws_tpool_open(threads, name);
  *tpool = (tpool_t){.ws = ws, .len_thr = ws->workers};
}

void initNamedTpool(char *params, tpool_t *tpool, bool performanceMeas, char *name)
{
  (void)performanceMeas;
  ws_tpool_params_t threads = ws_tpool_read(params);
  init(tpool, &threads, name);
}

void initFloatingCoresTpool(int nbThreads, tpool_t *tpool, bool performanceMeas, char *name)
{
  (void)performanceMeas;
  ws_tpool_params_t threads = ws_tpool_floating(nbThreads);
  init(tpool, &threads, name);
}

/// @return whether the pool took it
static bool push(ws_tpool_t *ws, ws_tpool_call_t call)
{
  bool taken = false;
  if (ws_tpool_enter(ws)) {
    ws_tpool_lead_push(ws);
    ws_group_t *tag = ws_tpool_tag(ws, call.func);
    const ws_task_t task = {.func = call.func, .arg = call.arg, .group = tag};
    taken = ws_pool_push(ws->pool, task) == 0;
  }
  ws_tpool_leave(ws);
  return taken;
}

/// OAI ends the pool of its radio unit while the unit's thread still pushes: later tasks run inline.
void pushTpool(tpool_t *tpool, task_t task)
{
  ws_tpool_t *ws = __atomic_load_n(&tpool->ws, __ATOMIC_ACQUIRE); // [edge TPOOL_USERS acquire]
  const ws_tpool_call_t call = ws_tpool_call(&task);
  if (!ws || !ws->threads || !push(ws, call))
    ws_trace_run(call.func, call.arg);
}

void abortTpool(tpool_t *tpool)
{
  // [edge TPOOL_USERS acq_rel] a second abort finds nothing
  ws_tpool_t *ws = __atomic_exchange_n(&tpool->ws, NULL, __ATOMIC_ACQ_REL);
  if (!ws)
    return;
  tpool->len_thr = 0;
  ws_tpool_close(ws);
}

ws_tpool_t *ws_tpool_of(void *tpool)
{
  return __atomic_load_n(&((tpool_t *)tpool)->ws, __ATOMIC_ACQUIRE); // [edge TPOOL_USERS acquire]
}

int get_tpool_worker_index(void)
{
  return ws_worker_index();
}
