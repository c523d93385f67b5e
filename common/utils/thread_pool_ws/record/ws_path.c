// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_path.c
/// ws_path.h.
///
/// From the end backwards: a wait ended because a task ended; a task began because its thread had nothing to
/// do before, or because it had just been pushed; a worker ran because a thread had called it; a push came
/// when its thread came to it. A step that is longer than usual gets a cause. If that does not explain all of
/// the lateness, workers beside the path that had no CPU do, as far as they had none. The walk ends where a
/// ring was overwritten, or a thread has none.
///
/// Time without a CPU is wall time less CPU time since the last note, less the time asleep: in ws_park(), in
/// a wait, and of a thread outside between two bursts, when it is taken to sleep.
#include "ws_path.h"

#define STEPS 1024u ///< of a walk: a longer one is of very many tasks
#define MARGIN 512u ///< oldest events that are left out: their thread may go on meanwhile
/// A wake that takes so many usual ones, and that long, has found its CPU taken.
#define TAKEN_WAKES 3u
#define TAKEN_NS 50000u
#define CLOCKS_NS 20000u ///< a pair of clocks that took longer to read is read again, so often
#define CLOCKS_TRIES 4u
#define CALLED_NS 50000000u ///< before a burst: who was called then, and is not up, lacks a CPU

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

/// When, and how long the thread has not used a CPU, since some time; 0 = it is not known.
typedef struct {
  uint64_t ns, idle_ns;
} clocks_t;

/// Of each ring.
static struct {
  uint64_t tid, head; ///< at the last note
  clocks_t last, before; ///< notes
  int64_t sleep_cpu_ns; ///< of a CPU that it uses to go to sleep and to rise, or between two bursts
  // Of the burst that is examined.
  uint64_t at; ///< below its end, or below what the walk has come to
  uint64_t called_ns; ///< a worker of its pool: when it was last called, if not long before; else 0
  uint64_t without; ///< ns without a CPU that have no cause yet
  bool takes_part;
} of[WS_RINGS];

static uint64_t above(uint64_t value, uint64_t usual)
{
  return value > usual ? value - usual : 0;
}

static clocks_t read_clocks(const ws_event_ring_t *ring)
{
  for (uint32_t i = 0; i < CLOCKS_TRIES; i++) {
    const uint64_t ns = ws_clock_ns(), cpu_ns = ws_os_thread_cpu_ns((int32_t)ws_stat_load(&ring->tid));
    const uint64_t idle_ns = ws_os_now_ns() - cpu_ns;
    if (cpu_ns != 0 && ws_clock_ns() - ns < CLOCKS_NS)
      return (clocks_t){ns, idle_ns};
  }
  return (clocks_t){0};
}

void ws_path_sample(void)
{
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    const ws_event_ring_t *ring = ws_ring(i);
    const uint64_t tid = ws_load_acquire(&ring->tid); // [edge RING acquire] what begins it
    const uint64_t head = ws_stat_load(&ring->head);
    if (tid != of[i].tid)
      of[i].last = of[i].before = (clocks_t){0}, of[i].sleep_cpu_ns = 0;
    else if (tid == 0 || (head == of[i].head && of[i].last.ns != 0))
      continue;
    const clocks_t now = read_clocks(ring);
    of[i].tid = tid;
    of[i].head = head;
    if (now.ns != 0) {
      of[i].before = of[i].last;
      of[i].last = now;
    }
  }
}

static seen_t read_event(const ws_event_ring_t *ring, uint64_t at)
{
  const ws_ring_event_t *event = &ring->event[at % WS_RING_EVENTS];
  const uint64_t what = ws_stat_load(&event->what);
  return (seen_t){ws_stat_load(&event->ns), ws_event_address(what), ws_event_kind(what), ws_event_small(what),
                  ws_event_in_task(what)};
}

/// @return where the events begin that can be read
static uint64_t oldest(const ws_event_ring_t *ring)
{
  return above(ws_load_acquire(&ring->head), WS_RING_EVENTS - MARGIN); // [edge RING acquire] the events below
}

/// @brief Read the event before @p at, which becomes its place.
static bool step_back(const ws_event_ring_t *ring, uint64_t *at, seen_t *it)
{
  if (*at <= oldest(ring) || *at > ws_stat_load(&ring->head)) // it may have another owner
    return false;
  *it = read_event(ring, --*at);
  return true;
}

