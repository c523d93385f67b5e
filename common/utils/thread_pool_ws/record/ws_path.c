// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_path.c
/// ws_path.h.
///
/// From the end backwards: a wait ended because a task ended; a task began because its thread had nothing to
/// do before, or because it had just been pushed; a worker ran because a thread had called it; a push came
/// when its thread came to it. A step that is longer than usual gets a cause. The walk ends where a ring was
/// overwritten, or a thread has none.
///
/// The path may not explain all of the time over the usual. The rest is shared out by work: more tasks than
/// usual, longer tasks, tasks of other bursts. What still has no cause goes to threads beside the path that
/// had no CPU.
#include "ws_path.h"

#include "ws_lack.h"
#include "ws_seen.h"

#define STEPS 1024u ///< of a walk: a longer one is of very many tasks

/// A walk back.
typedef struct {
  ws_late_burst_t *burst;
  ws_usual_t usual;
  ws_work_t work;
  uint64_t length, usual_ns; ///< of the burst; and usually, at most its limit
  uint32_t number, joiner; ///< of the ring; of that of the burst's thread
  uint64_t at; ///< the place of the event `to` there
  ws_seen_t to; ///< how far the walk has come; at first only the burst's end
  uint64_t task, serial; ///< ns: of the task that it is in; of threads outside tasks and waits
  uint64_t over; ///< of tasks longer than usual, what they did not lack
  /// Not 0: the walk goes back to the begin of a wait for this group, of another pool. A wait for all of that
  /// pool, group 0, is not skipped.
  uint64_t skips;
} path_t;

static uint64_t lacked[WS_RINGS]; ///< of each ring's tasks longer than usual: what they lacked

/// Blame a cause for so many ns over the usual. WS_CAUSES = none
static void add(path_t *path, ws_cause_t cause, uint64_t ns)
{
  if (cause < WS_CAUSES)
    path->burst->part[cause] += ns, path->burst->sum += ns;
}

/// @return the time over the usual that has no cause yet
static uint64_t left_of(const path_t *path)
{
  return ws_above(path->length, path->usual_ns + path->burst->sum);
}

/// Blame as much as has no cause yet, at most @p ns.
static void add_left(path_t *path, ws_cause_t cause, uint64_t ns)
{
  add(path, cause, ws_least(ns, left_of(path)));
}

/// @return the share of tasks that it has more than usual, below 1. 0 = at most an eighth more, or the usual
/// is not known
static double more_of(const path_t *path)
{
  const uint64_t tasks = path->burst->pushed * 1024, usual = path->usual.tasks;
  return usual > 0 && tasks > usual + usual / 8 ? (double)(tasks - usual) / (double)tasks : 0;
}

/// @brief Go to the last event of that kind of another thread, after @p from and until path->to. Threads
/// without an event in the burst are left out.
/// @param address  that it has; 0 = any. @return whether there is one; else the path stays
static bool go_to_last(path_t *path, ws_note_t kind, uint64_t address, uint64_t from)
{
  const uint32_t number = path->number;
  const uint64_t until = path->to.ns;
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    if (!path->work.of[i].takes_part || i == number)
      continue;
    uint64_t at = ws_seen_until(ws_ring(i), until);
    for (ws_seen_t it; ws_seen_back(ws_ring(i), &at, &it) && it.ns > from;)
      if (it.kind == kind && (it.address == address || address == 0)) {
        path->number = i;
        path->at = at;
        path->to = it;
        path->task = 0;
        from = it.ns;
      }
  }
  return path->number != number;
}

/// @brief From @p since to path->to the thread slept, looked for a task, or waited. Find the event of another
/// thread that ended that, and go on there: it becomes path->to. The delay after a task's end or a wake is
/// blamed, that after a push is not. @return whether there is one
static bool jump(path_t *path, uint64_t since)
{
  const ws_seen_t to = path->to;
  const bool wakes = to.kind == WS_NOTE_UNPARK, joins = to.kind == WS_NOTE_JOINED;
  const uint64_t who = ws_stat_load(&ws_ring(path->number)->who);
  // A wait ends with the last task of its group. For group 0, a wait for the pool, any task counts.
  const bool was_told = (joins && go_to_last(path, WS_NOTE_RAN, to.address, since))
                        || (wakes && go_to_last(path, WS_NOTE_WAKE, who, since));
  const uint64_t took = ws_above(to.ns, path->to.ns);
  if (was_told)
    add(path, ws_work_is_taken(took) ? WS_CAUSE_NO_CPU : WS_CAUSE_WAKE,
        ws_above(took, ws_hint_load(&ws_rings.wake_ns)));
  return was_told || (!joins && go_to_last(path, WS_NOTE_PUSH, 0, since));
}

