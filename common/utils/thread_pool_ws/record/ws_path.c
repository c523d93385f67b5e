// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_path.c
/// ws_path.h.
///
/// From the end backwards: a wait ended because a task ended; a task began because its thread had nothing to
/// do before, or because it had just been pushed; a worker ran because a thread had called it; a push came
/// when its thread came to it. A step that is longer than usual gets a cause. If that does not explain all of
/// the lateness, workers beside the path that had no CPU do, as far as they had none. The walk ends where a
/// ring was overwritten, or a thread has none.
#include "ws_path.h"

#define STEPS 1024u ///< of a walk: a longer one is of very many tasks
#define MARGIN 512u ///< oldest events that are left out: their thread may go on meanwhile
/// A wake that takes so many usual ones, and that long, has found its CPU taken.
#define TAKEN_WAKES 3u
#define TAKEN_NS 50000u
#define CLOCKS_NS 1000u ///< in which a thread reads two clocks

/// An event as it was read.
typedef struct {
  uint64_t ns, address;
  uint32_t kind, small;
  bool inside;
} seen_t;

/// A walk back.
typedef struct {
  const ws_event_ring_t *ring;
  uint64_t at; ///< of the event `to` there
  seen_t to;
  uint64_t task, serial; ///< ns: of the task that it is in; of threads outside tasks and waits
  uint64_t skips; ///< not 0: until the begin of the wait for this group, of another pool, which ended at `to`
} path_t;

static uint64_t above(uint64_t value, uint64_t usual)
{
  return value > usual ? value - usual : 0;
}

/// @brief Read the event before @p at, which becomes its place.
static bool step_back(const ws_event_ring_t *ring, uint64_t *at, seen_t *it)
{
  const uint64_t head = ws_load_acquire(&ring->head); // [edge RING acquire] the events below
  if (*at == 0 || head - *at >= WS_RING_EVENTS - MARGIN)
    return false;
  const ws_ring_event_t *event = &ring->event[--*at % WS_RING_EVENTS];
  const uint64_t what = ws_stat_load(&event->what);
  *it = (seen_t){ws_stat_load(&event->ns), ws_event_address(what), ws_event_kind(what), ws_event_small(what),
                 ws_event_in_task(what)};
  return true;
}

/// @brief Go to the last event of that kind of another thread, after @p from and until path->to.
/// @param address  that it has; 0 = any
static bool go_to_last(path_t *path, ws_note_t kind, uint64_t address, uint64_t from)
{
  const path_t old = *path;
  for (uint32_t i = 0; i < ws_ring_count(); i++) {
    const ws_event_ring_t *ring = &ws_rings.file->ring[i];
    uint64_t at = ws_stat_load(&ring->head);
    for (seen_t it; ring != old.ring && step_back(ring, &at, &it) && it.ns > from;)
      if (it.kind == kind && (it.address == address || address == 0) && it.ns <= old.to.ns) {
        *path = (path_t){.ring = ring, .at = at, .to = it, .serial = old.serial};
        from = it.ns;
      }
  }
  return path->ring != old.ring;
}

/// @return whether a thread that was called, or told that its wait is over, has found its CPU taken
static bool is_taken(uint64_t length)
{
  return length > TAKEN_WAKES * ws_hint_load(&ws_rings.wake_ns) + TAKEN_NS;
}

/// @return ns since then, or some time before, in which the ring's thread wanted a CPU, or was called, and
/// had none. A worker notes its time without one before it sleeps, a thread outside early in a burst.
static uint64_t deprived(const ws_event_ring_t *ring, uint64_t since)
{
  const uint64_t idle_ns = ws_ring_idle_ns(ring), who = ws_stat_load(&ring->who);
  path_t path = {.ring = ring, .at = ws_stat_load(&ring->head), .to.ns = ws_clock_ns()};
  uint64_t at = path.at, asleep = 0;
  seen_t it, next = path.to;
  for (; step_back(ring, &at, &it); next = it) {
    const bool waits = next.kind == WS_NOTE_JOINED && (it.kind == WS_NOTE_JOIN || it.kind == WS_NOTE_RAN);
    if (it.kind == WS_NOTE_IDLE && it.ns <= since) // both clocks were not read at one moment
      return above(above(ws_event_address(idle_ns << 16) + CLOCKS_NS, it.address), asleep + CLOCKS_NS);
    if (it.kind == WS_NOTE_PARK && next.kind == 0 && go_to_last(&path, WS_NOTE_WAKE, who, it.ns)) // still
      next = (seen_t){.ns = next.ns, .address = next.ns - path.to.ns, .kind = WS_NOTE_UNPARK};
    asleep += it.kind == WS_NOTE_PARK || waits ? next.ns - it.ns : 0;
    asleep -= next.kind == WS_NOTE_UNPARK && is_taken(next.address) ? next.address : 0;
  }
  return 0;
}

