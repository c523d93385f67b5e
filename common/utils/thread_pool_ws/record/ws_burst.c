// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_burst.c
/// ws_burst.h.
#include "ws_burst.h"

#include "ws_scribe.h"
#include "ws_seen.h"

#define LEARNS 64u ///< bursts of a kind until its median is believed
#define KINDS (sizeof(((ws_event_ring_t *)0)->learnt) / sizeof(ws_learnt_t))
#define NOTE_NS 50000u ///< between two notes of a worker: they take 1 us
#define UNSEEN_NS 20000u ///< of a late burst without a note: the next ones get it at the first push
#define RISEN_NS 2000u ///< a worker that is asleep is not up so soon after its call

/// Note what the thread has used (ws_lack.h).
static void note_used(ws_event_ring_t *ring, uint64_t now_ns)
{
  uint64_t sleeps;
  const uint64_t cpu_ns = ws_os_used_ns(&sleeps);
  ws_ring_put(ring, now_ns, WS_NOTE_USED, sleeps, cpu_ns);
  ring->noted = (ws_noted_t){.ns = now_ns, .cpu_ns = cpu_ns, .sleeps = sleeps};
}

/// Note what the thread has used, outside tasks and once in a burst or phase.
static void note_begin(ws_event_ring_t *ring)
{
  if (ring->depth > 0 || ring->span.has_note || ring->span.in == WS_IN_NOTHING)
    return;
  const ws_noted_t before = ring->noted;
  note_used(ring, ws_os_now_ns());
  ring->span.has_note = true;
  ring->span.unseen = ring->noted.ns - ring->span.begin;
  ring->span.lacked = before.ns ? ws_above(ring->span.unseen, ring->noted.cpu_ns - before.cpu_ns) : 0;
}

/// @return what the ring has learnt of the kind of the burst or phase that has ended; a new kind takes the
/// place of another one. Numbers of tasks that differ by less than an eighth or so are one kind
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

/// A burst was on time: ws_work_learn() learns from it. begin goes first, end last.
static void publish_on_time(ws_event_ring_t *ring, uint64_t now_ns, uint64_t key)
{
  ws_stat_store(&ring->on_time.begin, ring->span.begin);
  ws_stat_store(&ring->on_time.pool, ring->span.pool);
  ws_stat_store(&ring->on_time.key, key);
  ws_stat_store(&ring->on_time.pushed, ring->span.pushed);
  ws_stat_store(&ring->on_time.end, now_ns);
}

/// The burst, or phase, has ended: judge it, and learn from it. Without a push a phase is of no pool,
/// and not judged. The first LEARNS of a kind are late only by a deadline that was given.
static void end_burst(ws_event_ring_t *ring, uint64_t now_ns)
{
  const ws_span_t *span = &ring->span;
  ws_learnt_t *learnt = learnt_of(ring);
  ring->span.in = WS_IN_NOTHING;
  if (!ws_ledger_counts(span->ledger, span->pool))
    return;
  const uint64_t given_ns = ws_hint_load(&span->ledger->deadline_ns);
  const bool learns = learnt->count++ < LEARNS;
  const uint64_t length = ws_above(now_ns, span->begin), usual = learns ? UINT64_MAX / 2 : learnt->length;
  const bool is_given = given_ns != 0 && given_ns != WS_DEADLINE_AUTO;
  const uint64_t limit = is_given ? given_ns : usual + usual / 4;
  ws_ledger_burst(span->ledger, length > limit ? length - limit : 0);
  if (length > limit) {
    const ws_noted_t first = ring->noted;
    ring->notes_first |= span->unseen > UNSEEN_NS;
    note_used(ring, now_ns);
    const uint64_t used_ns = ring->noted.cpu_ns - first.cpu_ns + first.asleep_ns;
    ws_scribe_late(
        span->ledger,
        &(ws_late_burst_t){.ring = ring,
                           .tid = ws_own_load(&ring->tid),
                           .begin = span->begin,
                           .end = now_ns,
                           .pool = span->pool,
                           .key = learnt->key,
                           .pushed = span->pushed,
                           .limit = limit,
                           .usual = learns ? limit : learnt->low,
                           .lacked = span->has_note ? span->lacked + ws_above(now_ns - first.ns, used_ns) : 0,
                           .slept = ring->noted.sleeps - first.sleeps > first.waits});
  } else {
    publish_on_time(ring, now_ns, learnt->key);
  }
  learnt->length = ws_follow(learnt->length, length, learns ? 64 : 16, learns ? 64 : 16);
  learnt->low = ws_follow(learnt->low, length, learns ? 32 : 4, learns ? 96 : 12);
}