/// The path has come to a task's begin: blame what its thread lacked, and leave the rest over the usual to
/// blame_work(), which finds whether one task explains it.
/// @param it  the begin. @param task  the length that lies on the path
static void end_task(path_t *path, const ws_seen_t *it, uint64_t task)
{
  ws_late_burst_t *burst = path->burst;
  const uint64_t over = ws_usual_above(&path->usual, it->address, task);
  const ws_lack_t lack = ws_lack_take(path->number, over);
  add(path, lack.cause, lack.ns);
  lacked[path->number] += lack.ns;
  path->over += over - lack.ns;
  if (task > burst->task) {
    burst->task = task;
    burst->func = it->address;
    burst->task_tid = ws_stat_load(&ws_ring(path->number)->tid);
  }
  path->task = 0;
}

/// @brief Go from path->to to the event before it in its ring, or if its thread had to wait, by jump() to
/// another ring. What the thread did in between is blamed, or adds to path->task or path->serial.
/// @param it  the event before, whose place path->at is
static void step(path_t *path, ws_seen_t it)
{
  const ws_late_burst_t *burst = path->burst;
  const ws_event_ring_t *ring = ws_ring(path->number);
  const uint64_t since = it.ns > burst->begin ? it.ns : burst->begin, length = ws_above(path->to.ns, since);
  const bool waits = it.kind == WS_NOTE_JOIN || it.kind == WS_NOTE_RAN || it.kind == WS_NOTE_UNPARK;
  const uint32_t to = path->to.kind;
  // A thread outside that calls a worker without a push is the pool's guard.
  const bool is_guard = ring != burst->ring && ws_stat_load(&ring->who) == 0 && it.kind != WS_NOTE_PUSH;
  if (path->skips) { // whatever the thread does in that wait has this cause
    add(path, WS_CAUSE_OTHER_POOL, length);
    if (it.kind == WS_NOTE_JOIN && it.address == path->skips)
      path->skips = 0;
  } else if (to == WS_NOTE_UNPARK
             || (waits && (to == WS_NOTE_JOINED || to == WS_NOTE_RUN || to == WS_NOTE_PARK))) {
    // If no event ended the wait, its time has no cause here, and the walk goes on in this ring.
    if (jump(path, since))
      return;
  } else if (it.kind == WS_NOTE_RUN) {
    end_task(path, &it, path->task + length);
  } else {
    const bool calls = to == WS_NOTE_WAKE && !it.inside && path->usual.called
                       && (is_guard || (it.kind == WS_NOTE_PUSH && it.small == 1));
    const uint64_t late = calls ? ws_above(length, path->usual.called) : 0;
    const ws_lack_t lack = ws_lack_take(path->number, late);
    const uint64_t seen =
        ws_above(late - lack.ns, it.kind == WS_NOTE_PUSH ? ws_lack_unseen(path->number) : 0);
    add(path, lack.cause, lack.ns);
    add(path, WS_CAUSE_CALLED_LATE, seen);
    *(it.inside ? &path->task : &path->serial) += length - lack.ns - seen;
  }
  const bool is_other = it.small != 0 && it.small != (burst->pool & WS_EVENT_SMALL_MAX);
  if (it.kind == WS_NOTE_JOINED && is_other && !path->skips)
    path->skips = it.address;
  path->to = it;
}