static void add(ws_late_burst_t *burst, ws_cause_t cause, uint64_t ns)
{
  burst->part[cause] += ns;
  burst->sum += ns;
}

/// @brief Until path->to the thread slept, looked for a task, or waited, from @p since on. If an event of
/// another thread ended that, the path goes on there, and the wake is blamed. @return whether
static bool jump(ws_late_burst_t *burst, path_t *path, uint64_t since)
{
  const seen_t to = path->to;
  const bool wakes = to.kind == WS_NOTE_UNPARK, joins = to.kind == WS_NOTE_JOINED;
  const uint64_t who = ws_stat_load(&path->ring->who);
  const bool was_told = (joins && go_to_last(path, WS_NOTE_RAN, to.address, since))
                        || (wakes && go_to_last(path, WS_NOTE_WAKE, who, since));
  const uint64_t took = to.ns - path->to.ns;
  if (was_told)
    add(burst, is_taken(took) ? WS_CAUSE_NO_CPU : WS_CAUSE_WAKE,
        above(took, ws_hint_load(&ws_rings.wake_ns)));
  return was_told || (!joins && go_to_last(path, WS_NOTE_PUSH, 0, since));
}

/// @brief Go from path->to to the event before.
static void step(ws_late_burst_t *burst, path_t *path, seen_t it)
{
  const uint64_t since = it.ns > burst->begin ? it.ns : burst->begin, length = path->to.ns - since;
  const bool waits = it.kind == WS_NOTE_JOIN || it.kind == WS_NOTE_RAN || it.kind == WS_NOTE_UNPARK;
  const uint64_t task = path->task + length, usual = burst->task_p99;
  const uint32_t to = path->to.kind;
  if (path->skips) { // what it does in that wait, of that pool
    add(burst, WS_CAUSE_OTHER_POOL, length);
    if (it.kind == WS_NOTE_JOIN && it.address == path->skips)
      path->skips = 0;
  } else if (to == WS_NOTE_UNPARK
             || (waits && (to == WS_NOTE_JOINED || to == WS_NOTE_RUN || to == WS_NOTE_PARK))) {
    if (jump(burst, path, since))
      return;
  } else if (it.kind == WS_NOTE_RUN) {
    const uint64_t over = usual > 0 ? above(task, usual) : 0,
                   without = over > 0 ? deprived(path->ring, since) : 0;
    add(burst, WS_CAUSE_NO_CPU, without < over ? without : over);
    add(burst, WS_CAUSE_LONG_TASK, above(over, without));
    path->task = 0;
  } else {
    *(it.inside ? &path->task : &path->serial) += length;
  }
  const bool is_other = it.small != 0 && it.small != (burst->pool & WS_EVENT_SMALL_MAX);
  if (it.kind == WS_NOTE_JOINED && is_other && !path->skips)
    path->skips = it.address;
  path->to = it;
}

void ws_path_blame(ws_late_burst_t *burst)
{
  const uint64_t usual = burst->usual, length = burst->end - burst->begin;
  path_t path = {.ring = burst->ring, .at = ws_own_load(&burst->ring->head), .to.ns = burst->end};
  seen_t it;
  for (uint32_t i = 0; i < STEPS && path.to.ns > burst->begin && step_back(path.ring, &path.at, &it); i++)
    if (it.kind != WS_NOTE_IDLE && it.kind < WS_NOTE_PHASE) // a step of a thread
      step(burst, &path, it);
  const uint64_t rest = above(length, usual + burst->sum);
  uint64_t without = 0;
  for (uint32_t i = 0; i < ws_ring_count(); i++) {
    const ws_event_ring_t *ring = &ws_rings.file->ring[i];
    if (ring == burst->ring || ws_stat_load(&ring->who) >> 16 == burst->pool)
      without += deprived(ring, ring == burst->ring ? burst->end : burst->begin);
  }
  without = without < rest ? without : rest;
  add(burst, WS_CAUSE_NO_CPU, without);
  add(burst, WS_CAUSE_TOO_FEW, above(usual, burst->limit)); // bursts of this kind always take so long
  const bool is_serial = path.serial > length / 2;
  add(burst, is_serial ? WS_CAUSE_SERIAL : WS_CAUSE_UNKNOWN, rest - without + 1); // a cause in any case
}
