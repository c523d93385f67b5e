// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_share.c
/// The benchmark's handle of a ws pool holds one group, so each further producer gets a handle of its own.
#include <stdlib.h>

#include "ws_pool.h"

void *sim_share_ws(void *pool);

/// As in backends/ws.c.
typedef struct {
  ws_pool_t *pool;
  ws_group_t group;
} bench_ws_t;

void *sim_share_ws(void *pool)
{
  bench_ws_t *share = calloc(1, sizeof(*share));
  if (share)
    share->pool = ((bench_ws_t *)pool)->pool;
  return share;
}