/// Count a push into the last event, if that is a push of the same group. @return whether
static bool add_to_last(ws_event_ring_t *ring, uint64_t group)
{
  const uint64_t head = ws_own_load(&ring->head);
  ws_ring_event_t *const event = &ring->event[(head - 1) % WS_RING_EVENTS];
  const ws_seen_t last = ws_event_read(event);
  const bool is_same = head > 0 // else it is of the ring's last owner
                       && last.kind == WS_NOTE_PUSH && last.address == group
                       && last.small < WS_EVENT_SMALL_MAX;
  if (is_same)
    ws_stat_store(&event->what, ws_event_what(WS_NOTE_PUSH, last.inside, last.small + 1, group));
  return is_same;
}

/// A push is an event, or counts in the last one. Outside tasks it also begins a burst, or belongs to one
/// or to a phase, unless it is to no pool (ws_trace_run()).
static void note_push(ws_event_ring_t *ring, const struct ws_pool_s *pool, uint64_t group, uintptr_t func)
{
  ws_span_t *span = &ring->span;
  note_begin(ring); // not before the first push: two system calls would make it late
  const uint64_t now_ns = add_to_last(ring, group) ? 0 : ws_os_now_ns(); // 0: its burst has begun
  if (now_ns != 0)
    ws_ring_put(ring, now_ns, WS_NOTE_PUSH, 1, group);
  if (ring->depth > 0 || !pool)
    return;
  if (WS_UNLIKELY(span->in == WS_IN_NOTHING))
    *span = (ws_span_t){.in = WS_IN_BURST, .key = func, .begin = now_ns};
  span->pushed++;
  span->pool = pool->id;
  span->ledger = ws_ledger_of(pool);
  span->group = group;
  if (WS_UNLIKELY(ring->notes_first))
    note_begin(ring);
}

/// A task begins, or ends.
static void note_task(ws_event_ring_t *ring, uint64_t now_ns, ws_note_t kind, uint32_t pool, uint64_t address)
{
  const bool begins = kind == WS_NOTE_RUN;
  ring->depth -= !begins && ring->depth > 0; // it may have begun before the record
  ws_ring_put(ring, now_ns, kind, pool, address);
  ring->depth += begins;
}

void ws_burst_note(const struct ws_pool_s *pool, ws_note_t kind, uint32_t small, uint64_t address,
                   uintptr_t func)
{
  ws_self_t *self = ws_self();
  const bool waits = kind == WS_NOTE_JOIN || kind == WS_NOTE_JOINED || kind >= WS_NOTE_SLEEP;
  const bool is_of_task = waits && self->ring && self->ring->depth > 0; // of a pool that is judged
  if (pool && !ws_hint_load(&pool->ledger) && !is_of_task)
    return;
  if (WS_UNLIKELY(!self->ring))
    self->ring = ws_ring_take();
  ws_event_ring_t *ring = self->ring;
  ws_span_t *span = &ring->span;
  if (WS_UNLIKELY(ring == &ws_ring_none))
    return;
  if (kind == WS_NOTE_PUSH) {
    note_push(ring, pool, address, func);
    return;
  }
  const uint64_t now_ns = ws_os_now_ns();
  if (kind == WS_NOTE_RUN || kind == WS_NOTE_RAN) {
    note_task(ring, now_ns, kind, small, address);
    return;
  }
  if (kind == WS_NOTE_USED) { // a worker has no task
    if (ws_above(now_ns, ring->noted.ns) > NOTE_NS)
      note_used(ring, now_ns);
    return;
  }
  ws_ring_put(ring, now_ns, kind, small, address);
  if (kind == WS_NOTE_SLEEP) {
    ring->noted.asleep_since = now_ns;
  } else if (kind == WS_NOTE_SLEPT) {
    ring->noted.asleep_ns += ws_above(now_ns, ring->noted.asleep_since);
    ring->noted.waits++;
  }
  if (kind == WS_NOTE_UNPARK && address > RISEN_NS) // else its timer had woken it
    ws_hint_store(&ws_rings.wake_ns, ws_follow(ws_hint_load(&ws_rings.wake_ns), address, 32, 96));
  const bool is_phase = span->in == WS_IN_PHASE && span->phase == small && span->key == address >> 16;
  const bool joins =
      kind == WS_NOTE_JOINED && span->in == WS_IN_BURST && (address == 0 || address == span->group);
  if (ring->depth == 0 && kind == WS_NOTE_PHASE && !is_phase)
    *span = (ws_span_t){.in = WS_IN_PHASE, .phase = small, .key = address >> 16, .begin = now_ns};
  else if (ring->depth == 0 && (joins || (kind == WS_NOTE_PHASE_END && is_phase)))
    end_burst(ring, now_ns);
  if (kind == WS_NOTE_PHASE || kind == WS_NOTE_JOIN)
    note_begin(ring);
}
