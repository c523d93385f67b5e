// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_burst.c
/// ws_burst.h.
#include "ws_burst.h"

#include "ws_copies.h"
#include "ws_ledgers.h"
#include "ws_path.h"

#define LEARNS 64u ///< bursts of a kind until its median is believed
#define KINDS (sizeof(((ws_event_ring_t *)0)->learnt) / sizeof(ws_learnt_t))
#define QUOTA_NS 2100000000u ///< longer than two looks of a guard: a quota that was used up is so again
#define RISEN_NS 2000u ///< a worker that is asleep is not up so soon after its call
/// A thread notes its time without a CPU before it sleeps, and so long after the last note: a worker that
/// never sleeps, when it begins a task; another one in a burst, after its first wake or when it waits: before
/// the first push the call into the kernel took 2 % of a short burst.
#define NOTED_TASK_NS 16000000u
#define NOTED_BURST_NS 500000u

static ws_au64_t throttled_at; ///< S when a guard has last seen that the quota was used up

void ws_burst_throttled(void)
{
  ws_hint_store(&throttled_at, ws_clock_ns());
}

/// The setting's AUTO is the value of a limit that is learnt, as 0 is.
static uint64_t deadline_given_ns(const ws_ledger_room_t *ledger)
{
  const uint64_t given_ns = ws_hint_load(&ledger->deadline_ns);
  return given_ns == WS_DEADLINE_AUTO ? 0 : given_ns;
}

static void note_idle(ws_event_ring_t *ring, uint64_t now_ns, uint64_t least_ns)
{
  if (now_ns - ring->idle_at < least_ns)
    return;
  ring->idle_at = now_ns;
  ws_ring_put(ring, now_ns, WS_NOTE_IDLE, 0, ws_ring_idle_ns(ring));
}

/// Of what has ended. Numbers of tasks that differ by less than an eighth or so are one kind.
static ws_learnt_t *learnt_of(ws_event_ring_t *ring)
{
  const ws_span_t *span = &ring->span;
  const uint64_t size = ws_histogram_bucket(span->pushed << WS_HISTOGRAM_FIRST_OCTAVE);
  const uint64_t key = span->in == WS_IN_PHASE ? WS_IN_PHASE + span->phase : (span->key << 16) + size;
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
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    most = part[i] > part[most] ? i : most;
  if (part[WS_CAUSE_TOO_FEW] > 0) // it would be late without the others, too
    most = WS_CAUSE_TOO_FEW;
  for (uint32_t i = 0; i < WS_CAUSES; i++) {
    part[i] = (uint64_t)((double)part[i] / (double)burst->sum * (double)over_ns);
    if (part[i] > 0)
      ws_ring_put(ring, burst->end, WS_NOTE_PART, i, part[i]);
  }
  ws_ledger_late(burst->ledger, part, most, over_ns);
  WS_PROBE_LTTNG(late_burst, burst->pool, ws_cause_name((ws_cause_t)most), over_ns);
  ws_copies_ask(false);
}

/// The burst, or phase, has ended: judge it, and learn from it. Without a push a phase is of no pool.
static void end_burst(ws_event_ring_t *ring, uint64_t now_ns)
{
  const ws_span_t *span = &ring->span;
  ws_learnt_t *learnt = learnt_of(ring);
  const uint64_t task_ns = ring->ran;
  ring->span.in = WS_IN_NOTHING;
  ring->ran = 0;
  if (!ws_ledger_counts(span->ledger, span->pool))
    return;
  const uint64_t given_ns = deadline_given_ns(span->ledger);
  const bool learns = learnt->count++ < LEARNS;
  ws_late_burst_t burst = {ring, span->ledger, span->begin, now_ns, span->pool, .task_p99 = learnt->task_p99};
  const uint64_t length = now_ns - span->begin, usual = learns ? UINT64_MAX / 2 : learnt->length;
  burst.limit = given_ns ? given_ns : usual + usual / 4;
  burst.usual = learns ? burst.limit : usual;
  ws_ledger_burst(span->ledger);
  if (length > burst.limit) {
    ws_path_blame(&burst);
    enter(ring, &burst);
  }
  learnt->length = follow(learnt->length, length, learns ? 64 : 16, learns ? 64 : 16);
  learnt->task_p99 = follow(learnt->task_p99, task_ns, 99, 1);
}

