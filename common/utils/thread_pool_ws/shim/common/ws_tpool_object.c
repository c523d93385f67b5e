// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_object.c
/// ws_tpool_object.h.
#include "ws_tpool_object.h"

#include <stddef.h>

static void free_pool(ws_tpool_t *tpool)
{
  // [edge TPOOL_USERS acq_rel] of several threads that find it closed and unused, one frees it
  ws_pool_destroy(__atomic_exchange_n(&tpool->pool, NULL, __ATOMIC_ACQ_REL));
}

void ws_tpool_leave(ws_tpool_t *tpool)
{
  // [edge TPOOL_USERS acq_rel] what the caller did with the pool, before it is freed
  if (__atomic_fetch_sub(&tpool->users, 2, __ATOMIC_ACQ_REL) == 3)
    free_pool(tpool);
}

void ws_tpool_shut(ws_tpool_t *tpool)
{
  // [edge TPOOL_USERS acq_rel] as a leave
  if (__atomic_fetch_or(&tpool->users, 1, __ATOMIC_ACQ_REL) == 0)
    free_pool(tpool);
}
