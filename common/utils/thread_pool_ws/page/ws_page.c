// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_page.c
/// ws_page.h.
#define _GNU_SOURCE
#include "ws_page.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../include/ws_ledger.h"
#include "../include/ws_pool.h"
#include "../pool/ws_callback.h"
#include "../pool/ws_process.h"
#include "../record/ws_flight.h"
#include "../record/ws_held_file.h"
#include "../sleep/ws_budget.h"
#include "../sleep/ws_cap.h"

// As a reader of version 4 knows them.
_Static_assert(offsetof(ws_page_t, request) == 88 && offsetof(ws_page_t, part) == 4096
                   && offsetof(ws_page_part_t, stats) == 3704 && offsetof(ws_stats_t, decided) == 88
                   && offsetof(ws_worker_stats_t, state_ns) == 104
                   && offsetof(ws_prewake_stats_t, late_ns_p90) == 392 && sizeof(ws_page_part_t) == 31040,
               "raise WS_PAGE_VERSION");

#define FOLDER "/dev/shm"
#define PREFIX "thread_pool_ws.live"
#define FOUND_MAX 4096u ///< names in FOLDER that a process looks at for files of killed ones
#define TRIES 8u ///< names of a new file, until one is free
#define AGAIN_NS 5000000000u ///< until a guard without a place, or a file, tries again
/// Descriptors begin here: no file that the program opens soon gets the number, if it closes all.
#define FILE_MIN 100
#define TEXT 100u ///< of settings
#define LINE 400u ///< of the log

/// What the guard of a pool with a page remembers: nothing that stands in the page is believed.
struct ws_page_memory_s {
  uint32_t place; ///< of its part; WS_PAGE_POOLS = it has none yet
  uint64_t next_ns; ///< when it writes again
  bool is_unseen; ///< its part is not written, and a warning has named the reason
  /// The holder's last request, but for what: all that it has changed, and wanted: what was in force before.
  ws_page_request_t hold;
  ws_histogram_t starts; ///< workers write. If two do so at once, one value may get lost
  char line[LINE]; ///< for the log, "" = there is none
  ws_page_part_t part; ///< as it is written
};

/// The page of the process. A guard that does not get the lock looks later: it may wait for no thread.
static struct {
  pthread_mutex_t mutex;
  pid_t pid; ///< of the process that this is about
  uint32_t forks; ///< of it: a child may have its parent's number in a namespace
  bool ended; ///< the process ends: no file is made any more
  void *lock; ///< the mapping that holds it; NULL = there is no file
  int file; ///< descriptor of the file with that identity
  struct stat identity;
  char path[64];
  ws_page_head_t head;
  uint32_t pools; ///< that have a page: also those that found no place
  bool used[WS_PAGE_POOLS + 1]; ///< places; the last one never
} own;

/// Take the mutex. In the child of a fork begin anew: the page is the parent's, of which a guard that is not
/// there may have held the mutex.
static void lock_own(void)
{
  ws_os_fork_hold();
  if (own.pid != getpid() || own.forks != ws_process.forks) {
    memset(&own, 0, sizeof(own));
    ws_os_lock_init(&own.mutex);
    own.pid = getpid();
    own.forks = ws_process.forks;
    own.head = (ws_page_head_t){.magic = WS_PAGE_MAGIC, .version = WS_PAGE_VERSION, .pid = (uint64_t)own.pid};
  }
  ws_os_fork_let();
  pthread_mutex_lock(&own.mutex); // without the other: a guard that has this one may make a thread
}

/// Remove the files of this user's killed processes.
static void sweep(void)
{
  DIR *folder = opendir(FOLDER);
  const struct dirent *entry;
  for (uint32_t i = 0; folder && i < FOUND_MAX && (entry = readdir(folder)); i++)
    if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
      ws_held_file_is_left(dirfd(folder), entry->d_name, true);
  if (folder)
    closedir(folder);
}

/// @return how many names the file has; -1 = there is none, or the program has closed the descriptor, whose
///         number may be of another file by now
static int names(void)
{
  struct stat now;
  const bool is_own = own.lock && fstat(own.file, &now) == 0 && ws_held_file_is_same(&now, &own.identity);
  return is_own ? (int)now.st_nlink : -1;
}