/// @return whether the push is one more of the last event, without the clock
static bool note_push(ws_event_ring_t *ring, const struct ws_pool_s *pool, uint64_t group, uintptr_t func)
{
  ws_span_t *span = &ring->span;
  if (ring->depth == 0) {
    if (WS_UNLIKELY(span->in == WS_IN_NOTHING))
      *span = (ws_span_t){.in = WS_IN_BURST, .key = func, .begin = ws_clock_ns()};
    span->pushed++;
    span->pool = pool ? pool->id : 0;
    span->ledger = ws_ledger_of(pool);
    span->group = group;
  }
  ws_au64_t *last = &ring->event[(ws_own_load(&ring->head) - 1) % WS_RING_EVENTS].what;
  const uint64_t what = ws_own_load(last);
  const bool is_more = ws_event_kind(what) == WS_NOTE_PUSH && ws_event_address(what) == group
                       && ws_event_small(what) < WS_EVENT_SMALL_MAX;
  if (is_more)
    ws_stat_store(last, ws_event_once_more(what));
  return is_more;
}

/// A task begins, or ends.
static void note_task(ws_event_ring_t *ring, uint64_t now_ns, ws_note_t kind, uint32_t pool, uint64_t address)
{
  const bool begins = kind == WS_NOTE_RUN;
  if (begins && ring->depth == 0 && ring->span.in == WS_IN_NOTHING)
    note_idle(ring, now_ns, NOTED_TASK_NS);
  ring->depth -= !begins && ring->depth > 0; // it may have begun before the record
  ws_ring_put(ring, now_ns, kind, pool, address);
  if (!begins && ring->ran == 0 && ring->began) // the first of a burst, without others in it
    ring->ran = now_ns - ring->began;
  ring->began = begins ? now_ns : 0;
  ring->depth += begins;
}

void ws_burst_note(const struct ws_pool_s *pool, ws_note_t kind, uint32_t small, uint64_t address,
                   uintptr_t func)
{
  ws_self_t *self = ws_self();
  if (pool && !ws_hint_load(&pool->ledger))
    return;
  if (WS_UNLIKELY(!self->ring))
    self->ring = ws_ring_take();
  ws_event_ring_t *ring = self->ring;
  ws_span_t *span = &ring->span;
  const bool is_inside = span->in != WS_IN_NOTHING && ring->depth == 0;
  if (WS_UNLIKELY(ring == &ws_ring_none) || (kind == WS_NOTE_PUSH && note_push(ring, pool, address, func)))
    return;
  const uint64_t now_ns = ws_clock_ns();
  if (kind == WS_NOTE_RUN || kind == WS_NOTE_RAN) {
    note_task(ring, now_ns, kind, small, address);
    return;
  }
  if (kind == WS_NOTE_PARK || (is_inside && (kind == WS_NOTE_PUSH || kind == WS_NOTE_JOIN)))
    note_idle(ring, now_ns, kind == WS_NOTE_PARK ? 0 : NOTED_BURST_NS);
  ws_ring_put(ring, now_ns, kind, kind == WS_NOTE_PUSH ? 1 : small, address);
  if (kind == WS_NOTE_UNPARK && address > RISEN_NS) // else its timer had woken it
    ws_hint_store(&ws_rings.wake_ns, follow(ws_hint_load(&ws_rings.wake_ns), address, 32, 96));
  const bool is_phase = span->in == WS_IN_PHASE && span->phase == small;
  const bool joins =
      kind == WS_NOTE_JOINED && span->in == WS_IN_BURST && (address == 0 || address == span->group);
  if (ring->depth == 0 && kind == WS_NOTE_PHASE && !is_phase)
    *span = (ws_span_t){.in = WS_IN_PHASE, .phase = small, .begin = now_ns};
  else if (ring->depth == 0 && (joins || (kind == WS_NOTE_PHASE_END && is_phase)))
    end_burst(ring, now_ns);
}
