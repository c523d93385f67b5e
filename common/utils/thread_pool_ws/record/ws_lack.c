// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lack.c
/// ws_lack.h.
#include "ws_lack.h"

#include <stdio.h>
#include <stdlib.h>

#include "ws_seen.h"
#include "ws_usual.h"

/// A wake that takes so many usual ones, and that long, has found its CPU taken.
#define TAKEN_WAKES 3u
#define TAKEN_NS 50000u
#define CLOCKS_NS 20000 ///< a pair of clocks that took longer to read is read again, so often
#define CLOCKS_TRIES 4u
#define CALLED_NS 50000000u ///< before a burst: who was called then, and is not up, lacks a CPU
#define NOTES 10u
#define NEWEST 3u ///< besides the last one, all that there were; then each second, each fourth, and so on
#define AWAKE_NS 2000 ///< a sleep that was so short was none: it had been called meanwhile
#define LEARNS 4u ///< threads of which a calm pass learns

/// ns 0 = it is none.
typedef struct {
  uint64_t ns, idle_ns; ///< when, and how long the thread has not used a CPU, since some time
  uint64_t delay_ns, turns; ///< runnable without a CPU; how often it has got one, 0 = that is not known
} note_t;

/// Of each ring.
static struct {
  uint64_t tid, head; ///< at the last note
  uint64_t notes; ///< so far
  note_t note[NOTES]; ///< the newest first
  uint64_t cpu_ns, delay_ns; ///< that a sleep takes: of a CPU to begin and to end it; until it has one
  int64_t calm_ns; ///< what it lacks between two notes while no burst is late: a mean
  uint64_t called_ns; ///< a worker of the burst's pool: when it was last called, if not long before; else 0
  ws_lack_t lack; ///< what has no cause yet
  uint64_t wakes_ns;
} of[WS_RINGS];

bool ws_lack_is_taken(uint64_t length)
{
  return length > TAKEN_WAKES * ws_hint_load(&ws_rings.wake_ns) + TAKEN_NS;
}

static note_t read_note(int32_t tid)
{
  char path[64], text[96], *end = text;
  note_t note = {0};
  for (uint32_t i = 0; i < CLOCKS_TRIES && note.ns == 0; i++) {
    const uint64_t ns = ws_clock_ns(), cpu_ns = ws_os_thread_cpu_ns(tid), now_ns = ws_os_now_ns();
    if (cpu_ns != 0 && ws_clock_ns() - ns < CLOCKS_NS)
      note = (note_t){.ns = ns, .idle_ns = now_ns - cpu_ns};
  }
  snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
  if (note.ns == 0 || !ws_os_read(path, text, sizeof(text)))
    return note;
  strtoull(text, &end, 10); // CPU time, late by a tick
  note.delay_ns = strtoull(end, &end, 10);
  note.turns = strtoull(end, &end, 10);
  return note;
}

/// What a thread did between two notes.
typedef struct {
  int64_t idle_ns; ///< without a CPU, but for its sleeps
  int64_t delay_ns; ///< runnable without a CPU, but for wakes by a call
  int64_t sleeps, turns; ///< of the pool, and on a CPU; the same where turns are not known
  uint64_t longer_ns; ///< of tasks outside the burst that is looked at: above their usual length
} stretch_t;

/// @param burst  NULL = none
/// @return false: events were overwritten
static bool look_between(const ws_event_ring_t *ring, const note_t *then, const note_t *now,
                         const ws_late_burst_t *burst, stretch_t *found)
{
  uint64_t at = ws_seen_until(ring, now->ns), ran_ns = 0;
  stretch_t sum = {.idle_ns = (int64_t)(now->idle_ns - then->idle_ns),
                   .delay_ns = (int64_t)(now->delay_ns - then->delay_ns)};
  bool in_phase = false;
  ws_seen_t it, next = {.ns = now->ns};
  for (; next.ns > then->ns && ws_seen_back(ring, &at, &it); next = it) {
    const uint64_t length = next.ns - (it.ns > then->ns ? it.ns : then->ns);
    const bool sleeps = ws_seen_sleeps(ring, &it) && !(it.kind == WS_NOTE_JOINED && in_phase);
    sum.idle_ns -= sleeps ? (int64_t)length : 0;
    sum.delay_ns -= next.kind == WS_NOTE_UNPARK ? (int64_t)next.address : 0;
    sum.sleeps += sleeps && it.kind != WS_NOTE_PARK && next.kind != 0 && next.ns - it.ns > AWAKE_NS;
    in_phase = it.kind == WS_NOTE_PHASE_END || (in_phase && it.kind != WS_NOTE_PHASE);
    if (it.kind == WS_NOTE_RAN && !it.inside)
      ran_ns = burst && it.ns >= burst->begin && it.ns <= burst->end ? 0 : it.ns;
    if (it.kind == WS_NOTE_RUN && !it.inside && ran_ns > it.ns && burst)
      sum.longer_ns += ws_usual_above(NULL, it.address, ran_ns - it.ns);
  }
  sum.turns = then->turns ? (int64_t)(now->turns - then->turns) : sum.sleeps;
  *found = sum;
  return next.ns <= then->ns || at == 0;
}

static void learn(uint32_t number)
{
  const note_t *now = &of[number].note[0], *then = &of[number].note[1];
  stretch_t it;
  if (!look_between(ws_ring(number), then, now, NULL, &it) || it.turns == 0)
    return;
  const int64_t cpu_ns = -it.idle_ns / it.turns, delay_ns = it.delay_ns / it.turns;
  of[number].cpu_ns = ws_follow(of[number].cpu_ns, cpu_ns > 0 ? (uint64_t)cpu_ns : 1, 64, 64);
  of[number].delay_ns = ws_follow(of[number].delay_ns, delay_ns > 0 ? (uint64_t)delay_ns : 1, 64, 64);
  const int64_t lack_ns = it.idle_ns + it.turns * (int64_t)of[number].cpu_ns;
  of[number].calm_ns += ((lack_ns > 0 ? lack_ns : 0) - of[number].calm_ns) / 64;
}

