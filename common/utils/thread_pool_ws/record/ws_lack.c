// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lack.c
/// ws_lack.h.
#include "ws_lack.h"

#include "ws_seen.h"
#include "ws_usual.h"

/// A wake that takes so many usual ones, and that long, has found its CPU taken.
#define TAKEN_WAKES 3u
#define TAKEN_NS 50000u
#define LEAST_NS 20000 ///< that a thread lacks: its clocks are read one after the other
#define CALLED_NS 50000000u ///< before a burst: who was called then, and is not up, lacks a CPU
#define AWAKE_NS 2000u ///< a sleep that was so short was none: the thread had been called meanwhile
#define ASLEEP_NS 10000u ///< one that was so long was one
#define LEARNS 4u ///< threads, in a pass
#define CPU_NS_MAX (UINT64_MAX >> 16) ///< of a note: then it begins at 0

/// Of each ring.
static struct {
  uint64_t tid, cpu_ns; ///< its owner, and the CPU time that a sleep takes it
  uint64_t called_ns; ///< a worker of the burst's pool: when it was last called, if not long before; else 0
  ws_lack_t lack; ///< what has no cause yet
  uint64_t wakes_ns, slow_ns; ///< in the burst: what it rose late, or took no task, without a CPU; or else
} of[WS_RINGS];

bool ws_lack_is_taken(uint64_t length)
{
  return length > TAKEN_WAKES * ws_hint_load(&ws_rings.wake_ns) + TAKEN_NS;
}

/// What a thread did between notes.
typedef struct {
  int64_t idle_ns; ///< without a CPU, but for its sleeps
  int64_t slept; ///< times, as the kernel counts
  int64_t sleeps, long_sleeps; ///< of the pool: that were probably some, and certainly
  int64_t longer_ns; ///< of tasks outside the burst that is looked at: above their usual length
} stretch_t;

/// @brief Read from the note @p last, which is at *at, back to the one before, which becomes *last. What a
/// thread outside did is known only if it has noted the end of a burst or phase, which began at the note
/// before.
/// @param burst  NULL = none
/// @return whether there is one
static bool add_stretch(const ws_event_ring_t *ring, uint64_t *at, ws_seen_t *last,
                        const ws_late_burst_t *burst, stretch_t *sum)
{
  const uint64_t from = *at;
  const ws_seen_t end = *last;
  ws_seen_t it = {0}, next = end;
  stretch_t own = {0};
  uint64_t asleep_ns = 0, ran_ns = 0;
  bool is_known = ws_stat_load(&ring->who) != 0;
  for (; ws_seen_back(ring, at, &it) && it.kind != WS_NOTE_USED; next = it) {
    const uint64_t length = it.kind == WS_NOTE_SLEEP ? next.ns - it.ns : 0;
    asleep_ns += length;
    own.sleeps += it.kind == WS_NOTE_SLEEP && length > AWAKE_NS;
    own.long_sleeps += it.kind == WS_NOTE_SLEEP && length > ASLEEP_NS;
    is_known |= *at + 1 == from && (it.kind == WS_NOTE_JOINED || it.kind == WS_NOTE_PHASE_END);
    if (it.kind == WS_NOTE_RAN && !it.inside)
      ran_ns = burst && it.ns >= burst->begin && it.ns <= burst->end ? 0 : it.ns;
    if (it.kind == WS_NOTE_RUN && !it.inside && ran_ns > it.ns && burst)
      own.longer_ns += (int64_t)ws_usual_above(NULL, it.address, ran_ns - it.ns);
  }
  if (it.kind != WS_NOTE_USED)
    return false;
  *last = it;
  if (!is_known)
    return true;
  sum->idle_ns += (int64_t)(end.ns - it.ns - asleep_ns - ((end.address - it.address) & CPU_NS_MAX));
  sum->slept += (end.small - it.small) & WS_EVENT_SMALL_MAX;
  sum->sleeps += own.sleeps;
  sum->long_sleeps += own.long_sleeps;
  sum->longer_ns += own.longer_ns;
  return true;
}

