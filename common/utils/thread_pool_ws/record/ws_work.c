// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_work.c
/// ws_work.h.
///
/// All rings are walked back twice from the burst's end: for what is known only from the events of others,
/// and then for what each thread did.
#include "ws_work.h"

#include "ws_seen.h"

/// A wake that takes so many usual ones, and that long, has found its CPU taken.
#define TAKEN_WAKES 3u
#define TAKEN_NS 50000u
#define CALLED_NS 50000000u ///< before a burst: a worker called since then that is not up lacks a CPU
#define LEARNS 4u ///< bursts in a pass
#define GROUP_BITS 12u

/// The burst under examination, and what its rings have shown so far.
typedef struct {
  const ws_late_burst_t *burst;
  const ws_usual_t *usual;
  ws_usual_t *learns; ///< NULL = it was late
  uint32_t pool; ///< as small of an event
  ws_work_t work;
  uint64_t last_ns; ///< when a task was begun last: until then there were some
  /// A bit for each group to which its thread pushed, or a task meanwhile. Groups may share one: then tasks
  /// of another burst count as its own.
  uint64_t groups[(1u << GROUP_BITS) / 64];
} look_t;

static ws_thread_work_t threads[WS_RINGS]; ///< by ring
/// Of each worker of the pool, by its index: when it was last called, if not long before the burst; else 0.
static uint64_t called_ns[WS_RINGS];

bool ws_work_is_taken(uint64_t length)
{
  return length > TAKEN_WAKES * ws_hint_load(&ws_rings.wake_ns) + TAKEN_NS;
}

/// A push in the burst, and the event after it: note its group. One of the joining thread also sets first, as
/// the walk comes to earlier ones, and called, if its worker was called later than after the others.
static void add_push(look_t *look, const ws_event_ring_t *ring, const ws_seen_t *it, const ws_seen_t *next)
{
  ws_work_t *work = &look->work;
  const bool is_joiner = ring == look->burst->ring;
  const uint32_t bit = ws_hash(it->address, GROUP_BITS);
  if (it->inside || is_joiner)
    look->groups[bit / 64] |= UINT64_C(1) << bit % 64;
  if (!is_joiner)
    return;
  work->first = it->ns - look->burst->begin;
  if (it->small == 1 && next->kind == WS_NOTE_WAKE && next->ns - it->ns > work->called)
    work->called = next->ns - it->ns;
}

/// @brief The first walk: find groups of the burst, calls of its pool's workers, and the last begin of a
/// task. Of what was before the burst only calls count, and only if it was late.
static void find_pushes(look_t *look, const ws_event_ring_t *ring)
{
  const ws_late_burst_t *burst = look->burst;
  const uint64_t since = look->learns ? burst->begin : ws_above(burst->begin, CALLED_NS);
  uint64_t at = ws_seen_until(ring, burst->end);
  for (ws_seen_t it, next = {0}; ws_seen_back(ring, &at, &it) && it.ns >= since; next = it) {
    uint64_t *const called = &called_ns[it.address % WS_RINGS];
    if (it.kind == WS_NOTE_WAKE && it.address >> 16 == burst->pool && *called < it.ns)
      *called = it.ns;
    if (it.kind == WS_NOTE_PUSH && it.ns >= burst->begin)
      add_push(look, ring, &it, &next);
    if (it.kind == WS_NOTE_RUN && it.small == look->pool && it.ns > look->last_ns)
      look->last_ns = it.ns;
  }
}

/// A thread, walked back. An event has begun what lasted until the one after it.
typedef struct {
  uint32_t number;
  const ws_event_ring_t *ring;
  uint64_t who;
  ws_seen_t next; ///< the event after; at first the burst's end
  uint64_t end; ///< of the task whose begin may come next; 0 = all that comes lies before the burst
  bool is_own, runs; ///< of that: it is of the burst; there is one. One that runs at the end is another's
  uint64_t joined; ///< when the wait for another pool ended whose begin comes next; 0 = none
  uint64_t awake; ///< ns
  bool is_beside; ///< of another pool
} walk_t;