/// Remove the file, if there is one, and then let go of the lock. No other process uses the file's name.
static void remove_page(void)
{
  if (!own.lock)
    return;
  unlink(own.path);
  if (names() >= 0)
    close(own.file);
  ws_held_file_let_go(&own.lock);
}

/// @return false: errno says why
static bool put(size_t at, const void *data, size_t bytes)
{
  errno = EBADF;
  return names() >= 0 && ws_held_file_put(own.file, data, bytes, at);
}

/// Make the file of that number: sets own.path, and own.lock, own.file and own.identity; or errno.
static void make_page(uint64_t number)
{
  snprintf(own.path, sizeof(own.path), FOLDER "/" PREFIX "%llu.%d", (unsigned long long)number, (int)own.pid);
  const int low = ws_held_file_make(own.path, &own.lock);
  if (low < 0)
    return;
  own.file = fcntl(low, F_DUPFD_CLOEXEC, FILE_MIN);
  const int error = errno; // of what has failed
  fstat(low, &own.identity);
  close(low);
  if (own.lock && own.file >= 0)
    return;
  unlink(own.path);
  close(own.file);
  ws_held_file_let_go(&own.lock);
  errno = error;
}

/// Make the file, if there is none, and room in it for the part. Sets the part's sequence, if it is 0, from
/// the file.
/// @return why there is no file with room for the part; NULL = there is
static const char *open_page(struct ws_page_memory_s *memory)
{
  const size_t at = offsetof(ws_page_t, part[memory->place]), bytes = sizeof(memory->part);
  struct statfs system;
  if (statfs(FOLDER, &system) != 0 || system.f_type != TMPFS_MAGIC)
    return "no tmpfs, and a disk may let a write wait. In Kubernetes: an emptyDir with medium: Memory";
  if (!ws_held_file_may_have(at + bytes))
    return strerror(errno);
  own.head.pools = own.head.pools > memory->place ? own.head.pools : memory->place + 1;
  if (!own.path[0]) // not in a guard, which has other things to do
    sweep();
  for (uint32_t i = 0; i < TRIES && !own.lock; i++)
    make_page(ws_os_now_ns() + i);
  uint32_t before = 0; // of the pool that had the place before
  const bool is_there = own.lock && put(0, &own.head, sizeof(own.head))
                        && fallocate(own.file, 0, (off_t)at, (off_t)bytes) == 0
                        && pread(own.file, &before, sizeof(before), (off_t)at) == sizeof(before);
  memory->part.sequence = memory->part.sequence ? memory->part.sequence : before & ~1u;
  return is_there ? NULL : strerror(errno);
}

/// The process ends, or the library is unloaded. The guard of a pool that is left makes no file any more.
__attribute__((destructor)) static void end_page(void)
{
  lock_own();
  remove_page();
  own.ended = true;
  pthread_mutex_unlock(&own.mutex);
}

static ws_page_settings_t in_force(const struct ws_pool_s *pool)
{
  return (ws_page_settings_t){.spin = ws_spin_mode(pool),
                              .spin_cpu_max = ws_spin_percent(pool),
                              .lead_ns = ws_spin_lead_ns(pool),
                              .deadline_ns = ws_flight_deadline_ns(pool),
                              .cap = ws_awake_cap(pool)};
}

static const char *settings_text(char text[TEXT], const ws_page_settings_t *settings)
{
  static const char *const modes[] = {"off", "fixed", "auto", "hot"};
  char deadline[32] = "auto";
  if (settings->deadline_ns != WS_DEADLINE_AUTO)
    snprintf(deadline, sizeof(deadline), "%.3f us", (double)settings->deadline_ns / 1000);
  snprintf(text, TEXT, "spin=%s lead=%u us spin_cpu_max=%u cap=%u deadline=%s", modes[settings->spin],
           (unsigned)(settings->lead_ns / 1000), settings->spin_cpu_max, settings->cap, deadline);
  return text;
}