/// What the path does not explain: by their shares of all work, tasks that lacked a CPU, that waited for
/// another pool, that are longer in sum, more, or of other bursts. Of time that others had to do more because
/// one thread was in a long task, the path shows nothing.
static void blame_work(path_t *path)
{
  ws_late_burst_t *burst = path->burst;
  const ws_usual_t *usual = &path->usual;
  const ws_work_t *work = &path->work;
  uint64_t part[WS_CAUSES + 1] = {0}, all_lacked = 0; // the last cause is none
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    const ws_lack_t lack = ws_lack_take(i, ws_above(work->of[i].over, lacked[i]));
    part[lack.cause] += lack.ns;
    lacked[i] += lack.ns;
    all_lacked += lacked[i];
  }
  // The extra is what the burst's tasks took more than usual, less what has a cause of its own.
  const uint64_t as_usual = work->tasks * usual->task + all_lacked + work->elsewhere,
                 extra = usual->task ? ws_above(work->own, as_usual) : 0;
  // One task explains it, or they are longer in sum.
  const bool is_long = 2 * ws_above(work->longest, usual->task_p99 + lacked[work->number]) >= extra;
  if (work->longest > burst->task) {
    burst->task = work->longest;
    burst->func = work->func;
    burst->task_tid = ws_stat_load(&ws_ring(work->number)->tid);
  }
  if (is_long)
    add(path, WS_CAUSE_LONG_TASK, path->over);
  part[is_long ? WS_CAUSE_LONG_TASK : WS_CAUSE_LONGER_WORK] += extra;
  part[WS_CAUSE_OTHER_POOL] += work->elsewhere;
  part[WS_CAUSE_OTHER_BURST] += work->other;
  const double all = (double)(work->own + work->other + 1), rest = (double)left_of(path);
  part[WS_CAUSE_MORE_WORK] += (uint64_t)(more_of(path) * all);
  double share = (double)path->length / all,
         sum = 0; // of the burst's length, for a ns of work
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    sum += (double)part[i] * share;
  share = share > 1 ? 1 : share; // ns of work make a burst longer by as many at most
  share *= sum * share > rest ? rest / (sum * share) : 1; // in all not more than has no cause yet
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    add(path, (ws_cause_t)i, (uint64_t)((double)part[i] * share));
}

/// Move at most @p ns of the time of a cause to another one.
static void move(ws_late_burst_t *burst, ws_cause_t from, ws_cause_t to, uint64_t ns)
{
  const uint64_t part = ws_least(ns, burst->part[from]);
  burst->part[from] -= part;
  burst->part[to] += part;
}

/// The thread of the burst was on the path outside tasks and waits: blame what it lacked there. A sleep there
/// is its own code's. Takes that from path->serial, and what is unseen.
static void blame_serial(path_t *path)
{
  const ws_lack_t lack = ws_lack_take(path->joiner, ws_least(path->serial, left_of(path)));
  const bool is_own = lack.cause == WS_CAUSE_ASLEEP;
  add(path, is_own ? WS_CAUSE_SERIAL : lack.cause, lack.ns);
  path->serial = ws_above(path->serial, is_own ? 0 : lack.ns + ws_lack_unseen(path->joiner));
}

/// After the walk: causes of the time over the usual that has none yet, and some that the others had.
static void blame_rest(path_t *path)
{
  ws_late_burst_t *burst = path->burst;
  const ws_work_t *work = &path->work;
  const uint64_t late = path->usual.key ? ws_above(work->first, path->usual.first) : 0;
  // Others beside the path did not make a burst late that is serial.
  const bool is_serial = path->serial > path->length / 2;
  blame_serial(path);
  add_left(path, WS_CAUSE_STARTED_LATE, ws_least(late, path->serial));
  blame_work(path);
  // If the usual is above the limit, bursts of this kind always take so long. One of more tasks is late for
  // these.
  if (more_of(path) == 0)
    add(path, WS_CAUSE_TOO_FEW, ws_above(burst->usual, burst->limit));
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++) {
    const bool is_of_pool = ws_stat_load(&ws_ring(i)->who) >> 16 == burst->pool;
    if (ws_ring(i) != burst->ring && (is_serial || !is_of_pool))
      continue;
    add_left(path, WS_CAUSE_NO_CPU, work->of[i].taken);
    const ws_lack_t lack = ws_lack_take(i, left_of(path));
    add(path, is_serial && lack.cause == WS_CAUSE_ASLEEP ? WS_CAUSE_SERIAL : lack.cause, lack.ns);
    add_left(path, WS_CAUSE_WAKE, work->of[i].slow);
  }
  if (is_serial)
    add_left(path, WS_CAUSE_SERIAL, path->serial);
  // Other threads of the process had those CPUs: of another burst; or of another pool, if more are awake, or
  // called, than there are CPUs.
  const uint64_t more = ws_above(work->awake, ws_os_process_cpu_count() * path->length);
  move(burst, WS_CAUSE_NO_CPU, WS_CAUSE_OTHER_BURST, work->outside);
  move(burst, WS_CAUSE_NO_CPU, WS_CAUSE_OTHER_POOL, ws_least(work->beside, more));
}