/// Add a task to the work, and learn from it. @param from  its begin, or the burst's
static void add_task(look_t *look, const walk_t *walk, uint64_t func, uint64_t from)
{
  const uint64_t length = walk->end - from, start = from - look->burst->begin;
  ws_work_t *work = &look->work;
  *(walk->is_own ? &work->own : &work->other) += length;
  work->outside += walk->is_own || walk->who != 0 ? 0 : length;
  if (!walk->is_own)
    return;
  work->tasks++;
  if (work->start == 0 || start < work->start)
    work->start = start > 0 ? start : 1;
  if (length > work->longest) {
    work->longest = length;
    work->func = func;
    work->number = walk->number;
  }
  threads[walk->number].over += ws_usual_above(look->usual, func, length);
  if (look->learns)
    ws_usual_learn_task(look->learns, func, length);
}

/// Add the task, and the wait for another pool, that begins at this event, and note the one that ends here.
/// @param from  the event, or the burst's begin
static void see_tasks(look_t *look, walk_t *walk, const ws_seen_t *it, uint64_t from)
{
  const bool is_other = it->inside && it->small != 0 && it->small != look->pool;
  const bool is_edge =
      (it->kind == WS_NOTE_RUN || it->kind == WS_NOTE_RAN) && !it->inside && it->small == look->pool;
  const uint32_t bit = ws_hash(it->address, GROUP_BITS);
  if (is_edge && walk->runs && it->kind == WS_NOTE_RUN)
    add_task(look, walk, it->address, from);
  if (it->kind == WS_NOTE_JOIN) {
    look->work.elsewhere += is_other && walk->joined ? walk->joined - from : 0;
    walk->joined = 0;
  } else if (it->kind == WS_NOTE_JOINED && is_other) {
    walk->joined = it->ns;
  }
  if (is_edge) {
    walk->runs = it->kind == WS_NOTE_RAN;
    walk->is_own = look->groups[bit / 64] >> bit % 64 & 1;
    walk->end = it->ns;
  }
  if (it->ns <= look->burst->begin && (is_edge || !it->inside))
    walk->end = 0;
}

/// @return the time of the last event that is no sleep, from @p it at @p at back: a later call is for this
/// sleep
static uint64_t awake_until(const ws_event_ring_t *ring, uint64_t at, ws_seen_t it)
{
  while (it.kind == WS_NOTE_SLEEP && ws_seen_back(ring, &at, &it))
    ; // a signal, or a stop, ends a sleep, and another one begins
  return it.ns;
}

/// Between the event and the one after it: has the thread lost time because its CPU was taken, or in a wake
/// that took longer than usual? Adds to its taken, or slow.
/// @param at    the place of the event
/// @param from  the event, or the burst's begin
static void see_wakes(const look_t *look, const walk_t *walk, uint64_t at, const ws_seen_t *it, uint64_t from)
{
  const ws_seen_t *next = &walk->next;
  const bool is_last = next->kind == WS_NOTE_NONE, is_worker = walk->who >> 16 == look->burst->pool;
  const bool looks = !it->inside
                     && (it->kind == WS_NOTE_USED || it->kind == WS_NOTE_RAN || it->kind == WS_NOTE_PARK
                         || it->kind == WS_NOTE_UNPARK);
  const uint64_t called = is_worker ? called_ns[walk->who % WS_RINGS] : 0;
  uint64_t late, usual = UINT64_MAX; // no wake: never slow
  if (is_last && it->kind == WS_NOTE_SLEEP && called > awake_until(walk->ring, at, *it)) {
    late = next->ns - called; // at the burst's end it was not up yet
    usual = ws_hint_load(&ws_rings.wake_ns);
  } else if (next->kind == WS_NOTE_UNPARK) {
    // Called: the time since. By its timer, or kept from going to sleep, no call says when the wake began:
    // all the time in the burst since it went to sleep counts, as it may have lost its CPU on the way.
    late = next->small ? next->ns - from : next->address;
    usual = ws_hint_load(&ws_rings.wake_ns);
  } else if (is_worker && looks && (is_last || next->kind == WS_NOTE_RUN)) {
    late = ws_above(is_last ? look->last_ns : next->ns, from); // there were tasks until then
  } else {
    return;
  }
  if (ws_work_is_taken(late))
    threads[walk->number].taken += late;
  else
    threads[walk->number].slow += ws_above(late, usual);
}

