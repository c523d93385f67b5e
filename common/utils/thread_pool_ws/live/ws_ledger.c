// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_ledger.c
/// ws_live.h: the function that takes events for the rings, and the ledger (ws_ledger.h).
///
/// A burst begins with the first push of a thread that is in no task and no phase, and ends when it has
/// waited for that group.
#include "../pool/ws_callback.h"
#include "ws_live.h"
#include "ws_rings.h"

#define POOLS 32u ///< one is at its id modulo this
#define LEARNS 64u ///< bursts of a kind until its median is believed
#define KINDS (sizeof(((ws_event_ring_t *)0)->learnt) / sizeof(ws_learnt_t))
#define QUOTA_NS 2100000000u ///< longer than two looks of a guard: a quota that was used up is so again
#define RISEN_NS 2000u ///< a worker that is asleep is not up so soon after its call
/// A thread notes its time without a CPU before it sleeps, and so long after the last note: a worker that
/// never sleeps, when it begins a task; another one in a burst, after its first wake or when it waits: before
/// the first push the call into the kernel took 2 % of a short burst.
#define NOTED_TASK_NS 16000000u
#define NOTED_BURST_NS 500000u

static struct {
  ws_judged_t judged;
  ws_au64_t count[sizeof(ws_ledger_t) / sizeof(uint64_t)]; ///< S as in ws_ledger_t
} ledgers[POOLS];
#define COUNT(pool, field) (&ledgers[(pool) % POOLS].count[offsetof(ws_ledger_t, field) / sizeof(uint64_t)])
static ws_au64_t throttled_at; ///< S when a guard has last seen that the quota was used up
static ws_provider_t table; ///< constant once it is seen

void ws_pool_ledger_sized(const struct ws_pool_s *pool, ws_ledger_t *ledger, size_t bytes)
{
  uint64_t own[sizeof(ws_ledger_t) / sizeof(uint64_t)];
  for (size_t i = 0; pool && i < sizeof(own) / sizeof(own[0]); i++)
    own[i] = ws_stat_load(&ledgers[pool->id % POOLS].count[i]);
  if (pool && ledger)
    ws_sized_put(ledger, bytes, own, sizeof(own));
}

ws_judged_t *ws_live_judged(const struct ws_pool_s *pool)
{
  return &ledgers[pool->id % POOLS].judged;
}

void ws_live_throttled(void)
{
  ws_hint_store(&throttled_at, ws_rings_ns());
}

static void note_idle(ws_event_ring_t *ring, uint64_t now_ns, uint64_t least_ns)
{
  if (now_ns - ring->idle_at < least_ns)
    return;
  ring->idle_at = now_ns;
  ws_ring_put(ring, now_ns, WS_NOTE_IDLE, 0, ws_ring_idle_ns(ring));
}

/// @param key  what bursts of one kind share
static void begin_burst(ws_event_ring_t *ring, uint64_t now_ns, uint64_t key, uint32_t in)
{
  ring->in = in;
  ring->key = key;
  ring->begin = now_ns;
  ring->pushed = 0;
}

/// Of what has ended. Numbers of tasks that differ by less than an eighth or so are one kind.
static ws_learnt_t *learnt_of(ws_event_ring_t *ring)
{
  const uint64_t size = ws_histogram_bucket(ring->pushed << WS_HISTOGRAM_FIRST_OCTAVE);
  const uint64_t key = ring->in > 1 ? ring->in : (ring->key << 16) + size;
  ws_learnt_t *learnt = &ring->learnt[(key ^ key >> 20) % KINDS];
  if (learnt->key != key)
    *learnt = (ws_learnt_t){.key = key};
  return learnt;
}

/// @return what is learnt, nearer to a value: to the quantile up / (up + down). 0 = no value
static uint64_t follow(uint64_t learnt, uint64_t value, uint32_t up, uint32_t down)
{
  const uint64_t step = learnt / 1024 + 1;
  if (learnt == 0 || value == 0)
    return learnt + value;
  return value > learnt ? learnt + up * step : learnt > down * step ? learnt - down * step : learnt;
}