/// @return whether events of the burst are gone from the ring: overwritten, or, in that of the joining
/// thread, another thread has the ring
static bool is_overwritten(const ws_late_burst_t *burst, const ws_event_ring_t *ring)
{
  const uint64_t oldest = ws_seen_oldest(ring);
  return (ring == burst->ring && ws_stat_load(&ring->tid) != burst->tid)
         || (oldest > 0 && ws_seen_at(ring, oldest).ns > burst->begin);
}

/// @return why the rest of its time has no cause: WS_CAUSE_UNSEEN = events of its threads are gone, as the
/// scribe had no CPU; WS_CAUSE_UNKNOWN = they do not show it
static ws_cause_t cause_of_rest(const ws_late_burst_t *burst)
{
  bool is_lost = is_overwritten(burst, burst->ring);
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++)
    is_lost |= ws_stat_load(&ws_ring(i)->who) >> 16 == burst->pool && is_overwritten(burst, ws_ring(i));
  return is_lost ? WS_CAUSE_UNSEEN : WS_CAUSE_UNKNOWN;
}

/// Look at what all threads did in the burst, and then walk back from its end.
static void walk(path_t *path)
{
  ws_late_burst_t *burst = path->burst;
  path->work = ws_work_of(burst, &path->usual, NULL);
  ws_lack_look(burst, &path->work);
  memset(lacked, 0, sizeof(lacked));
  burst->start = path->work.start;
  while (ws_ring(path->number) != burst->ring) // it is one of them: no ring goes while there is a scribe
    path->number++;
  path->joiner = path->number;
  path->at = ws_seen_until(burst->ring, burst->end);
  ws_seen_t it;
  for (uint32_t i = 0;
       i < STEPS && path->to.ns > burst->begin && ws_seen_back(ws_ring(path->number), &path->at, &it); i++)
    if (it.kind < WS_NOTE_PHASE) // the others only mark what lies between two steps
      step(path, it);
}

void ws_path_blame(ws_late_burst_t *burst)
{
  path_t path = {.burst = burst, .length = burst->end - burst->begin, .to.ns = burst->end};
  uint64_t *const part = burst->part;
  path.usual = ws_usual_of(burst);
  path.usual_ns = ws_least(burst->usual, burst->limit);
  if (path.usual_ns == burst->limit && path.usual.length != 0) // its own kind's is not known
    path.usual_ns = ws_least(path.usual.length, burst->limit);
  // In an overload bursts follow each other at once, and the scribe has no CPU. The burst's thread itself has
  // noted whether it had one.
  if (is_overwritten(burst, burst->ring)) {
    add_left(&path, burst->slept ? WS_CAUSE_ASLEEP : WS_CAUSE_NO_CPU, burst->lacked);
  } else {
    walk(&path);
    blame_rest(&path);
  }
  add(&path, cause_of_rest(burst), left_of(&path) + 1); // + 1: the scribe divides by the sum
  // A stop, and a quota, take the CPU from all threads: in their events that looks like one of these.
  if (burst->was_stopped || burst->has_quota) {
    const ws_cause_t known = burst->has_quota ? WS_CAUSE_QUOTA : WS_CAUSE_NO_CPU;
    const ws_cause_t may_be[] = {WS_CAUSE_NO_CPU, WS_CAUSE_NO_CPU_OR_ASLEEP, WS_CAUSE_SERIAL,
                                 WS_CAUSE_UNKNOWN, WS_CAUSE_UNSEEN};
    for (size_t i = 0; i < sizeof(may_be) / sizeof(may_be[0]); i++)
      move(burst, may_be[i], known, UINT64_MAX);
  }
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    burst->cause = part[i] > part[burst->cause] ? (ws_cause_t)i : burst->cause;
  if (part[WS_CAUSE_TOO_FEW] > 0) // it would be late without the others, too
    burst->cause = WS_CAUSE_TOO_FEW;
}