/// The second walk, of a ring: from the burst's end back to an event before its begin that is not inside a
/// task. Sets threads[number], and adds to look->work.
static void look_at(look_t *look, uint32_t number)
{
  const ws_late_burst_t *burst = look->burst;
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t who = ws_stat_load(&ring->who);
  walk_t walk = {.number = number,
                 .ring = ring,
                 .who = who,
                 .next.ns = burst->end,
                 .end = burst->end,
                 .runs = true,
                 .is_beside = who != 0 && who >> 16 != burst->pool};
  uint64_t at = ws_seen_until(ring, burst->end);
  for (ws_seen_t it; walk.end != 0 && ws_seen_back(ring, &at, &it); walk.next = it) {
    const uint64_t from = it.ns > burst->begin ? it.ns : burst->begin;
    threads[number].takes_part |= it.ns >= burst->begin;
    if (walk.next.ns > burst->begin) {
      see_wakes(look, &walk, at, &it, from);
      const bool has_pool = it.kind == WS_NOTE_RUN || it.kind == WS_NOTE_JOIN;
      walk.is_beside |= has_pool && who == 0 && it.small != look->pool && !it.inside;
      walk.awake += ws_seen_sleeps(ring, &it) ? 0 : walk.next.ns - from;
    }
    see_tasks(look, &walk, &it, from);
  }
  const bool is_there = ws_hint_load(&ws_rings.taken[number]); // else the thread has ended
  look->work.awake += threads[number].taken + (is_there ? walk.awake : 0);
  look->work.beside += is_there && walk.is_beside && ring != burst->ring ? walk.awake : 0;
}

ws_work_t ws_work_of(const ws_late_burst_t *burst, const ws_usual_t *usual, ws_usual_t *learns)
{
  look_t look = {.burst = burst,
                 .usual = usual,
                 .learns = learns,
                 .pool = burst->pool & WS_EVENT_SMALL_MAX,
                 .work.of = threads,
                 .last_ns = burst->begin};
  const uint32_t count = ws_hint_load(&ws_rings.count);
  memset(called_ns, 0, sizeof(called_ns));
  memset(threads, 0, sizeof(threads));
  for (uint32_t i = 0; i < count; i++)
    find_pushes(&look, ws_ring(i));
  for (uint32_t i = 0; i < count; i++)
    look_at(&look, i);
  return look.work;
}

/// Learn what is usual from a burst that was on time: its kind's values, and lengths of its tasks.
static void learn(const ws_late_burst_t *burst)
{
  ws_usual_t *usual = ws_usual_place(burst);
  const ws_work_t work = ws_work_of(burst, usual, usual);
  ws_usual_learn(usual, &(ws_usual_t){.length = burst->end - burst->begin,
                                      .tasks = burst->pushed * 1024,
                                      .task = work.tasks > 0 ? work.own / work.tasks : 0,
                                      .first = work.first,
                                      .called = work.called});
}

void ws_work_learn(void)
{
  static uint64_t seen[WS_RINGS]; // ends
  static uint32_t at;
  const uint32_t count = ws_hint_load(&ws_rings.count);
  for (uint32_t i = 0, learnt = 0; i < count && learnt < LEARNS; i++, at++) {
    const uint32_t number = at % count;
    const ws_event_ring_t *ring = ws_ring(number);
    const ws_late_burst_t burst = {.ring = ring,
                                   .begin = ws_stat_load(&ring->on_time.begin),
                                   .end = ws_stat_load(&ring->on_time.end),
                                   .pool = ws_stat_load(&ring->on_time.pool),
                                   .key = ws_stat_load(&ring->on_time.key),
                                   .pushed = ws_stat_load(&ring->on_time.pushed)};
    if (burst.end == seen[number] || burst.end <= burst.begin) // or the next one is being written
      continue;
    seen[number] = burst.end;
    learn(&burst);
    learnt++;
  }
}
