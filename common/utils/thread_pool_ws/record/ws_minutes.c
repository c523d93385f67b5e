// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_minutes.c
/// ws_minutes.h.
#include "ws_minutes.h"

#include <string.h>

static uint64_t over_ns(const ws_journal_burst_t *burst)
{
  return ws_clock_since(burst->limit_ns, burst->length_ns);
}

static ws_minute_t *begin_minute(ws_minute_t *minute, uint64_t number)
{
  memset(minute, 0, sizeof(*minute)); // what it was is in the file, unless that could not be written
  minute->row.number = number;
  minute->first_new = WS_JOURNAL_PLACES;
  return minute;
}

void ws_minutes_begin(ws_minutes_t *minutes, uint32_t pid, uint64_t now_ns)
{
  memset(minutes, 0, sizeof(*minutes));
  minutes->begin_ns = minutes->last_ns = now_ns;
  minutes->pid = pid;
  minutes->life = (uint32_t)now_ns;
  begin_minute(&minutes->at[0], 1);
}

/// @return the minute of that time; the one before the newest, if it is older
static ws_minute_t *minute_of(ws_minutes_t *minutes, uint64_t ns)
{
  const uint64_t number = minutes->before + ws_clock_since(minutes->begin_ns, ns) / WS_MINUTE_NS + 1;
  ws_minute_t *newest = &minutes->at[minutes->newest], *other = &minutes->at[1 - minutes->newest];
  if (number > newest->row.number) {
    minutes->newest = 1 - minutes->newest;
    return begin_minute(other, number);
  }
  return number == newest->row.number || other->row.number == 0 ? newest : other;
}

/// Give a late burst a place. In a full minute it takes that of the one that is least over its limit, but not
/// the first one's.
static void place(ws_minute_t *minute, const ws_journal_burst_t *burst)
{
  uint32_t at = (uint32_t)minute->row.entries;
  if (at == WS_JOURNAL_PLACES) {
    for (uint32_t i = at = 1; i < WS_JOURNAL_PLACES; i++)
      at = over_ns(&minute->burst[i]) < over_ns(&minute->burst[at]) ? i : at;
    if (over_ns(burst) <= over_ns(&minute->burst[at]))
      return;
  }
  minute->row.entries += at == minute->row.entries;
  minute->burst[at] = *burst;
  minute->first_new = at < minute->first_new ? at : minute->first_new;
  minute->end_new = at >= minute->end_new ? at + 1 : minute->end_new;
}

/// Add counts to a minute.
static void add(ws_minute_t *minute, const ws_journal_minute_t *more)
{
  ws_journal_minute_t *row = &minute->row;
  minute->is_new = true;
  row->bursts += more->bursts;
  row->late += more->late;
  row->examined += more->examined;
  row->worst_ns = more->worst_ns > row->worst_ns ? more->worst_ns : row->worst_ns;
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    row->part_ns[i] += more->part_ns[i];
}

void ws_minutes_late(ws_minutes_t *minutes, const ws_journal_burst_t *burst)
{
  // If the clock began anew in between, it seems to have ended before the begin, or to end in days.
  const uint64_t lasted_ns = minutes->last_ns - minutes->begin_ns;
  const bool is_near = burst->end_ns - minutes->begin_ns < lasted_ns + WS_MINUTE_NS;
  ws_minute_t *minute = minute_of(minutes, is_near ? burst->end_ns : minutes->last_ns);
  ws_journal_minute_t one = {.examined = 1, .worst_ns = over_ns(burst)};
  ws_journal_burst_t own = *burst;
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    one.part_ns[i] = burst->part_ns[i];
  add(minute, &one);
  own.pid = minutes->pid;
  own.life = minutes->life;
  place(minute, &own);
}

void ws_minutes_count(ws_minutes_t *minutes, uint64_t now_ns, uint64_t real_ns, uint64_t bursts,
                      uint64_t late)
{
  if (now_ns < minutes->last_ns) { // it has begun anew
    minutes->before = minutes->at[minutes->newest].row.number;
    minutes->begin_ns = now_ns;
  }
  minutes->last_ns = now_ns;
  ws_minute_t *minute = minute_of(minutes, now_ns);
  ws_minute_t *other = &minutes->at[1 - minutes->newest];
  minute->row.real_ns = real_ns;
  other->row.real_ns = other->row.real_ns ? other->row.real_ns : real_ns; // it had late bursts only
  if (bursts > 0)
    add(minute, &(ws_journal_minute_t){.bursts = bursts, .late = late});
}

uint64_t ws_minutes_go_on(ws_minutes_t *minutes, const ws_minute_t *with)
{
  ws_minute_t *other = &minutes->at[1 - minutes->newest];
  ws_minute_t *oldest = other->row.number ? other : &minutes->at[minutes->newest];
  const ws_minute_t own = *oldest;
  *oldest = *with;
  oldest->row.number = own.row.number;
  oldest->row.real_ns = own.row.real_ns;
  add(oldest, &own.row);
  for (uint32_t i = 0; i < own.row.entries; i++)
    place(oldest, &own.burst[i]);
  ws_minutes_renew(minutes);
  return own.row.number;
}

void ws_minutes_renew(ws_minutes_t *minutes)
{
  for (uint32_t i = 0; i < 2; i++) {
    ws_minute_t *minute = &minutes->at[i];
    minute->is_new = minute->row.bursts > 0 || minute->row.entries > 0;
    minute->first_new = 0;
    minute->end_new = (uint32_t)minute->row.entries;
  }
}