/// @return why nothing of the request may be done; NULL = all of it may be
static const char *check(const struct ws_pool_s *pool, uint32_t what, const ws_page_settings_t *wanted)
{
  const uint64_t deadline_ns = wanted->deadline_ns;
  if (what == 0 || what & ~WS_PAGE_ALL || (what & WS_PAGE_HOLD && what & WS_PAGE_RECORD))
    return "this version of the pool cannot change that while it runs";
  if (what & WS_PAGE_SPIN && (wanted->spin > WS_SPIN_HOT || wanted->lead_ns > WS_SPIN_LEAD_NS_MAX))
    return "spin is none of off, fixed, auto, hot, or its lead is above 10000 us";
  if (what & WS_PAGE_SPIN_CPU_MAX && wanted->spin_cpu_max > 100)
    return "spin_cpu_max is above 100 %";
  if (what & WS_PAGE_CAP && wanted->cap > pool->workers)
    return "cap is above the number of workers";
  if (what & WS_PAGE_DEADLINE && deadline_ns != WS_DEADLINE_AUTO && deadline_ns > WS_SPIN_LEAD_NS_MAX)
    return "deadline_us is none of auto, 0.001 to 10000, and 0 for none";
  return NULL;
}

/// Do what was checked. @return why nothing is done; NULL = all is
static const char *apply(struct ws_pool_s *pool, uint32_t what, const ws_page_settings_t *wanted)
{
  if (what & WS_PAGE_DEADLINE && !ws_flight_judge(pool, wanted->deadline_ns))
    return "no memory is left for the events that show what is late";
  if (what & WS_PAGE_SPIN)
    ws_pool_set_spin(pool, (ws_spin_t)wanted->spin, wanted->lead_ns);
  if (what & WS_PAGE_SPIN_CPU_MAX)
    ws_pool_set_spin_cpu_max(pool, wanted->spin_cpu_max);
  if (what & WS_PAGE_CAP)
    ws_awake_cap_set(pool, wanted->cap);
  return NULL;
}

/// Do all that the request asks, or nothing. Sets known.was, known.is and known.reason, and the log's line.
/// @param how  for the line. @param refused  why it is nothing; NULL = it was checked
static void change(struct ws_pool_s *pool, const ws_page_request_t *request, const char *how,
                   const char *refused)
{
  struct ws_page_memory_s *memory = pool->live.memory;
  ws_page_known_t *known = &memory->part.known;
  char was[TEXT], is[TEXT];
  known->was = in_force(pool);
  const char *why = refused ? refused : apply(pool, request->what, &request->wanted);
  known->is = in_force(pool);
  snprintf(known->reason, sizeof(known->reason), "%s", why ? why : "");
  snprintf(memory->line, LINE, "pool %s, %s process %u (%s): %s%s%s", known->name, how, request->pid,
           request->who, why ? "refused" : settings_text(was, &known->was), why ? ": " : " -> ",
           why ? why : settings_text(is, &known->is));
}

