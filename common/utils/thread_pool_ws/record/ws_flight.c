// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_flight.c
/// ws_flight.h.
#include "ws_flight.h"

#include "../pool/ws_callback.h"
#include "ws_burst.h"
#include "ws_copies.h"
#include "ws_ledgers.h"

static ws_provider_t table; ///< constant once it is seen

/// The table of events is seen after the rings. The child of a fork may have dropped its parent's.
static bool judges(void)
{
  return WS_PROBE_SEEN() && ws_provider_events()->note && ws_rings.file;
}

/// @return whether the process has rings, which take its events
static bool begin_rings(const ws_settings_t *settings)
{
  if (ws_rings.file)
    return true;
  ws_event_file_t *file = ws_copies_begin(settings);
  file = file ? file : ws_os_map(sizeof(*file));
  if (!file)
    return false;
  ws_rings_begin(file);
  table = ws_provider_events() ? *ws_provider_events() : table; // LTTng's, or in the child of a fork this
  table.note = ws_burst_note;
  ws_self()->ring = NULL; // in that child there was none to take
  ws_store_release(&ws_provider, &table); // [edge PROVIDER release] the table, the rings
  return true;
}

void ws_flight_begin(struct ws_pool_s *pool)
{
  const ws_settings_t *settings = &pool->settings;
  const bool is_asked = settings->deadline_ns != 0 || settings->report || settings->record[0];
  if (!is_asked)
    return;
  pthread_mutex_lock(&ws_process.pools_lock); // a fork waits for it
  if (!ws_rings_are_own()) { // in the child of a fork
    ws_rings = (struct ws_rings_s){0};
    ws_copies = (struct ws_copies_s){0};
  } else if (settings->record[0] && !ws_copies.path[0]) {
    ws_warn(settings, "record=%s: a pool before this one began without; there is no record",
            settings->record);
  }
  if (begin_rings(settings))
    ws_ledger_begin(pool, settings->deadline_ns, true);
  pthread_mutex_unlock(&ws_process.pools_lock);
}

void ws_flight_end(struct ws_pool_s *pool)
{
  pthread_mutex_lock(&ws_process.pools_lock);
  ws_ledger_end(pool);
  pthread_mutex_unlock(&ws_process.pools_lock);
}

bool ws_flight_judge(struct ws_pool_s *pool, uint64_t deadline_ns)
{
  uint32_t plainly = WS_RUNS_PLAINLY;
  pthread_mutex_lock(&ws_process.pools_lock);
  ws_ledger_room_t *ledger = ws_ledger_of(pool);
  const bool begins = !ledger && deadline_ns != 0;
  const bool judges = !begins || (begin_rings(&pool->settings) && ws_ledger_begin(pool, deadline_ns, false));
  pthread_mutex_unlock(&ws_process.pools_lock);
  if (ledger)
    ws_hint_store(&ledger->deadline_ns, deadline_ns);
  else if (begins
           && judges) // [edge PROVIDER acq_rel] the table, before tasks run with events; an abort stays
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

void ws_flight_throttled(void)
{
  ws_burst_throttled();
}

bool ws_flight_copy(bool by_user)
{
  return ws_copies_ask(by_user);
}

void ws_flight_look(ws_au32_t *word)
{
  if (judges())
    ws_copies_look(word);
}