/// @brief Count a late burst, note it for readers of the rings, and have the rings copied.
static void enter(ws_event_ring_t *ring, ws_late_burst_t *burst)
{
  uint64_t *part = burst->part;
  const uint64_t length = burst->end - burst->begin, over_ns = length - burst->limit;
  const uint64_t quota_at = ws_hint_load(&throttled_at);
  if (quota_at != 0 && burst->end - quota_at < QUOTA_NS) {
    part[WS_CAUSE_QUOTA] = part[WS_CAUSE_NO_CPU] + part[WS_CAUSE_SERIAL]; // that thread was stopped, too
    part[WS_CAUSE_NO_CPU] = part[WS_CAUSE_SERIAL] = 0;
  }
  uint32_t most = 0;
  ws_ring_put(ring, burst->end, WS_NOTE_LATE, burst->pool, length);
  for (uint32_t i = 0; i < WS_CAUSES; i++) {
    const uint64_t ns = (uint64_t)((double)part[i] / (double)burst->sum * (double)over_ns);
    most = part[i] > part[most] ? i : most;
    if (ns > 0)
      ws_ring_put(ring, burst->end, WS_NOTE_PART, i, ns);
    ws_stat_add(COUNT(burst->pool, by[i].total_ns), ns);
    if (ns > ws_stat_load(COUNT(burst->pool, by[i].worst_ns)))
      ws_stat_store(COUNT(burst->pool, by[i].worst_ns), ns);
  }
  if (part[WS_CAUSE_TOO_FEW] > 0) // it would be late without the others, too
    most = WS_CAUSE_TOO_FEW;
  ws_histogram_add(&ledgers[burst->pool % POOLS].judged.ends, over_ns);
  ws_stat_add(COUNT(burst->pool, late), 1);
  ws_stat_add(COUNT(burst->pool, by[most].bursts), 1);
  WS_PROBE_LTTNG(late_burst, burst->pool, ws_cause_name((ws_cause_t)most), over_ns);
  ws_live_copy(false);
}

/// The burst, or phase, has ended: judge it, and learn from it.
static void end_burst(ws_event_ring_t *ring, uint64_t now_ns)
{
  const uint64_t given_ns = ws_hint_load(&ledgers[ring->pool % POOLS].judged.deadline_ns);
  ws_learnt_t *learnt = learnt_of(ring);
  const bool learns = learnt->count++ < LEARNS;
  ws_late_burst_t burst = {ring, ring->begin, now_ns, ring->pool, .task_p99 = learnt->task_p99};
  const uint64_t length = now_ns - ring->begin, usual = learns ? UINT64_MAX / 2 : learnt->length;
  burst.limit = given_ns % WS_DEADLINE_AUTO ? given_ns : usual + usual / 4;
  burst.usual = learns ? burst.limit : usual;
  ring->in = 0;
  ws_stat_add(COUNT(ring->pool, bursts), 1);
  if (length > burst.limit) {
    ws_path_blame(&burst);
    enter(ring, &burst);
  }
  learnt->length = follow(learnt->length, length, learns ? 64 : 16, learns ? 64 : 16);
  learnt->task_p99 = follow(learnt->task_p99, ring->ran, 99, 1);
  ring->ran = 0;
}

/// @return whether the push is one more of the last event, without the clock
static bool note_push(ws_event_ring_t *ring, uint32_t pool, uint64_t group, uintptr_t func)
{
  if (ring->depth == 0) {
    if (WS_UNLIKELY(ring->in == 0))
      begin_burst(ring, ws_rings_ns(), func, 1);
    ring->pushed++;
    ring->pool = pool;
    ring->group = group;
  }
  ws_au64_t *last = &ring->event[(ws_own_load(&ring->head) - 1) % WS_RING_EVENTS].what;
  const uint64_t what = ws_own_load(last);
  const bool is_more =
      (what & 31) == WS_NOTE_PUSH && what >> 16 == group && (what >> 6 & WS_RING_SMALL) < WS_RING_SMALL;
  if (is_more)
    ws_stat_store(last, what + (1 << 6));
  return is_more;
}