/// @return whether there is a note before *at, which becomes its place
static bool find_note(const ws_event_ring_t *ring, uint64_t *at, ws_seen_t *note)
{
  while (ws_seen_back(ring, at, note))
    if (note->kind == WS_NOTE_USED)
      return true;
  return false;
}

static void learn(uint32_t number)
{
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t tid = ws_stat_load(&ring->tid);
  uint64_t at = ws_stat_load(&ring->head);
  stretch_t it = {0};
  ws_seen_t last;
  if (of[number].tid != tid)
    of[number].cpu_ns = 0;
  of[number].tid = tid;
  if (!find_note(ring, &at, &last) || !add_stretch(ring, &at, &last, NULL, &it) || it.sleeps == 0)
    return;
  const int64_t cpu_ns = -it.idle_ns / it.sleeps;
  of[number].cpu_ns = ws_follow(of[number].cpu_ns, cpu_ns > 0 ? (uint64_t)cpu_ns : 1, 64, 64);
}

void ws_lack_learn(void)
{
  static uint32_t at;
  const uint32_t count = ws_hint_load(&ws_rings.count);
  for (uint32_t i = 0; i < count && i < LEARNS; i++)
    learn(at++ % count);
}

/// @brief Set called_ns. @return when a task was begun last: until then there were some
static uint64_t look_at_calls(const ws_late_burst_t *burst)
{
  uint64_t last_ns = burst->begin;
  static uint16_t ring_of[WS_RINGS]; // + 1, of a worker
  const uint32_t count = ws_hint_load(&ws_rings.count);
  memset(ring_of, 0, sizeof(ring_of));
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t who = ws_stat_load(&ws_ring(i)->who);
    of[i].called_ns = 0;
    if (who >> 16 == burst->pool)
      ring_of[who % WS_RINGS] = (uint16_t)(i + 1);
  }
  for (uint32_t i = 0; i < count; i++) {
    uint64_t at = ws_seen_until(ws_ring(i), burst->end);
    for (ws_seen_t it; ws_seen_back(ws_ring(i), &at, &it) && it.ns + CALLED_NS > burst->begin;) {
      const bool calls = it.kind == WS_NOTE_WAKE && it.address >> 16 == burst->pool;
      const uint32_t of_worker = calls ? ring_of[it.address % WS_RINGS] : 0;
      if (of_worker && of[of_worker - 1].called_ns < it.ns)
        of[of_worker - 1].called_ns = it.ns;
      const bool is_run = it.kind == WS_NOTE_RUN && it.small == (burst->pool & WS_EVENT_SMALL_MAX);
      last_ns = is_run && it.ns > last_ns ? it.ns : last_ns;
    }
  }
  return last_ns;
}

/// @return what it lacked between the notes around the burst
static ws_lack_t lack_of(uint32_t number, const ws_late_burst_t *burst)
{
  const ws_lack_t none = {0, WS_CAUSES};
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t until = ws_seen_until(ring, burst->end), head = ws_stat_load(&ring->head);
  uint64_t at = until;
  ws_seen_t last;
  stretch_t it = {0};
  // The burst's thread has its last note before the end, another thread the first one after it, or none yet.
  while (ring != burst->ring && at < head && ws_seen_at(ring, at).kind != WS_NOTE_USED)
    at++;
  at = at < head ? at + 1 : until;
  if (!find_note(ring, &at, &last))
    return none;
  while (last.ns > burst->begin && add_stretch(ring, &at, &last, burst, &it))
    ;
  const int64_t cpu_ns = ws_stat_load(&ring->tid) == of[number].tid ? (int64_t)of[number].cpu_ns : 0,
                most_ns = it.idle_ns + it.sleeps * cpu_ns - it.longer_ns;
  if (most_ns < LEAST_NS)
    return none;
  ws_cause_t cause = WS_CAUSE_NO_CPU;
  if (!burst->was_stopped && it.slept > it.long_sleeps)
    cause = it.slept > it.sleeps ? WS_CAUSE_ASLEEP : WS_CAUSE_NO_CPU_OR_ASLEEP;
  return (ws_lack_t){(uint64_t)most_ns, cause};
}

