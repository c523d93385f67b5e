// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_live_null.c
/// ws_live.h without the record and the ledger: links in place of the sources of this room.
#include "../../live/ws_live.h"

#include "../../include/ws_ledger.h"

void ws_live_begin(const struct ws_pool_s *pool) {}

void ws_live_look(ws_au32_t *word) {}

void ws_live_throttled(void) {}

bool ws_live_copy(bool by_user)
{
  return false;
}

bool ws_live_judges(void)
{
  return false;
}

bool ws_live_judge(struct ws_pool_s *pool)
{
  return false;
}

ws_judged_t *ws_live_judged(const struct ws_pool_s *pool)
{
  static ws_judged_t none;
  return &none;
}

void ws_pool_ledger_sized(const struct ws_pool_s *pool, ws_ledger_t *ledger, size_t bytes)
{
  if (pool && ledger)
    memset(ledger, 0, bytes);
}
