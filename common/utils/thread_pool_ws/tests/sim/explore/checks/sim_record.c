// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_record.c
/// sim_record.h.
#include "sim_record.h"

#include <limits.h>
#include <string.h>

#include "sim_libc.h"

sim_record_t sim_record[SIM_RECORDS_MAX];
uint32_t sim_records;
uint64_t sim_record_begun[SIM_POOLS_MAX];
uint64_t sim_record_yields[SIM_POOLS_MAX];
bool sim_record_aborting[SIM_POOLS_MAX];

static uint32_t round_first;

static uint32_t number(const sim_record_t *record)
{
  return (uint32_t)(record - sim_record);
}

uint32_t sim_record_take(uint32_t count)
{
  if (sim_records + count > SIM_RECORDS_MAX)
    return SIM_RECORD_NONE;
  sim_records += count;
  return sim_records - count;
}

void sim_record_answer(sim_record_t *record, bool accepted)
{
  record->accepted = accepted;
  if (!accepted && record->state != SIM_RECORD_PUSHING)
    sim_finding("task %u runs, though its push was refused", number(record));
  if (record->state == SIM_RECORD_PUSHING)
    record->state = accepted ? SIM_RECORD_PUSHED : SIM_RECORD_REFUSED;
}

void sim_record_begin(sim_record_t *record)
{
  if (record->state == SIM_RECORD_REFUSED)
    sim_finding("task %u runs, though its push was refused", number(record));
  if (record->state != SIM_RECORD_PUSHING && record->state != SIM_RECORD_PUSHED)
    sim_finding("task %u runs twice", number(record));
  record->state = SIM_RECORD_RUNNING;
  sim_record_begun[record->pool]++;
}

void sim_record_end(sim_record_t *record)
{
  record->state = SIM_RECORD_DONE;
  record->done = 1;
}

void sim_record_check(uint32_t first, uint32_t count, const char *how)
{
  for (uint32_t i = first; i < first + count; i++) {
    const sim_record_t *record = &sim_record[i];
    const bool skipped = record->state == SIM_RECORD_PUSHED && sim_record_aborting[record->pool];
    if (record->state != SIM_RECORD_DONE && record->state != SIM_RECORD_REFUSED && !skipped)
      sim_finding("%s returned before task %u was done (state %d)", how, i, (int)record->state);
  }
}

void sim_record_check_pool(uint32_t pool, uint64_t counted, uint64_t skipped)
{
  uint64_t accepted = 0, lost = 0, unknown = 0; // unknown: the thread that pushed ended in its push
  for (uint32_t i = round_first; i < sim_records; i++) {
    const sim_record_t *record = &sim_record[i];
    if (record->pool != pool)
      continue;
    accepted += record->state == SIM_RECORD_PUSHED || record->state == SIM_RECORD_DONE;
    lost += record->state == SIM_RECORD_PUSHED;
    unknown += record->state == SIM_RECORD_PUSHING;
    if (record->state == SIM_RECORD_RUNNING)
      sim_finding("task %u still runs after the stop of its pool", i);
  }
  if (skipped < lost || skipped > lost + unknown)
    sim_finding("pool %u: %llu tasks did not run, and %llu were skipped", pool, (unsigned long long)lost,
                (unsigned long long)skipped);
  if (counted < accepted || counted > accepted + unknown)
    sim_finding("pool %u: %llu tasks were taken, and the statistics count %llu", pool,
                (unsigned long long)accepted, (unsigned long long)counted);
}

void sim_record_next_round(void)
{
  round_first = sim_records;
  memset(sim_record_yields, 0, sizeof(sim_record_yields));
  memset(sim_record_aborting, 0, sizeof(sim_record_aborting));
}
