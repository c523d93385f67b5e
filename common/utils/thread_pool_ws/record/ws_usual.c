// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_usual.c
/// ws_usual.h.
#include "ws_usual.h"

#include "ws_seen.h"

#define KINDS 256u
#define LEARNS 4u ///< bursts in a pass
#define GROUP_BITS 4096u

static ws_usual_t kinds[KINDS];
static struct {
  uint64_t func, p99; ///< of the lengths of its tasks
} tasks[KINDS];
static uint64_t over[WS_RINGS]; ///< ws_work_t

static uint32_t place_in(uint64_t key)
{
  return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

uint64_t ws_usual_above(const ws_usual_t *usual, uint64_t func, uint64_t length)
{
  const uint32_t i = place_in(func);
  const uint64_t p99 = tasks[i].func == func ? tasks[i].p99 : usual ? usual->task_p99 : 0;
  return p99 ? ws_above(length, p99) : 0;
}

static void learn_task(ws_usual_t *usual, uint64_t func, uint64_t length)
{
  const uint32_t i = place_in(func);
  tasks[i].p99 = ws_follow(tasks[i].func == func ? tasks[i].p99 : 0, length, 99, 1);
  tasks[i].func = func;
  usual->task_p99 = ws_follow(usual->task_p99, length, 99, 1);
}

/// The place of its kind. Its key has a size, which does not count here (ws_burst.c).
static ws_usual_t *place_of(const ws_late_burst_t *burst, uint64_t *key)
{
  const uint64_t func = burst->key >> 16;
  *key = (func ? func : burst->key) + (burst->pool << 48);
  return &kinds[place_in(*key)];
}

ws_usual_t ws_usual_of(const ws_late_burst_t *burst)
{
  uint64_t key;
  const ws_usual_t *usual = place_of(burst, &key);
  return usual->key == key ? *usual : (ws_usual_t){0};
}

static uint32_t bit_of(uint64_t group)
{
  return (uint32_t)(group * UINT64_C(0x9E3779B97F4A7C15) >> 52);
}

/// Groups to which the burst's thread pushed, or a task: set some bits for them.
static void find_groups(const ws_late_burst_t *burst, uint64_t bits[GROUP_BITS / 64])
{
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    const ws_event_ring_t *ring = ws_ring(i);
    uint64_t at = ws_seen_until(ring, burst->end);
    for (ws_seen_t it; ws_seen_back(ring, &at, &it) && it.ns >= burst->begin;)
      if (it.kind == WS_NOTE_PUSH && (it.inside || ring == burst->ring))
        bits[bit_of(it.address) / 64] |= UINT64_C(1) << bit_of(it.address) % 64;
  }
}

/// Add the tasks that a thread ran in the burst.
static void add_tasks(const ws_late_burst_t *burst, uint32_t number, const uint64_t *bits, ws_work_t *work,
                      ws_usual_t *usual, bool learns)
{
  const ws_event_ring_t *ring = ws_ring(number);
  const bool is_worker = ws_stat_load(&ring->who) != 0;
  uint64_t joined = 0, at = ws_seen_until(ring, burst->end),
           end = burst->end; // of the task that may lie before
  bool is_own = false, runs = true; // one that still runs is another's
  for (ws_seen_t it; end != 0 && ws_seen_back(ring, &at, &it);) {
    const uint64_t from = it.ns > burst->begin ? it.ns : burst->begin;
    const bool is_other = it.inside && it.small != 0 && it.small != (burst->pool & WS_EVENT_SMALL_MAX);
    const bool is_edge = (it.kind == WS_NOTE_RUN || it.kind == WS_NOTE_RAN) && !it.inside
                         && it.small == (burst->pool & WS_EVENT_SMALL_MAX);
    if (is_edge && runs && it.kind == WS_NOTE_RUN) {
      *(is_own ? &work->own : &work->other) += end - from;
      work->outside += is_own || is_worker ? 0 : end - from;
      work->tasks += is_own;
      if (is_own && end - from > work->longest) {
        work->longest = end - from;
        work->func = it.address;
        work->number = number;
      }
      over[number] += is_own ? ws_usual_above(usual, it.address, end - from) : 0;
      if (is_own && learns)
        learn_task(usual, it.address, end - from);
    }
    work->elsewhere += is_other && it.kind == WS_NOTE_JOIN && joined ? joined - from : 0;
    joined = is_other && it.kind == WS_NOTE_JOINED ? it.ns : it.kind == WS_NOTE_JOIN ? 0 : joined;
    runs = is_edge ? it.kind == WS_NOTE_RAN : runs;
    end = it.ns <= burst->begin && (is_edge || !it.inside) ? 0 : is_edge ? it.ns : end;
    is_own = is_edge ? bits[bit_of(it.address) / 64] >> bit_of(it.address) % 64 & 1 : is_own;
  }
}