/// @brief Add how late a worker took a task, or rose. @param usual_ns  that this takes
static void add_wake(uint32_t number, uint64_t late_ns, uint64_t usual_ns)
{
  if (ws_lack_is_taken(late_ns))
    of[number].wakes_ns += late_ns;
  else
    of[number].slow_ns += ws_above(late_ns, usual_ns);
}

/// A worker did not take tasks at once, after an event that says it is awake.
/// @param until_ns  there were some until then
static void add_search(uint32_t number, const ws_late_burst_t *burst, const ws_seen_t *it, uint64_t until_ns)
{
  const bool looks = it->kind == WS_NOTE_USED || it->kind == WS_NOTE_RAN || it->kind == WS_NOTE_PARK
                     || it->kind == WS_NOTE_UNPARK;
  const uint64_t length = ws_above(until_ns, it->ns > burst->begin ? it->ns : burst->begin);
  if (looks && !it->inside && ws_lack_is_taken(length))
    of[number].wakes_ns += length;
}

/// @brief Find how late a thread rose, or a worker took tasks. @param last_ns  until then there were some
/// @return whether the thread has events in the burst
static bool look_at_wakes(uint32_t number, const ws_late_burst_t *burst, uint64_t last_ns)
{
  const ws_event_ring_t *ring = ws_ring(number);
  const bool is_worker = ws_stat_load(&ring->who) >> 16 == burst->pool;
  const uint64_t called_ns = of[number].called_ns, wake_ns = ws_hint_load(&ws_rings.wake_ns);
  uint64_t at = ws_seen_until(ring, burst->end);
  ws_seen_t it, next = {0};
  of[number].wakes_ns = of[number].slow_ns = 0;
  if (!ws_seen_back(ring, &at, &next))
    return false;
  const bool is_in = next.ns >= burst->begin, sleeps = next.kind == WS_NOTE_SLEEP;
  it = next;
  for (uint64_t before = at; it.kind == WS_NOTE_SLEEP && ws_seen_back(ring, &before, &it);)
    ; // a signal, or a stop, ends a sleep, and another one begins
  if (sleeps && called_ns > it.ns)
    add_wake(number, burst->end - called_ns, UINT64_MAX); // it was not up yet
  else if (is_worker)
    add_search(number, burst, &next, last_ns);
  for (; next.ns > burst->begin && ws_seen_back(ring, &at, &it); next = it) {
    const uint64_t since_ns = it.ns > burst->begin ? it.ns : burst->begin;
    // By its timer, or kept from going to sleep: it may have lost its CPU on the way.
    if (next.kind == WS_NOTE_UNPARK)
      add_wake(number, next.small ? next.ns - since_ns : next.address, wake_ns);
    else if (next.kind == WS_NOTE_RUN && is_worker)
      add_search(number, burst, &it, next.ns);
  }
  return is_in;
}

void ws_lack_look(const ws_late_burst_t *burst)
{
  const uint64_t last_ns = look_at_calls(burst);
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    const bool is_in =
        look_at_wakes(i, burst, last_ns) || ws_stat_load(&ws_ring(i)->who) >> 16 == burst->pool;
    of[i].lack = is_in ? lack_of(i, burst) : (ws_lack_t){0, WS_CAUSES};
  }
}

uint64_t ws_lack_wakes(uint32_t number)
{
  return of[number].wakes_ns;
}

uint64_t ws_lack_slow(uint32_t number)
{
  return of[number].slow_ns;
}

ws_lack_t ws_lack_take(uint32_t number, uint64_t most)
{
  ws_lack_t *lack = &of[number].lack, part = *lack;
  part.ns = part.ns < most ? part.ns : most;
  lack->ns -= part.ns;
  return part;
}
