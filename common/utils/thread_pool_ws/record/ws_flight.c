// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_flight.c
/// ws_flight.h.
#include "ws_flight.h"

#include <unistd.h>

#include "../pool/ws_callback.h"
#include "ws_burst.h"
#include "ws_file.h"
#include "ws_journal_write.h"
#include "ws_scribe.h"

#define DAY_NS 86400000000000u

static ws_provider_t table; ///< constant once it is seen

/// Give the process rings, which take its events, and its record, unless it has them; the pool a ledger, and
/// with it the scribe. @return false: no memory for the ledger. Rings and record stay, for a next pool
static bool begin(struct ws_pool_s *pool, uint64_t deadline_ns, bool by_settings)
{
  const ws_settings_t *settings = &pool->settings;
  const char *why = NULL; // there is no record, though one was asked for
  pthread_mutex_lock(&ws_process.pools_lock); // a fork waits for it
  if (!ws_rings_are_own()) { // the first one, or in the child of a fork
    if (ws_rings.pid != 0) // else a guard may be in ws_scribe_widen()
      ws_scribe_forget();
    ws_rings_begin();
    why = ws_file_begin(settings);
    table = ws_provider_events() ? *ws_provider_events() : table; // LTTng's, or in that child this
    table.note = ws_burst_note;
    ws_self()->ring = NULL; // in that child there was none to take
    ws_store_release(&ws_provider, &table); // [edge PROVIDER release] the table, the rings
  } else if (settings->record[0] && !ws_file_folder()[0]) {
    why = "a pool before this one began without";
  }
  const bool judges = ws_ledger_begin(pool, deadline_ns, by_settings);
  pthread_mutex_unlock(&ws_process.pools_lock);
  if (why) // without the lock: the host's function may fork, make a pool, or end the process
    ws_warn(settings, "record (TPOOL_WS_RECORD) %s: %s; there is no record", settings->record, why);
  if (judges) // without the lock: to make a thread waits for a fork, and a fork for the lock
    ws_scribe_begin(settings);
  return judges;
}

void ws_flight_begin(struct ws_pool_s *pool)
{
  const ws_settings_t *settings = &pool->settings;
  const bool asks = settings->deadline_ns != 0 || settings->report || settings->record[0];
  if (asks && !begin(pool, settings->deadline_ns, true))
    ws_warn(settings, "deadline, record, report: no memory; bursts of pool %s are not judged",
            settings->name);
}

static ws_au32_t is_over; ///< S 1 = the library is unloaded, or the process ends

/// If there is no pool and there will be none, free what pools shared. A thread that is just marking a phase
/// is not waited for.
/// @threads  with the lock of pools
static void end_after_last(void)
{
  if (!ws_hint_load(&is_over) || ws_process.first || !ws_rings_are_own())
    return;
  // First: a thread that comes to an event from now on makes none.
  ws_store_release(&ws_provider, NULL); // [edge PROVIDER release] nothing
  ws_rings_end();
  ws_ledgers_free();
  ws_file_end();
}

void ws_flight_end(struct ws_pool_s *pool)
{
  ws_ledger_room_t *ledger = ws_ledger_of(pool);
  if (!ledger)
    return;
  ws_scribe_end(ws_hint_load(&is_over) ? NULL : &pool->settings);
  pthread_mutex_lock(&ws_process.pools_lock);
  ws_stat_store(&ledger->pool, 0); // it is free. Until here the scribe could count for the pool
  end_after_last();
  pthread_mutex_unlock(&ws_process.pools_lock);
}

void ws_flight_widen(void)
{
  ws_scribe_widen();
}

void ws_flight_catch_up(const struct ws_pool_s *pool)
{
  if (ws_ledger_of(pool))
    ws_scribe_catch_up();
}

bool ws_flight_judge(struct ws_pool_s *pool, uint64_t deadline_ns)
{
  uint32_t plainly = WS_RUNS_PLAINLY;
  ws_ledger_room_t *ledger = ws_ledger_of(pool);
  if (ledger)
    ws_hint_store(&ledger->deadline_ns, deadline_ns);
  if (ledger || deadline_ns == 0)
    return true;
  const bool judges = begin(pool, deadline_ns, false);
  if (judges) // [edge PROVIDER acq_rel] the table, before tasks run with events; an abort stays
    ws_cas_acq_rel(&pool->runs, &plainly, WS_RUNS_NOTED);
  return judges;
}

uint64_t ws_flight_deadline_ns(const struct ws_pool_s *pool)
{
  const ws_ledger_room_t *ledger = ws_ledger_of(pool);
  return ledger ? ws_hint_load(&ledger->deadline_ns) : 0;
}

const ws_histogram_t *ws_flight_ends(const struct ws_pool_s *pool)
{
  const ws_ledger_room_t *ledger = ws_ledger_of(pool);
  return ledger ? &ledger->ends : NULL;
}

/// Whose worst bursts are looked for, and those so far.
typedef struct {
  uint32_t pid, life, pool, count;
  ws_journal_burst_t *worst;
} worst_t;

/// For each burst of a journal: if it is the pool's, and among the worst so far, put it in its place. A
/// pool's id is unique in its process only, and a pid only while that lives: the journals have other
/// processes' bursts, too.
static void take_worst(void *arg, const ws_journal_burst_t *burst)
{
  worst_t *found = arg;
  const uint64_t over_ns = ws_journal_over_ns(burst);
  uint32_t at = found->count;
  if (burst->pid != found->pid || burst->life != found->life || burst->pool != found->pool)
    return;
  while (at > 0 && over_ns > ws_journal_over_ns(&found->worst[at - 1]))
    at--;
  if (at == WS_FLIGHT_WORST)
    return;
  found->count += found->count < WS_FLIGHT_WORST;
  memmove(&found->worst[at + 1], &found->worst[at], (found->count - at - 1) * sizeof(*burst));
  found->worst[at] = *burst;
}

uint32_t ws_flight_worst(const struct ws_pool_s *pool, ws_journal_burst_t worst[WS_FLIGHT_WORST])
{
  worst_t found = {(uint32_t)getpid(), ws_journal_life(), (uint32_t)pool->id, 0, worst};
  if (ws_ledger_of(pool) && ws_file_folder()[0])
    ws_journal_bursts(ws_file_folder(), ws_above(ws_os_real_ns(), DAY_NS), 0, WS_CAUSES, take_worst, &found);
  return found.count;
}

const char *ws_flight_copy(uint64_t key)
{
  const int error = ws_scribe_copy(key);
  if (error < 0)
    return WS_FLIGHT_LATER;
  return error == ENODATA ? "there is no record" : error ? strerror(error) : NULL;
}

#ifndef WS_SIMULATED // that machine ends before the process
/// The library is unloaded, or the process ends: have the scribe write what is left, and end. Pools may live
/// then: those of a static object in C++ end later, and threads of others go on. From here on their late
/// bursts are not examined, and the last one to end frees all.
__attribute__((destructor)) static void end(void)
{
  if (!ws_rings_are_own())
    return;
  ws_scribe_end(NULL);
  pthread_mutex_lock(&ws_process.pools_lock);
  ws_hint_store(&is_over, 1);
  end_after_last();
  pthread_mutex_unlock(&ws_process.pools_lock);
}
#endif