static void add_awake(const ws_late_burst_t *burst, uint32_t number, ws_work_t *work)
{
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t who = ws_stat_load(&ring->who);
  bool is_beside = who != 0 && who >> 16 != burst->pool;
  uint64_t awake = 0, at = ws_seen_until(ring, burst->end), end = burst->end;
  for (ws_seen_t it; end > burst->begin && ws_seen_back(ring, &at, &it); end = it.ns) {
    const bool has_pool = it.kind == WS_NOTE_RUN || it.kind == WS_NOTE_JOIN;
    is_beside |= has_pool && who == 0 && it.small != (burst->pool & WS_EVENT_SMALL_MAX) && !it.inside;
    awake += ws_seen_sleeps(ring, &it) ? 0 : end - (it.ns > burst->begin ? it.ns : burst->begin);
  }
  if (ws_hint_load(&ws_rings.taken[number])) { // else the thread has ended
    work->awake += awake;
    work->beside += is_beside && ring != burst->ring ? awake : 0;
  }
}

/// What the thread that pushes did.
static void look_at_pushes(const ws_late_burst_t *burst, ws_work_t *work)
{
  uint64_t at = ws_seen_until(burst->ring, burst->end);
  ws_seen_t it, next = {0};
  for (; ws_seen_back(burst->ring, &at, &it) && it.ns >= burst->begin; next = it)
    if (it.kind == WS_NOTE_PUSH) {
      work->first = it.ns - burst->begin;
      if (it.small == 1 && next.kind == WS_NOTE_WAKE && next.ns - it.ns > work->called)
        work->called = next.ns - it.ns;
    }
}

static ws_work_t work_of(const ws_late_burst_t *burst, ws_usual_t *usual, bool learns)
{
  uint64_t bits[GROUP_BITS / 64] = {0};
  ws_work_t work = {.over = over};
  memset(over, 0, sizeof(over));
  find_groups(burst, bits);
  look_at_pushes(burst, &work);
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    add_tasks(burst, i, bits, &work, usual, learns);
    add_awake(burst, i, &work);
  }
  return work;
}

ws_work_t ws_usual_work(const ws_late_burst_t *burst)
{
  ws_usual_t usual = ws_usual_of(burst);
  return work_of(burst, &usual, false);
}

static void learn(const ws_late_burst_t *burst)
{
  uint64_t key;
  ws_usual_t *usual = place_of(burst, &key);
  if (usual->key != key)
    *usual = (ws_usual_t){.key = key};
  const ws_work_t work = work_of(burst, usual, true);
  usual->length = ws_follow(usual->length, burst->end - burst->begin, 16, 16);
  usual->tasks = ws_follow(usual->tasks, burst->pushed * 1024, 36, 4);
  if (work.tasks > 0)
    usual->task = ws_follow(usual->task, work.own / work.tasks, 16, 16);
  usual->first = ws_follow(usual->first, work.first, 36, 4);
  usual->called = ws_follow(usual->called, work.called, 36, 4);
}

void ws_usual_learn(void)
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