void ws_lack_note(bool calm)
{
  static uint32_t first; // of those of which the next pass learns
  const uint32_t count = ws_hint_load(&ws_rings.count);
  for (uint32_t i = 0; i < count; i++) {
    const ws_event_ring_t *ring = ws_ring(i);
    const uint64_t tid = ws_load_acquire(&ring->tid); // [edge RING acquire] what begins it
    const uint64_t head = ws_stat_load(&ring->head);
    if (tid != of[i].tid)
      memset(&of[i], 0, sizeof(of[i]));
    else if (head == of[i].head) // also of a thread that has ended
      continue;
    const note_t now = read_note((int32_t)tid);
    of[i].tid = tid;
    of[i].head = head;
    if (now.ns == 0)
      continue;
    const uint32_t older = NEWEST + (uint32_t)__builtin_ctzll(++of[i].notes);
    memmove(&of[i].note[1], &of[i].note[0], (older < NOTES ? older : NOTES - 1) * sizeof(note_t));
    for (uint32_t k = of[i].notes > 1 ? 1 : NOTES; k-- > 0;)
      of[i].note[k] = now;
    if (calm && (i - first) % count < LEARNS)
      learn(i);
  }
  first += LEARNS;
}

/// Set called_ns.
static void look_at_calls(const ws_late_burst_t *burst)
{
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
    }
  }
}

/// @return what it lacked between the notes around the burst
static ws_lack_t lack_of(uint32_t number, const ws_late_burst_t *burst)
{
  const ws_lack_t none = {0, WS_CAUSES};
  const ws_event_ring_t *ring = ws_ring(number);
  const note_t *note = of[number].note;
  uint32_t then = 0;
  stretch_t it;
  while (then < NOTES && note[then].ns > burst->begin)
    then++;
  if (then == 0 || then == NOTES || ws_stat_load(&ring->tid) != of[number].tid)
    return none;
  uint32_t now = then - 1;
  while (now > 0 && note[now].ns < burst->end)
    now--;
  if (!look_between(ring, &note[then], &note[now], burst, &it))
    return none;
  const int64_t idle_ns = it.idle_ns + it.turns * (int64_t)of[number].cpu_ns,
                delay_ns = it.delay_ns - it.turns * (int64_t)of[number].delay_ns;
  // One that computes between its bursts is not idle then, though it may have been preempted.
  const bool is_more = it.turns > it.sleeps && delay_ns > idle_ns;
  const int64_t most_ns = (is_more ? delay_ns : idle_ns) - (int64_t)it.longer_ns;
  if (most_ns < CLOCKS_NS) // as exactly as the clocks are read
    return none;
  ws_cause_t cause = WS_CAUSE_ASLEEP;
  if (note[then].turns == 0)
    cause = WS_CAUSE_NO_CPU_OR_ASLEEP;
  else if (2 * delay_ns >= idle_ns || burst->was_stopped || 16 * it.delay_ns >= 15 * idle_ns)
    cause = WS_CAUSE_NO_CPU; // the last: on a loaded machine the delay that is learnt explains all
  else if (it.turns <= it.sleeps) // a host took its CPU; but one that computes outside may have slept
    cause = it.turns == it.sleeps || ws_stat_load(&ring->who) ? WS_CAUSE_NO_CPU : WS_CAUSE_NO_CPU_OR_ASLEEP;
  if (cause == WS_CAUSE_ASLEEP && most_ns < 2 * of[number].calm_ns)
    cause = WS_CAUSE_NO_CPU_OR_ASLEEP; // it may be a host's, and the sleep a preemption
  return (ws_lack_t){(uint64_t)most_ns, cause};
}

/// @return how long it has not risen, though called, because its CPU was taken
static uint64_t wakes_of(uint32_t number, const ws_late_burst_t *burst, bool *is_in)
{
  const uint64_t called_ns = of[number].called_ns;
  uint64_t at = ws_seen_until(ws_ring(number), burst->end), sum = 0;
  ws_seen_t it = {0};
  const bool any = ws_seen_back(ws_ring(number), &at, &it);
  *is_in = any && it.ns >= burst->begin;
  if ((it.kind == WS_NOTE_PARK || it.kind == WS_NOTE_SLEEP) && called_ns > it.ns
      && ws_lack_is_taken(burst->end - called_ns))
    sum = burst->end - called_ns; // and was not up yet
  for (bool more = any; more && it.ns > burst->begin; more = ws_seen_back(ws_ring(number), &at, &it))
    sum += it.kind == WS_NOTE_UNPARK && ws_lack_is_taken(it.address) ? it.address : 0;
  return sum;
}

void ws_lack_look(const ws_late_burst_t *burst)
{
  look_at_calls(burst);
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    bool is_in;
    of[i].wakes_ns = wakes_of(i, burst, &is_in);
    is_in |= ws_stat_load(&ws_ring(i)->who) >> 16 == burst->pool;
    of[i].lack = is_in ? lack_of(i, burst) : (ws_lack_t){0, WS_CAUSES};
  }
}

uint64_t ws_lack_wakes(uint32_t number)
{
  return of[number].wakes_ns;
}

ws_lack_t ws_lack_take(uint32_t number, uint64_t most)
{
  ws_lack_t *lack = &of[number].lack, part = *lack;
  part.ns = part.ns < most ? part.ns : most;
  lack->ns -= part.ns;
  return part;
}
