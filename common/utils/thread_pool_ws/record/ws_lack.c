// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lack.c
/// ws_lack.h.
#include "ws_lack.h"

#include "ws_seen.h"

#define LEAST_NS 20000 ///< that a thread lacks, less is nothing: its clocks are read one after the other
#define AWAKE_NS 2000u ///< a sleep that was so short was none: the thread had been called meanwhile
#define ASLEEP_NS 10000u ///< one that was so long was one
#define LEARNS 4u ///< threads, in a pass
#define CPU_NS_MAX (UINT64_MAX >> 16) ///< of a note: then it begins at 0

/// Of each ring.
static struct {
  uint64_t tid, cpu_ns; ///< its owner, and the CPU time that a sleep takes it (median); 0 = not known
  ws_lack_t lack; ///< what has no cause yet
  uint64_t unseen; ///< ws_lack_unseen()
} of[WS_RINGS];

/// What a thread did between notes.
typedef struct {
  /// Without a CPU, but for its sleeps, and for what tasks outside the burst took longer than usual. Below 0
  /// if it used the CPU in its sleeps.
  int64_t idle_ns;
  int64_t slept; ///< how often, as the kernel counts
  int64_t sleeps, long_sleeps; ///< of the pool's: longer than AWAKE_NS, and than ASLEEP_NS
  uint64_t unseen; ///< of a burst's begin, as ws_lack_unseen()
} stretch_t;

/// Add what a thread outside did from the burst's begin to its first note there.
/// @param asleep_ns  what it slept there in waits. @param used_ns  of the CPU, since the note before
/// @param slept  since that note, outside of waits: in the burst or before it
static void add_begin(stretch_t *sum, uint64_t length, uint64_t asleep_ns, uint64_t used_ns, bool slept)
{
  const uint64_t awake = ws_above(length, asleep_ns), least = ws_above(awake, used_ns);
  sum->unseen = awake - least > LEAST_NS ? awake - least : 0;
  if (least <= LEAST_NS)
    return;
  sum->idle_ns += (int64_t)least;
  sum->slept += slept; // one that the pool may have made: both are possible
  sum->sleeps += slept;
}

/// @brief Read from the note @p last, which is at *at, back to the one before, which becomes *last. What a
/// thread outside did is known only if it has noted the end of a burst or phase, which began at the note
/// before. Of the burst's begin add_begin() adds what follows nevertheless.
/// @param burst  NULL = none
/// @return whether there is a note before; only then, and if that is known, it is added to *sum. false: *at
/// is where the ring can be read no further
static bool add_stretch(const ws_event_ring_t *ring, uint64_t *at, ws_seen_t *last,
                        const ws_late_burst_t *burst, stretch_t *sum)
{
  const uint64_t from = *at, begin = burst ? burst->begin : UINT64_MAX;
  const ws_seen_t end = *last;
  ws_seen_t it = {0}, next = end;
  stretch_t own = *sum;
  uint64_t asleep_ns = 0, asleep_since = 0, ran_ns = 0; // since: the burst's begin
  bool is_known = ws_stat_load(&ring->who) != 0;
  for (; ws_seen_back(ring, at, &it) && it.kind != WS_NOTE_USED; next = it) {
    const uint64_t length = it.kind == WS_NOTE_SLEEP ? next.ns - it.ns : 0;
    asleep_ns += length;
    asleep_since += it.ns >= begin ? length : 0;
    own.sleeps += it.kind == WS_NOTE_SLEEP && length > AWAKE_NS;
    own.long_sleeps += it.kind == WS_NOTE_SLEEP && length > ASLEEP_NS;
    is_known |= *at + 1 == from && (it.kind == WS_NOTE_JOINED || it.kind == WS_NOTE_PHASE_END);
    // A task outside the burst that was longer than usual may have lacked the CPU: that made this burst no
    // longer.
    if (it.kind == WS_NOTE_RAN && !it.inside)
      ran_ns = burst && it.ns >= burst->begin && it.ns <= burst->end ? 0 : it.ns;
    if (it.kind == WS_NOTE_RUN && !it.inside && ran_ns > it.ns && burst)
      own.idle_ns -= (int64_t)ws_usual_above(NULL, it.address, ran_ns - it.ns);
  }
  if (it.kind != WS_NOTE_USED)
    return false;
  const uint64_t used_ns = (end.address - it.address) & CPU_NS_MAX;
  const int64_t slept = (int64_t)((end.small - it.small) & WS_EVENT_SMALL_MAX);
  own.idle_ns += (int64_t)(end.ns - it.ns - asleep_ns - used_ns);
  own.slept += slept;
  *last = it;
  if (is_known)
    *sum = own;
  else if (end.ns > begin && it.ns < begin)
    add_begin(sum, end.ns - begin, asleep_since, used_ns, slept > own.sleeps - sum->sleeps);
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

/// Learn from the thread's last two notes: CPU time that it has used while its events say that it slept. As
/// long as it makes no new note, the same is learnt again.
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

/// @return what a thread lacked between the notes around the burst, so also shortly before and after it. What
/// lies before the oldest note, or is not known, is left out
/// @param unseen  is set: ws_lack_unseen()
static ws_lack_t lack_of(uint32_t number, const ws_late_burst_t *burst, uint64_t *unseen)
{
  const ws_lack_t none = {0, WS_CAUSES};
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t until = ws_seen_until(ring, burst->end), head = ws_stat_load(&ring->head);
  uint64_t at = until;
  ws_seen_t last;
  stretch_t it = {0};
  // The burst's thread has made its last note at the end, another thread makes one after it, or has none yet.
  while (ring != burst->ring && at < head && ws_seen_at(ring, at).kind != WS_NOTE_USED)
    at++;
  at = at < head ? at + 1 : until;
  if (!find_note(ring, &at, &last))
    return none;
  while (last.ns > burst->begin && add_stretch(ring, &at, &last, burst, &it))
    ;
  *unseen =
      last.ns > burst->begin ? ws_above(last.ns, burst->begin) : it.unseen; // or there is no note before
  const int64_t cpu_ns = ws_stat_load(&ring->tid) == of[number].tid ? (int64_t)of[number].cpu_ns : 0,
                most_ns = it.idle_ns + it.sleeps * cpu_ns;
  if (most_ns < LEAST_NS)
    return none;
  // One sleep more than the pool made is one in a task. If a short one of the pool may have been none, both
  // are possible. After a stop the kernel has counted one more.
  ws_cause_t cause = WS_CAUSE_NO_CPU;
  if (!burst->was_stopped && it.slept > it.long_sleeps)
    cause = it.slept > it.sleeps ? WS_CAUSE_ASLEEP : WS_CAUSE_NO_CPU_OR_ASLEEP;
  return (ws_lack_t){(uint64_t)most_ns, cause};
}

void ws_lack_look(const ws_late_burst_t *burst, const ws_work_t *work)
{
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    const bool is_of_pool = ws_stat_load(&ws_ring(i)->who) >> 16 == burst->pool;
    of[i].unseen = 0;
    of[i].lack =
        work->of[i].takes_part || is_of_pool ? lack_of(i, burst, &of[i].unseen) : (ws_lack_t){0, WS_CAUSES};
  }
}

ws_lack_t ws_lack_take(uint32_t number, uint64_t most)
{
  ws_lack_t *lack = &of[number].lack, part = *lack;
  part.ns = ws_least(part.ns, most);
  lack->ns -= part.ns;
  return part;
}

uint64_t ws_lack_unseen(uint32_t number)
{
  return of[number].unseen;
}