/// @param what  F_OFD_SETLK; or F_OFD_GETLK: only see whether it could be done
/// @return false: another program has it, or the call fails
static bool lock_byte(int what, short kind, uint32_t byte)
{
  struct flock range = {.l_type = kind, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  return fcntl(own.file, what, &range) == 0 && (what == F_OFD_SETLK || range.l_type == F_UNLCK);
}

/// @param request  a new one to the pool; else its number is 0
/// @return false: the file was cut short, or does not begin as a page
static bool read_request(const struct ws_page_memory_s *memory, ws_page_request_t *request)
{
  struct {
    ws_page_head_t head;
    ws_page_request_t request;
  } top;
  const ws_page_known_t *known = &memory->part.known;
  if (pread(own.file, &top, sizeof(top), 0) != sizeof(top) || top.head.magic != WS_PAGE_MAGIC)
    return false;
  *request = top.request;
  if (request->pool != known->id || request->number == known->answered)
    request->number = 0;
  request->who[sizeof(request->who) - 1] = '\0';
  for (char *letter = request->who; *letter; letter++) // for the log
    *letter = *letter < ' ' || *letter > '~' ? '?' : *letter;
  return true;
}

/// Fill the last place: tasks and parks of the threads outside, and of the workers that have no place.
static void sum_rest(const struct ws_pool_s *pool, ws_page_part_t *part)
{
  ws_worker_stats_t *rest = &part->worker[WS_PAGE_WORKERS].stats;
  *rest = part->stats.outside;
  for (uint32_t i = WS_PAGE_WORKERS; i < part->stats.workers; i++) {
    const ws_counters_t *count = &pool->worker[i]->queue.count;
    const uint64_t inlined = ws_stat_load(&count->inlined), run = ws_stat_load(&count->run);
    rest->run_tasks += run > inlined ? run - inlined : 0;
    rest->inline_tasks += inlined;
    rest->stolen_tasks += ws_stat_load(&count->stolen);
    rest->parks += ws_stat_load(&count->parks);
  }
}

/// Fill the part from the pool's counters, and write it. @return false: errno says why
static bool write_part(const struct ws_pool_s *pool, struct ws_page_memory_s *memory)
{
  ws_page_part_t *part = &memory->part;
  part->known.real_ns = ws_os_real_ns();
  part->known.is = in_force(pool);
  ws_pool_ledger_sized(pool, (ws_ledger_t *)part->ledger, sizeof(part->ledger));
  const ws_histogram_t *ends = ws_flight_ends(pool);
  for (uint32_t i = 0; i < WS_HISTOGRAM_BUCKETS; i++) {
    part->starts[i] = ws_stat_load(&memory->starts.count[i]);
    part->ends[i] = ends ? ws_stat_load(&ends->count[i]) : 0;
  }
  ws_pool_prewake_stats(pool, &part->prewake);
  const ws_stats_out_t out = {&part->stats, sizeof(part->stats), &part->worker[0].stats,
                              sizeof(part->worker[0]), WS_PAGE_WORKERS};
  ws_pool_stats_sized(pool, &out);
  sum_rest(pool, part);
  // Now: ws_pool_stats_sized() has filled the rest of each place with 0.
  for (uint32_t i = 0; i < pool->workers && i < WS_PAGE_WORKERS; i++) {
    part->worker[i].tid = ws_tid(pool->worker[i]);
    part->worker[i].cpu = (int32_t)ws_hint_load(&pool->worker[i]->seen_cpu) - 1;
  }
  const size_t at = offsetof(ws_page_t, part[memory->place]);
  part->sequence++; // odd, in the part, too
  const bool is_put = put(at, part, sizeof(part->sequence)) && put(at, part, sizeof(*part));
  part->sequence++;
  return is_put && put(at, part, sizeof(part->sequence));
}

/// If the program that holds the pool is gone, set back what it has changed; else answer a new request. One
/// for a copy of the record stays unanswered until that is there.
static void take_request(struct ws_pool_s *pool)
{
  struct ws_page_memory_s *memory = pool->live.memory;
  ws_page_known_t *known = &memory->part.known;
  ws_page_request_t request;
  const bool is_there = read_request(memory, &request) && !lock_byte(F_OFD_GETLK, F_WRLCK, WS_PAGE_ASKER);
  if (known->held && !(is_there && request.session == memory->hold.session)) {
    known->held = 0;
    change(pool, &memory->hold, "no longer held by", NULL);
  } else if (is_there && request.number != 0) {
    const uint64_t key = request.session ^ (uint64_t)request.number << 32;
    const char *refused = check(pool, request.what, &request.wanted);
    if (!refused && request.what & WS_PAGE_RECORD)
      refused = ws_flight_copy(key);
    if (refused && strcmp(refused, WS_FLIGHT_LATER) == 0)
      return; // it is answered when the copy is there
    known->answered = request.number;
    change(pool, &request, "asked by", refused);
    if (!(request.what & WS_PAGE_HOLD) || known->reason[0])
      return;
    request.what |= known->held ? memory->hold.what : 0;
    request.wanted = known->held ? memory->hold.wanted : known->was;
    memory->hold = request;
    known->held = 1;
  }
}

/// With the mutex. Take a request, write the pool's part, and make the file for it anew if need be.
/// @return why the pool's part is not written; NULL = it is, or the process ends
static const char *look_into(struct ws_pool_s *pool)
{
  struct ws_page_memory_s *memory = pool->live.memory;
  ws_page_request_t request = {0};
  if (own.ended)
    return NULL;
  const bool is_whole = names() > 0 && read_request(memory, &request);
  if (!is_whole) // systemd has removed it at a logout, or the user did
    remove_page();
  const char *why = is_whole && memory->part.sequence ? NULL : open_page(memory);
  const bool is_due = request.number != 0 || memory->part.known.held;
  if (why)
    return why;
  const bool takes = is_due && lock_byte(F_OFD_SETLK, F_WRLCK, WS_PAGE_TAKE); // else it is being written
  if (takes)
    take_request(pool);
  why = write_part(pool, memory) ? NULL : strerror(errno);
  if (takes)
    lock_byte(F_OFD_SETLK, F_UNLCK, WS_PAGE_TAKE);
  return why;
}

/// Give the pool a place, if it has none, take a request, write the part; report a failure, and what a
/// request did. On the guard after each of its sleeps, and once in ws_page_begin(). Before next_ns nothing
/// happens, nor while another thread has the mutex.
static void look(struct ws_pool_s *pool)
{
  struct ws_page_memory_s *memory = pool->live.memory;
  const uint64_t now_ns = ws_os_now_ns();
  if (now_ns < memory->next_ns || pthread_mutex_trylock(&own.mutex) != 0)
    return;
  memory->line[0] = '\0';
  memory->part.known.written_ns = now_ns;
  if (memory->place == WS_PAGE_POOLS)
    for (memory->place = 0; own.used[memory->place];)
      memory->place++;
  own.used[memory->place] = memory->place < WS_PAGE_POOLS;
  const char *why = memory->place < WS_PAGE_POOLS ? look_into(pool) : "it has room for 1024 pools";
  if (why)
    memcpy(own.head.unseen_name, memory->part.known.name, sizeof(own.head.unseen_name));
  if (why || memory->is_unseen) {
    own.head.unseen += (why != NULL) - (uint32_t)memory->is_unseen;
    put(0, &own.head, sizeof(own.head));
  }
  pthread_mutex_unlock(&own.mutex);
  memory->next_ns = now_ns + (why ? AGAIN_NS : WS_PAGE_NS);
  if (why && !memory->is_unseen)
    ws_warn(&pool->settings, "live=1: tpool-ws does not see pool %s: " FOLDER ": %s", memory->part.known.name,
            why);
  memory->is_unseen = why;
  if (memory->line[0])
    ws_warn(&pool->settings, "%s", memory->line);
}

void ws_page_begin(struct ws_pool_s *pool)
{
  const bool has_page = pool->settings.live && pool->workers > 0;
  struct ws_page_memory_s *memory = has_page ? calloc(1, sizeof(*memory)) : NULL;
  if (has_page && !memory)
    ws_warn(&pool->settings, "live=1: tpool-ws does not see pool %s: no memory", pool->settings.name);
  if (!memory)
    return;
  memory->part.known.id = pool->id;
  snprintf(memory->part.known.name, sizeof(memory->part.known.name), "%s", pool->settings.name);
  pool->live = (ws_live_t){look, WS_PAGE_NS, &memory->starts, memory};
  memory->place = WS_PAGE_POOLS;
  lock_own();
  own.pools++;
  pthread_mutex_unlock(&own.mutex);
  look(pool); // until the guard's first
}

void ws_page_end(struct ws_pool_s *pool)
{
  struct ws_page_memory_s *memory = pool->live.memory;
  if (!memory)
    return;
  lock_own();
  own.used[memory->place] = false;
  own.head.unseen -= memory->is_unseen;
  if (--own.pools == 0)
    remove_page();
  if (memory->place < WS_PAGE_POOLS)
    put(offsetof(ws_page_t, part[memory->place].known.id), &(uint64_t){0}, sizeof(uint64_t));
  put(0, &own.head, sizeof(own.head));
  pthread_mutex_unlock(&own.mutex);
  pool->live = (ws_live_t){0};
  free(memory);
}
