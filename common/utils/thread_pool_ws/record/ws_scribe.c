// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_scribe.c
/// ws_scribe.h.
#define _GNU_SOURCE
#include "ws_scribe.h"

#include <sched.h>

#include "../pool/ws_callback.h"
#include "ws_file.h"
#include "ws_journal_write.h"
#include "ws_lack.h"

#define PERIOD_NS 10000000u
#define SHARE 10u ///< it rests so many times as long as it has used its CPU
#define PASS_NS 2000000u ///< of its CPU, for late bursts in a pass
#define LAST_NS 20000000u ///< the same in the last pass, for which a pool's end waits
#define CATCH_UP_NS 100000000u
#define WRITE_NS 200000000u
#define WATCH_NS 100000000u ///< between two looks at the quota
#define QUOTA_NS 250000000u ///< a quota that was used up is so again
#define CALM_NS 10000000000u ///< from the begin, without windows: many bursts are late at a start
#define HOUR_NS 3600000000000u
#define HOURS (uint32_t)(WS_WINDOW_NEWEST - WS_WINDOW_HOUR)
#define NEWEST (uint32_t)(WS_WINDOW_ASKED - WS_WINDOW_NEWEST)
#define WINDOW_NS 1000000000u ///< between two of the newest
#define BEFORE_NS 5000000u ///< of a burst, in its window

/// What of a late burst goes into the list.
typedef struct {
  ws_ledger_room_t *ledger;
  ws_late_burst_t burst;
} entry_t;
#define WORDS ((offsetof(entry_t, burst) + offsetof(ws_late_burst_t, part)) / sizeof(uint64_t))

/// Its state: it is to end; it has; and how often it was to, as the next pool may want it to go on.
enum { ENDS = 1, HAS_ENDED = 2, TIMES = 4 };