/// A task begins, or ends.
static void note_task(ws_event_ring_t *ring, uint64_t now_ns, ws_note_t kind, uint32_t pool, uint64_t address)
{
  const bool begins = kind == WS_NOTE_RUN;
  if (begins && ring->depth == 0 && ring->in == 0)
    note_idle(ring, now_ns, NOTED_TASK_NS);
  ring->depth -= !begins && ring->depth > 0; // it may have begun before the record
  ws_ring_put(ring, now_ns, kind, pool, address);
  if (!begins && ring->ran == 0 && ring->began) // the first of a burst, without others in it
    ring->ran = now_ns - ring->began;
  ring->began = begins ? now_ns : 0;
  ring->depth += begins;
}

/// ws_provider_t.note
static void note(ws_note_t kind, uint32_t small, uint64_t address, uintptr_t func)
{
  ws_self_t *self = ws_self();
  if (WS_UNLIKELY(!self->ring))
    self->ring = ws_ring_take();
  ws_event_ring_t *ring = self->ring;
  const bool is_inside = ring->in != 0 && ring->depth == 0;
  if (WS_UNLIKELY(ring == &ws_ring_none) || (kind == WS_NOTE_PUSH && note_push(ring, small, address, func)))
    return;
  const uint64_t now_ns = ws_rings_ns();
  if (kind == WS_NOTE_RUN || kind == WS_NOTE_RAN) {
    note_task(ring, now_ns, kind, small, address);
    return;
  }
  if (kind == WS_NOTE_PARK || (is_inside && (kind == WS_NOTE_PUSH || kind == WS_NOTE_JOIN)))
    note_idle(ring, now_ns, kind == WS_NOTE_PARK ? 0 : NOTED_BURST_NS);
  ws_ring_put(ring, now_ns, kind, kind == WS_NOTE_PUSH ? 1 : small, address);
  if (kind == WS_NOTE_UNPARK && address > RISEN_NS) // else its timer had woken it
    ws_hint_store(&ws_rings.wake_ns, follow(ws_hint_load(&ws_rings.wake_ns), address, 32, 96));
  const bool is_phase = ring->in == 2 + small;
  const bool joins = kind == WS_NOTE_JOINED && ring->in == 1 && (address == 0 || address == ring->group);
  if (ring->depth == 0 && kind == WS_NOTE_PHASE && !is_phase)
    begin_burst(ring, now_ns, 0, 2 + small);
  else if (ring->depth == 0 && (joins || (kind == WS_NOTE_PHASE_END && is_phase)))
    end_burst(ring, now_ns);
}

/// @return whether the process has rings, which take its events
static bool begin_rings(const ws_settings_t *settings)
{
  if (!ws_rings.file && ws_rings_map(settings)) {
    table = ws_provider_events() ? *ws_provider_events() : table; // LTTng's, or in the child of a fork this
    table.note = note;
    ws_self()->ring = NULL; // in that child there was none to take
    ws_store_release(&ws_provider, &table); // [edge PROVIDER release] the table, the rings
  }
  return ws_rings.file;
}

void ws_live_begin(const struct ws_pool_s *pool)
{
  const ws_settings_t *settings = &pool->settings;
  const bool is_asked = settings->deadline_ns != 0 || settings->report || settings->record[0];
  if (!is_asked && !ws_rings.file)
    return;
  pthread_mutex_lock(&ws_process.pools_lock); // a fork waits for it
  if (!ws_rings_are_own()) // in the child of a fork
    ws_rings = (struct ws_rings_s){0};
  else if (settings->record[0] && !ws_rings.path[0])
    ws_warn(settings, "record=%s: a pool before this one began without; there is no record",
            settings->record);
  if (is_asked)
    begin_rings(settings);
  memset(&ledgers[pool->id % POOLS], 0, sizeof(ledgers[0])); // no thread knows the pool yet
  ws_init_store(&ws_live_judged(pool)->deadline_ns, settings->deadline_ns);
  pthread_mutex_unlock(&ws_process.pools_lock);
}

bool ws_live_judge(struct ws_pool_s *pool)
{
  uint32_t plainly = WS_RUNS_PLAINLY;
  pthread_mutex_lock(&ws_process.pools_lock);
  const bool judges = begin_rings(&pool->settings);
  pthread_mutex_unlock(&ws_process.pools_lock);
  if (judges) // [edge PROVIDER acq_rel] the table, before tasks run with events; an abort stays one
    ws_cas_acq_rel(&pool->runs, &plainly, WS_RUNS_NOTED);
  return judges;
}