/// @return the place below which the ring's events are not after @p ns
static uint64_t place_after(const ws_event_ring_t *ring, uint64_t ns)
{
  uint64_t low = oldest(ring), high = ws_stat_load(&ring->head);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (read_event(ring, middle).ns <= ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// @brief Go to the last event of that kind of another thread, after @p from and until path->to. The walk
/// only goes back, and so do the places from which it looks.
/// @param address  that it has; 0 = any
static bool go_to_last(path_t *path, ws_note_t kind, uint64_t address, uint64_t from)
{
  const path_t old = *path;
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    const ws_event_ring_t *ring = ws_ring(i);
    seen_t it;
    if (!of[i].takes_part || ring == old.ring)
      continue;
    for (uint64_t at = of[i].at; step_back(ring, &at, &it) && it.ns > old.to.ns;)
      of[i].at = at;
    for (uint64_t at = of[i].at; step_back(ring, &at, &it) && it.ns > from;)
      if (it.kind == kind && (it.address == address || address == 0)) {
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

/// @return ns from @p then to @p now in which the ring's thread wanted a CPU, or was called, and had none,
/// less what it used of one in the times in which it is taken to sleep. *sleeps: how many those were
static int64_t lacked(uint32_t number, clocks_t then, clocks_t now, uint64_t called_ns, int64_t *sleeps)
{
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t who = ws_stat_load(&ring->who);
  uint64_t at = place_after(ring, now.ns), asleep = 0;
  bool in_phase = false;
  seen_t it, next = {.ns = now.ns};
  *sleeps = 0;
  for (; next.ns > then.ns && step_back(ring, &at, &it); next = it) {
    const uint64_t from = it.ns > then.ns ? it.ns : then.ns;
    const bool waits = next.kind == WS_NOTE_JOINED && (it.kind == WS_NOTE_JOIN || it.kind == WS_NOTE_RAN);
    const bool rests =
        who == 0 && !in_phase && !it.inside && (it.kind == WS_NOTE_JOINED || it.kind == WS_NOTE_PHASE_END);
    const bool sleeps_then = it.kind == WS_NOTE_PARK || waits || rests;
    if (it.kind == WS_NOTE_PARK && next.kind == 0 && called_ns > it.ns) // and is not up yet
      next = (seen_t){.ns = next.ns, .address = next.ns - called_ns, .kind = WS_NOTE_UNPARK};
    *sleeps += sleeps_then;
    asleep += sleeps_then ? next.ns - from : 0;
    asleep -= next.kind == WS_NOTE_UNPARK && is_taken(next.address) ? next.address : 0;
    in_phase = it.kind == WS_NOTE_PHASE_END || (in_phase && it.kind != WS_NOTE_PHASE);
  }
  const bool lost = next.ns > then.ns && at > 0; // events were overwritten
  return lost ? 0 : (int64_t)(now.idle_ns - then.idle_ns - asleep);
}

/// @return ns since a note from before @p since in which the ring's thread wanted a CPU, or was called, and
/// had none
static uint64_t deprived(uint32_t number, uint64_t since)
{
  const clocks_t *last = &of[number].last, *before = &of[number].before;
  const clocks_t then = last->ns <= since ? *last : *before, now = read_clocks(ws_ring(number));
  if (then.ns == 0 || then.ns > since || now.ns == 0 || ws_stat_load(&ws_ring(number)->tid) != of[number].tid)
    return 0;
  int64_t sleeps, ns;
  if (last->ns <= since && before->ns != 0) { // learn from the time before the burst
    ns = lacked(number, *before, *last, 0, &sleeps);
    if (sleeps > 0 && ns < 0)
      of[number].sleep_cpu_ns +=
          (-ns / sleeps - of[number].sleep_cpu_ns) / (of[number].sleep_cpu_ns == 0 ? 1 : 4);
  }
  ns = lacked(number, then, now, of[number].called_ns, &sleeps);
  ns += sleeps * of[number].sleep_cpu_ns;
  return ns > (int64_t)CLOCKS_NS ? (uint64_t)ns : 0; // as exactly as the clocks are read
}

/// @return the part of @p over in which the ring's thread had no CPU: each ns of it has one cause
static uint64_t take_without(const ws_event_ring_t *ring, uint64_t over)
{
  uint32_t i = 0;
  while (ws_ring(i) != ring)
    i++;
  const uint64_t part = of[i].without < over ? of[i].without : over;
  of[i].without -= part;
  return part;
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
  const uint64_t took = ws_clock_since(path->to.ns, to.ns);
  if (was_told)
    add(burst, is_taken(took) ? WS_CAUSE_NO_CPU : WS_CAUSE_WAKE,
        above(took, ws_hint_load(&ws_rings.wake_ns)));
  return was_told || (!joins && go_to_last(path, WS_NOTE_PUSH, 0, since));
}

/// @brief Go from path->to to the event before.
static void step(ws_late_burst_t *burst, path_t *path, seen_t it)
{
  const uint64_t since = it.ns > burst->begin ? it.ns : burst->begin,
                 length = ws_clock_since(since, path->to.ns);
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
    const uint64_t over = usual > 0 ? above(task, usual) : 0, without = take_without(path->ring, over);
    add(burst, WS_CAUSE_NO_CPU, without);
    add(burst, WS_CAUSE_LONG_TASK, over - without);
    if (task > burst->task) {
      burst->task = task;
      burst->func = it.address;
      burst->task_tid = ws_stat_load(&path->ring->tid);
    }
    burst->start = ws_clock_since(burst->begin, it.ns);
    path->task = 0;
  } else {
    *(it.inside ? &path->task : &path->serial) += length;
  }
  const bool is_other = it.small != 0 && it.small != (burst->pool & WS_EVENT_SMALL_MAX);
  if (it.kind == WS_NOTE_JOINED && is_other && !path->skips)
    path->skips = it.address;
  path->to = it;
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
    uint64_t at = ws_stat_load(&ws_ring(i)->head);
    for (seen_t it; step_back(ws_ring(i), &at, &it) && it.ns + CALLED_NS > burst->begin;) {
      const bool calls = it.kind == WS_NOTE_WAKE && it.address >> 16 == burst->pool;
      const uint32_t of_worker = calls ? ring_of[it.address % WS_RINGS] : 0;
      if (of_worker && of[of_worker - 1].called_ns < it.ns)
        of[of_worker - 1].called_ns = it.ns;
    }
  }
}

/// Which threads have events in the burst, or are its pool's, and how long each had no CPU.
static void look_at_all(const ws_late_burst_t *burst)
{
  look_at_calls(burst);
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    const ws_event_ring_t *ring = ws_ring(i);
    uint64_t at = of[i].at = place_after(ring, burst->end);
    seen_t it;
    of[i].takes_part = step_back(ring, &at, &it) && it.ns >= burst->begin;
    const bool is_of_pool = ring == burst->ring || ws_stat_load(&ring->who) >> 16 == burst->pool;
    of[i].without = of[i].takes_part || is_of_pool ? deprived(i, burst->begin) : 0;
  }
}

void ws_path_blame(ws_late_burst_t *burst)
{
  const uint64_t usual = burst->usual, length = burst->end - burst->begin;
  look_at_all(burst);
  path_t path = {.ring = burst->ring, .at = place_after(burst->ring, burst->end), .to.ns = burst->end};
  seen_t it;
  for (uint32_t i = 0; i < STEPS && path.to.ns > burst->begin && step_back(path.ring, &path.at, &it); i++)
    if (it.kind < WS_NOTE_PHASE) // a step of a thread
      step(burst, &path, it);
  const uint64_t rest = above(length, usual + burst->sum);
  const bool is_serial = path.serial > length / 2; // others beside the path did not make it late
  uint64_t without = 0;
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++)
    if (ws_ring(i) == burst->ring || (!is_serial && ws_stat_load(&ws_ring(i)->who) >> 16 == burst->pool))
      without += of[i].without;
  without = without < rest ? without : rest;
  add(burst, WS_CAUSE_NO_CPU, without);
  add(burst, WS_CAUSE_TOO_FEW, above(usual, burst->limit)); // bursts of this kind always take so long
  add(burst, is_serial ? WS_CAUSE_SERIAL : WS_CAUSE_UNKNOWN, rest - without + 1); // a cause in any case
}