static struct {
  pthread_mutex_t lock; ///< of the next two, and of the state's ENDS
  pthread_t thread;
  uint32_t pools; ///< that are judged
  ws_au32_t is_there; ///< S also without pools: it was left in a write. Written with the lock
  ws_au32_t state; ///< S futex
  ws_au32_t tid; ///< S the thread's number
  ws_au64_t places; ///< S in the list, given so far
  struct {
    ws_au64_t ready; ///< S its place + 1 when it is written
    ws_au64_t word[WORDS]; ///< S
  } list[WS_LATE_BURSTS];
  ws_au64_t examined; ///< S all late bursts before this place are
  ws_au64_t asked, done; ///< S of copies for users: keys
  ws_au32_t error; ///< S of the last one
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

void ws_scribe_late(ws_ledger_room_t *ledger, const ws_late_burst_t *burst)
{
  const entry_t entry = {ledger, *burst};
  const uint64_t place = ws_stat_add(&own.places, 1);
  uint64_t words[WORDS];
  memcpy(words, &entry, sizeof(words));
  ws_store_release(&own.list[place % WS_LATE_BURSTS].ready, 0); // [edge LATE release] it is written anew
  for (size_t i = 0; i < WORDS; i++)
    ws_stat_store(&own.list[place % WS_LATE_BURSTS].word[i], words[i]);
  ws_store_release(&own.list[place % WS_LATE_BURSTS].ready, place + 1); // [edge LATE release] the words
}

/// @return whether the entry was read whole
static bool read_entry(uint64_t place, entry_t *entry)
{
  uint64_t words[WORDS];
  // [edge LATE acquire] the words
  const uint64_t ready = ws_load_acquire(&own.list[place % WS_LATE_BURSTS].ready);
  for (size_t i = 0; i < WORDS; i++)
    words[i] = ws_load_acquire(&own.list[place % WS_LATE_BURSTS].word[i]); // [edge LATE acquire] before ready
  memset(entry, 0, sizeof(*entry));
  memcpy(entry, words, sizeof(words));
  return ready == place + 1 && ws_stat_load(&own.list[place % WS_LATE_BURSTS].ready) == ready;
}

/// @param entry  with the parts of its time over the limit
static void enter_journal(const entry_t *entry)
{
  const ws_late_burst_t *burst = &entry->burst;
  uint64_t now_ns, real_ns;
  ws_os_clocks(&now_ns, &real_ns);
  ws_journal_burst_t late = {.end_ns = burst->end,
                             .real_ns = real_ns - ws_above(now_ns, burst->end),
                             .length_ns = burst->end - burst->begin,
                             .limit_ns = burst->limit,
                             .key = burst->key,
                             .func = burst->func,
                             .task_ns = burst->task,
                             .start_ns = burst->start < UINT32_MAX ? (uint32_t)burst->start : UINT32_MAX,
                             .pool = (uint32_t)burst->pool,
                             .tid = (uint32_t)burst->tid,
                             .task_tid = (uint32_t)burst->task_tid,
                             .cpu = ws_os_thread_last_cpu((int32_t)burst->task_tid),
                             .cause = burst->cause};
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    late.part[i] = (uint16_t)(burst->part[i] * UINT16_MAX / (late.length_ns - late.limit_ns));
  ws_journal_late(&late);
}

/// State of the scribe between its passes. Times are of CLOCK_MONOTONIC.
typedef struct {
  uint64_t place; ///< all late bursts before it are done
  uint64_t watch_ns; ///< when it looks at the quota
  uint64_t throttled, quota_ns; ///< when the quota was last seen to be used up; 0 = never
  uint64_t sleeps, rested_ns; ///< of it so far; and when the last one has ended
  uint64_t stop_from, stop_to; ///< the process was stopped in between
  uint64_t write_ns; ///< when it writes
  uint64_t over_ns, since_ns; ///< of the worst late burst of a pass: ns over its limit, and its begin
  uint64_t calm_ns, newest_ns; ///< from when on late bursts have windows, and the next of the newest one
  uint64_t hour, worst_ns; ///< the hour, and its worst burst that has one: ns over the limit
  uint64_t windows; ///< of newest ones, so far
} memory_t;
static memory_t kept; ///< the scribe's, and of the next one: it goes on with the numbers of windows

static uint64_t own_cpu_ns(void)
{
  return ws_os_thread_cpu_ns(ws_os_tid());
}

/// Set what the scribe has noticed beside the threads' events: has_quota and was_stopped.
static void add_what_is_known(ws_late_burst_t *burst)
{
  burst->has_quota = kept.quota_ns != 0 && (int64_t)(burst->end - kept.quota_ns) < (int64_t)QUOTA_NS;
  burst->was_stopped = burst->begin < kept.stop_to && burst->end > kept.stop_from;
}

/// Find the causes of a late burst, count them, and enter them into the journal. Note the burst if it is the
/// worst of the pass.
static void examine_one(entry_t *entry)
{
  ws_late_burst_t *burst = &entry->burst;
  uint64_t *part = burst->part;
  const uint64_t over_ns = burst->end - burst->begin - burst->limit;
  add_what_is_known(burst);
  ws_path_blame(burst);
  const bool is_whole = part[WS_CAUSE_UNSEEN] == 0;
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    part[i] = (uint64_t)((double)part[i] / (double)burst->sum * (double)over_ns);
  if (ws_stat_load(&entry->ledger->pool) == burst->pool)
    ws_ledger_cause(entry->ledger, part, burst->cause);
  if (ws_file_folder()[0])
    enter_journal(entry);
  WS_PROBE(late_burst, NULL, (uint32_t)burst->pool, ws_cause_name(burst->cause), over_ns);
  if (over_ns > kept.over_ns && burst->usual != burst->limit && is_whole) { // else its window would be empty
    kept.over_ns = over_ns;
    kept.since_ns = burst->begin;
  }
}

/// Examine late bursts, the newest first: after a time without a CPU these still have their events.
/// @param places  late bursts so far. @param until_cpu_ns  own_cpu_ns() when it leaves the rest to the next
/// pass
static void examine(uint64_t places, uint64_t until_cpu_ns)
{
  static uint64_t examined[WS_LATE_BURSTS]; // places + 1
  uint64_t place = places, next = places;
  kept.over_ns = 0;
  if (places - kept.place > WS_LATE_BURSTS)
    kept.place = places - WS_LATE_BURSTS; // the others were overwritten
  for (; place > kept.place; place--) {
    uint64_t *const last = &examined[(place - 1) % WS_LATE_BURSTS];
    entry_t entry;
    if (*last == place)
      continue;
    if (own_cpu_ns() >= until_cpu_ns)
      return;
    if (read_entry(place - 1, &entry)) {
      examine_one(&entry);
      *last = place;
    } else if (place + WS_LATE_BURSTS / 2 > ws_stat_load(&own.places)) {
      next = place - 1; // it is being written
    }
  }
  kept.place = next;
}

/// Look whether the quota of a control group was used up since the last look, and note when.
/// @param any_late  look now; else each WATCH_NS
static void watch(uint64_t now_ns, bool any_late)
{
  if (now_ns < kept.watch_ns && !any_late)
    return;
  const uint64_t throttled = ws_os_grants().throttled;
  if (throttled > kept.throttled && kept.watch_ns != 0)
    kept.quota_ns = now_ns;
  kept.throttled = throttled;
  kept.watch_ns = now_ns + WATCH_NS;
}

/// Sleep until the next pass. A stop of the process (SIGSTOP, a freezer) ends a sleep, and begins another
/// one: note when that was.
static void rest(uint32_t state, uint64_t rest_ns)
{
  uint64_t before = kept.sleeps;
  if (ws_file_folder()[0]) { // a disk may have let it sleep in the pass
    ws_os_used_ns(&before);
    kept.rested_ns = ws_os_now_ns();
  }
  ws_os_futex_wait(&own.state, state, rest_ns > PERIOD_NS ? rest_ns : PERIOD_NS);
  ws_os_used_ns(&kept.sleeps);
  const uint64_t now_ns = ws_os_now_ns();
  if (kept.sleeps - before > 1) {
    kept.stop_from = kept.rested_ns;
    kept.stop_to = now_ns;
  }
  kept.rested_ns = now_ns;
}

/// A late burst gets windows: as one of the newest, and if it is its hour's worst.
static void write_windows(uint64_t now_ns)
{
  const uint64_t hour = now_ns / HOUR_NS, from_ns = ws_above(kept.since_ns, BEFORE_NS);
  if (kept.over_ns == 0 || now_ns < kept.calm_ns)
    return;
  kept.worst_ns = hour == kept.hour ? kept.worst_ns : 0;
  kept.hour = hour;
  if (kept.over_ns > kept.worst_ns && ws_file_window(WS_WINDOW_HOUR + hour % HOURS, from_ns) == 0)
    kept.worst_ns = kept.over_ns;
  if (now_ns < kept.newest_ns)
    return;
  ws_file_window(WS_WINDOW_NEWEST + kept.windows++ % NEWEST, from_ns);
  kept.newest_ns = now_ns + WINDOW_NS;
}

/// If there is a record: make the copy that a user has asked for, windows, and each WRITE_NS the record's
/// file.
static void write_files(uint64_t now_ns, bool ends)
{
  const uint64_t asked = ws_load_acquire(&own.asked); // [edge LATE acquire] only the key
  if (!ws_file_folder()[0])
    return;
  if (asked != ws_stat_load(&own.done)) {
    ws_stat_store(&own.error, (uint32_t)ws_file_window(WS_WINDOW_ASKED, 0));
    ws_store_release(&own.done, asked); // [edge LATE release] the error
  }
  write_windows(now_ns);
  if (now_ns < kept.write_ns && !ends)
    return;
  ws_file_write(ends);
  kept.write_ns = now_ns + WRITE_NS;
}

/// The thread: a pass and a rest, again and again. It ends after a pass that began with ENDS, unless a pool
/// has taken ENDS back.
static void *scribe(void *unused)
{
  pthread_setname_np(pthread_self(), "ws_scribe");
  ws_hint_store(&own.tid, (uint32_t)ws_os_tid());
  for (bool ended = true;;) {
    uint32_t state = ws_load_acquire(&own.state); // [edge LATE acquire] nothing comes later
    const bool ends = state & ENDS;
    if (ended && !ends) // at first; and when it was to end, with another class, and goes on
      pthread_setschedparam(pthread_self(), SCHED_IDLE, &(struct sched_param){0});
    ended = ends;
    const uint64_t cpu_ns = own_cpu_ns(), places = ws_stat_load(&own.places);
    watch(ws_os_now_ns(), places != kept.place);
    ws_lack_learn();
    ws_work_learn();
    examine(places, cpu_ns + (ends ? LAST_NS : PASS_NS));
    ws_store_release(&own.examined, kept.place); // [edge LATE release] the causes
    write_files(ws_os_now_ns(), ends);
    const uint64_t rest_ns = (own_cpu_ns() - cpu_ns) * SHARE;
    if (ends && ws_cas_acq_rel(&own.state, &state, state + HAS_ENDED)) // [edge LATE acq_rel] what it wrote
      break;
    if (!ends)
      rest(state, rest_ns);
  }
  ws_os_futex_wake(&own.state, 1);
  return unused;
}

void ws_scribe_begin(const ws_settings_t *settings)
{
  int error = 0;
  pthread_mutex_lock(&own.lock);
  uint32_t state = ws_load_acquire(&own.state); // [edge LATE acquire] only its end
  // [edge LATE acq_rel] one that was left goes on, unless it has come to its end
  if (ws_hint_load(&own.is_there) && own.pools == 0
      && (state & HAS_ENDED || !ws_cas_acq_rel(&own.state, &state, state - ENDS))) {
    pthread_join(own.thread, NULL);
    ws_hint_store(&own.is_there, 0);
  }
  own.pools++;
  if (!ws_hint_load(&own.is_there)) {
    const memory_t before = kept;
    kept = (memory_t){.place = ws_stat_load(&own.places), // it may get no CPU for some bursts
                      .calm_ns = ws_os_now_ns() + CALM_NS,
                      .hour = before.hour,
                      .worst_ns = before.worst_ns,
                      .windows = before.windows};
    ws_store_relaxed(&own.state, 0); // relaxed: there is no scribe
    ws_hint_store(&own.tid, 0);
    error = ws_os_thread_create(&own.thread, 0, WS_PATIENCE_NS, scribe, NULL);
    ws_store_release(&own.is_there, error == 0); // [edge LATE release] the rings, the folder
  }
  pthread_mutex_unlock(&own.lock);
  if (error) // without the lock: the host's function may end the process
    ws_warn(settings, "cannot create the thread that examines late bursts: %s", ws_os_refusal(error));
}

/// Have the scribe end, with the caller's class, and wait for that. @param until_ns  CLOCK_MONOTONIC, 0 =
/// without a limit. @return false = it has not ended by then
static bool end_until(uint64_t until_ns)
{
  uint32_t state = ws_hint_load(&own.state);
  if (!(state & ENDS))
    ws_store_release(&own.state, state + TIMES + ENDS); // [edge LATE release] what came before
  if (!(state & HAS_ENDED))
    ws_os_lend_class((int32_t)ws_hint_load(&own.tid));
  ws_os_futex_wake(&own.state, 1);
  while (!((state = ws_load_acquire(&own.state)) & HAS_ENDED)) // [edge LATE acquire] what it wrote
    if (ws_os_futex_wait_until(&own.state, state, until_ns) == -ETIMEDOUT)
      return false;
  pthread_join(own.thread, NULL);
  ws_hint_store(&own.is_there, 0);
  return true;
}

void ws_scribe_end(const ws_settings_t *settings)
{
  pthread_mutex_lock(&own.lock);
  own.pools -= settings != NULL;
  const bool is_last = ws_hint_load(&own.is_there) && (own.pools == 0 || !settings);
  const bool is_left = is_last && !end_until(settings ? ws_os_now_ns() + WS_SCRIBE_END_NS : 0);
  pthread_mutex_unlock(&own.lock);
  if (is_left)
    ws_warn(settings,
            "the record is not written for %u s (a disk that does not answer, or no CPU): what happened last"
            " is in it only if that is mended before the process ends",
            (unsigned)(WS_SCRIBE_END_NS / 1000000000u));
}

void ws_scribe_widen(void)
{
  ws_cpuset_t more, has;
  if (ws_os_thread_cpus(0, &more) < 0 || pthread_mutex_trylock(&own.lock) != 0)
    return;
  if (ws_hint_load(&own.is_there) && own.pools > 0 && ws_rings_are_own()
      && pthread_getaffinity_np(own.thread, sizeof(has.mask), (cpu_set_t *)has.mask) == 0
      && ws_os_cpuset_count(&more) > ws_os_cpuset_count(&has)) // else it follows its cpuset
    pthread_setaffinity_np(own.thread, sizeof(more.mask), (const cpu_set_t *)more.mask);
  pthread_mutex_unlock(&own.lock);
}

void ws_scribe_catch_up(void)
{
  const uint64_t places = ws_stat_load(&own.places), until_ns = ws_os_now_ns() + CATCH_UP_NS;
  if (pthread_mutex_trylock(&own.lock) != 0)
    return;
  const bool is_there = ws_hint_load(&own.is_there) && own.pools > 0 && ws_rings_are_own();
  // [edge LATE acquire] the causes
  while (is_there && ws_load_acquire(&own.examined) < places && ws_os_now_ns() < until_ns) {
    ws_os_lend_class((int32_t)ws_hint_load(&own.tid));
    ws_os_futex_wake(&own.state, 1);
    ws_os_futex_wait(&own.state, ws_hint_load(&own.state), CATCH_UP_NS / 100);
  }
  if (is_there)
    pthread_setschedparam(own.thread, SCHED_IDLE, &(struct sched_param){0});
  pthread_mutex_unlock(&own.lock);
}

void ws_scribe_forget(void)
{
  pthread_mutex_init(&own.lock, NULL);
  ws_hint_store(&own.is_there, 0);
  own.pools = 0;
  kept = (memory_t){0};
}

int ws_scribe_copy(uint64_t key)
{
  // [edge LATE acquire] the rings, the folder. The child of a fork has neither
  if (!ws_load_acquire(&own.is_there) || !ws_rings_are_own() || !ws_file_folder()[0])
    return ENODATA;
  if (ws_stat_load(&own.asked) != key)
    ws_store_release(&own.asked, key); // [edge LATE release] only the key
  if (ws_load_acquire(&own.done) != key) // [edge LATE acquire] the error
    return -1;
  return (int)ws_stat_load(&own.error);
}
