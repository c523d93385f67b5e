// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_record_null.c
/// ws_flight.h without the record and the ledger: links in place of the sources of this room.
#include "../../include/ws_ledger.h"
#include "../../record/ws_flight.h"

void ws_flight_begin(struct ws_pool_s *pool) {}

void ws_flight_end(struct ws_pool_s *pool) {}

void ws_flight_widen(void) {}

void ws_flight_catch_up(const struct ws_pool_s *pool) {}

const char *ws_flight_copy(uint64_t key)
{
  return "there is no record";
}

bool ws_flight_judge(struct ws_pool_s *pool, uint64_t deadline_ns)
{
  return false;
}

uint64_t ws_flight_deadline_ns(const struct ws_pool_s *pool)
{
  return 0;
}

const ws_histogram_t *ws_flight_ends(const struct ws_pool_s *pool)
{
  return NULL;
}

uint32_t ws_flight_worst(const struct ws_pool_s *pool, ws_journal_burst_t worst[WS_FLIGHT_WORST])
{
  return 0;
}

void ws_pool_ledger_sized(const struct ws_pool_s *pool, ws_ledger_t *ledger, size_t bytes)
{
  if (pool && ledger)
    memset(ledger, 0, bytes);
}
