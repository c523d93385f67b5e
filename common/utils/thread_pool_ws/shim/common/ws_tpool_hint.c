// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_hint.c
/// The hints of ws_tpool_hooks.h. OAI's places for them are passed in each uplink slot, also in those where
/// nobody sends; a worker that gets up then spins for nothing. So a pool has credit:
///
///   full --a slot without a push from the thread that says so--> one less --> ... --> 0: no wake
///        <--a slot with one-- any
#include "ws_tpool_hint.h"

#include <stdbool.h>
#include <stddef.h>

#include "ws_tpool_hooks.h"

/// The calling thread's pushes, to all pools, and its last hint.
static _Thread_local struct {
  uint64_t pushes;
  uint64_t pushes_then;
  const ws_tpool_t *hinted;
} self;

void ws_tpool_hint_pushed(void)
{
  self.pushes++;
}

/// What has come of the thread's last hint. Threads that hint at one pool at once are not expected; credit
/// that one of them loses is a wake more or less.
static void settle(ws_tpool_t *ws)
{
  uint32_t credit = __atomic_load_n(&ws->hint_credit, __ATOMIC_RELAXED); // relaxed: a statistic
  if (self.hinted == ws) {
    if (self.pushes != self.pushes_then)
      credit = WS_TPOOL_HINT_CREDIT;
    else if (credit > 0)
      credit--;
    __atomic_store_n(&ws->hint_credit, credit, __ATOMIC_RELAXED); // relaxed: a statistic
  }
  self.hinted = ws;
  self.pushes_then = self.pushes;
}

static void hint(ws_tpool_t *ws, uint32_t workers, uint32_t within_us)
{
  if (__atomic_load_n(&ws->hint_credit, __ATOMIC_RELAXED) == 0) // relaxed: a statistic
    return;
  if (ws_tpool_enter(ws))
    ws_pool_prewake(ws->pool, workers, within_us * UINT64_C(1000));
  ws_tpool_leave(ws);
}

/// @return NULL = hints are of no use
static ws_tpool_t *hintable(void *tpool)
{
  ws_tpool_t *ws = tpool ? ws_tpool_of(tpool) : NULL;
  return ws && ws->hints ? ws : NULL;
}

void ws_oai_prewake(void *tpool, uint32_t workers, uint32_t within_us)
{
  ws_tpool_t *ws = hintable(tpool);
  if (!ws)
    return;
  settle(ws);
  hint(ws, workers, within_us);
}

void ws_oai_prewake_ahead(void *tpool, uint32_t workers, uint32_t within_us)
{
  ws_tpool_t *ws = hintable(tpool);
  if (ws)
    hint(ws, workers, within_us);
}
