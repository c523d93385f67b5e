// SPDX-License-Identifier: BSD-3-Clause
/// @file test_record.c
/// The record's files: whole after any end of the process, private, bounded; and what happens without them.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../include/ws_ledger.h"
#include "../../../record/ws_file.h"
#include "../../../record/ws_flight.h"
#include "../../../record/ws_journal_write.h"
#include "../../../record/ws_seen.h"
#include "../../support/ws_seam.h"

static char folder[] = "/tmp/ws-record-XXXXXX";
static bool has_locks = true;

/// As on NFS: a file that is not open for writing cannot be locked.
int flock(int file, int how)
{
  const bool writes = (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY;
  errno = has_locks ? EBADF : ENOLCK;
  return has_locks && writes ? (int)syscall(SYS_flock, file, how) : -1;
}

/// Threads keep the class of their creator: beside other programs a scribe of class IDLE gets a CPU each few
/// seconds.
int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
  (void)thread, (void)policy, (void)param;
  return 0;
}

typedef struct {
  uint32_t records, windows, journals, ended; ///< ended: records that say so
  uint32_t noted; ///< windows with what a thread had used before they begin
  bool is_whole; ///< each file begins as it should, and each record has a ring
  bool is_private;
} files_t;

static bool has_note(int file, uint64_t since_ns)
{
  static ws_event_ring_t ring;
  bool found = false;
  off_t at = sizeof(ws_file_head_t);
  for (; pread(file, &ring, sizeof(ring), at) == sizeof(ring); at += (off_t)sizeof(ring))
    for (uint32_t i = 0; i < WS_RING_EVENTS; i++) {
      const ws_seen_t it = ws_event_read(&ring.event[i]);
      found |= it.kind == WS_NOTE_USED && it.ns < since_ns;
    }
  return found;
}

/// @param takes  delete them
static files_t look_at_files(bool takes)
{
  files_t found = {.is_whole = true, .is_private = true};
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    const char *end = strstr(entry->d_name, ".record");
    struct stat about;
    static ws_file_head_t head;
    if (entry->d_name[0] == '.' || fstatat(dirfd(dir), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    found.is_private &= about.st_mode == (S_IFREG | 0600);
    *(!end ? &found.journals : end[7] == '.' ? &found.windows : &found.records) += 1;
    const int file = openat(dirfd(dir), entry->d_name, O_RDONLY);
    head.until_ns = 0;
    found.is_whole &=
        !end
        || (read(file, &head, sizeof(head)) == sizeof(head) && memcmp(head.magic, "WSREC005", 8) == 0
            && (end[7] == '.' || about.st_size >= (off_t)(sizeof(ws_file_head_t) + sizeof(ws_event_ring_t))));
    found.noted += end && end[7] == '.' && has_note(file, head.since_ns);
    found.ended += end && end[7] == '\0' && head.until_ns == UINT64_MAX;
    close(file);
    if (takes)
      unlinkat(dirfd(dir), entry->d_name, 0);
  }
  closedir(dir);
  return found;
}

static bool is_written(void *unused)
{
  const files_t found = look_at_files(false);
  return found.records == 1 && found.journals == 1 && found.is_whole;
}

static void add_bursts(void *sum, const ws_journal_minute_t *minute)
{
  *(uint64_t *)sum += minute->bursts;
}

/// @return of all journals
static uint64_t bursts_in_journals(void)
{
  uint64_t sum = 0;
  ws_journal_minutes(folder, 0, 0, add_bursts, &sum);
  return sum;
}

#define HOUR_NS 3600000000000u
static ws_au64_t ahead_ns; ///< of the clock
static uint32_t room_mb = WS_RECORD_MB;

/// @return a pool that has run a burst
static ws_pool_t *recorded_pool(const char *where, uint64_t deadline_ns)
{
  ws_settings_t settings = test_settings(2);
  settings.deadline_ns = deadline_ns;
  settings.record_mb = room_mb;
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, "record", where), 0);
  ws_pool_t *pool = test_create(&settings);
  test_burst(pool, 10, test_empty_task, NULL);
  return pool;
}

static int die(void *unused)
{
  recorded_pool(folder, 0);
  return test_until(is_written, NULL) ? raise(SIGKILL) : 1;
}

/// @return whether the record has a ring of the thread
static bool has_ring(int32_t tid)
{
  bool found = false;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    const int file = openat(dirfd(dir), entry->d_name, O_RDONLY);
    uint64_t ring[3]; // head, who, tid
    for (off_t at = sizeof(ws_file_head_t);
         strstr(entry->d_name, ".record") && pread(file, ring, sizeof(ring), at) == sizeof(ring);
         at += sizeof(ws_event_ring_t))
      found |= ring[0] > 0 && (int32_t)ring[2] == tid;
    close(file);
  }
  closedir(dir);
  return found;
}

static ws_au32_t met;

/// Each worker runs one of these, so that it has a ring.
static void meet(void *unused)
{
  ws_add_relaxed(&met, 1);
  while (ws_load_relaxed(&met) < 2)
    test_sleep_ms(1);
}

static int32_t ended;

static void *one_burst(void *pool)
{
  ended = gettid();
  test_burst(pool, 10, test_empty_task, NULL);
  return NULL;
}

/// A thread outside has ended before the scribe has written anything. A guard that helps may take its ring.
static int end_soon(void *unused)
{
  pthread_t thread;
  ws_pool_t *pool = recorded_pool(folder, 0);
  test_on_workers(pool, 2, meet, NULL);
  const uint64_t looks = test_stats(pool).guard_looks;
  pthread_create(&thread, NULL, one_burst, pool);
  pthread_join(thread, NULL);
  const bool has_helped = test_stats(pool).guard_looks > looks;
  ws_pool_destroy(pool);
  return has_ring(ended) || has_helped ? 0 : 1;
}

/// The child of a fork must not write into its parent's file, nor count its parent's bursts, also if it is
/// process 1 of a namespace in that of its parent, which is process 1 of a container.
static int fork_inside(void *unused)
{
  ws_pool_t *pool = recorded_pool(folder, 0);
  int status = !test_until(is_written, NULL); // else a child may have the first journal
  for (uint32_t is_namesake = 0; is_namesake < 2; is_namesake++) {
    test_burst(pool, 10, test_empty_task, NULL); // which the scribe has hardly counted
    const pid_t child = test_fork();
    if (child == 0) {
      ws_rings.pid = is_namesake ? (uint32_t)getpid() : ws_rings.pid;
      ws_pool_destroy(recorded_pool(folder, 0));
      exit(ws_rings.pid != (uint32_t)getpid());
    }
    status |= test_status_of(child);
  }
  status |= look_at_files(false).records < 2; // its own, and that of the last child
  // Now it looks at the folder: else a look that is due meanwhile would decide whether two or three stay.
  ws_hint_store(&ahead_ns, HOUR_NS);
  ws_pool_destroy(pool);
  return status || ws_rings.pid != (uint32_t)getpid() || bursts_in_journals() != 5;
}

/// The pool runs, and its bursts are judged.
static int without_room(void *unused)
{
  ws_ledger_t ledger;
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 16, 1 << 16});
  ws_pool_t *pool = recorded_pool(folder, 0);
  ws_pool_ledger(pool, &ledger);
  ws_pool_destroy(pool);
  return ledger.bursts != 1 || test_warnings_with("File too large; the record lacks") > 1;
}

static int without_locks(void *unused)
{
  has_locks = false;
  ws_pool_destroy(recorded_pool(folder, 0));
  return ws_journal_write(ws_os_real_ns(), 0, 0, 0, true) || errno != ENOLCK;
}

static int without_folder(void *unused)
{
  recorded_pool("/proc/self/no", 0);
  return test_warnings_with("record (TPOOL_WS_RECORD) /proc/self/no: No such file or directory") != 1;
}

static int too_late(void *unused)
{
  ws_settings_t settings = test_settings(1);
  settings.deadline_ns = 1;
  test_create(&settings);
  recorded_pool(folder, 0);
  return test_warnings_with("a pool before this one began without; there is no record") != 1;
}

static void exit_in_warning(void *unused, const char *message)
{
  exit(strstr(message, "there is no record") ? 0 : 2);
}

/// The host's function is called without a lock that the end of the process, or a fork, needs.
static int warn_and_exit(void *unused)
{
  ws_settings_t settings = test_settings(1);
  snprintf(settings.record, sizeof(settings.record), "/proc/self/no");
  settings.warn = exit_in_warning;
  test_create(&settings);
  return 1;
}

static void *live_while_cancelled(void *goes_on)
{
  pthread_cancel(pthread_self());
  ws_pool_destroy(recorded_pool(folder, 0));
  *(bool *)goes_on = true;
  return NULL;
}

/// The request acts neither in the creation nor in the end of the pool, which have locks of the process.
static int be_cancelled(void *unused)
{
  pthread_t thread;
  bool goes_on = false;
  pthread_create(&thread, NULL, live_while_cancelled, &goes_on);
  pthread_join(thread, NULL);
  return goes_on ? 0 : 1;
}

/// The folder is named as it was when the pool began.
static int go_elsewhere(void *unused)
{
  if (chdir(folder) != 0)
    return 1;
  ws_pool_t *pool = recorded_pool(".", 0);
  if (chdir("/") != 0)
    return 1;
  ws_pool_destroy(pool);
  return 0;
}

/// A user, or logrotate, takes the file away or cuts it short: it is made, or filled, again.
static int lose_file(void *unused)
{
  ws_pool_t *pool = recorded_pool(folder, 0);
  char command[sizeof(folder) + 40];
  for (uint32_t cut = 0; cut < 2; cut++) {
    if (!test_until(is_written, NULL))
      return 1;
    snprintf(command, sizeof(command), cut ? "truncate -s 0 %s/*.record" : "rm %s/*.record", folder);
    if (system(command) != 0 || !test_until(is_written, NULL))
      return 2 + (int)cut;
  }
  ws_pool_destroy(pool);
  return 0;
}

static bool is_examined(void *pool)
{
  ws_ledger_t ledger;
  ws_pool_ledger(pool, &ledger);
  return ledger.bursts == 101 && ledger.late == 101 && ledger.by[WS_CAUSE_UNSEEN].bursts == 0;
}

static bool has_names(void *unused)
{
  static ws_file_head_t head;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));) {
    const int file = openat(dirfd(dir), entry->d_name, O_RDONLY);
    if (strstr(entry->d_name, ".record") && read(file, &head, sizeof(head)) < (ssize_t)sizeof(head))
      head.maps[0] = '\0';
    close(file);
  }
  closedir(dir);
  return strstr(head.maps, "/libBrokenLocale") && strstr(head.maps, "/libc.");
}

/// A plug-in comes when the pool has long been there, in a program with very many mappings.
static int load_plugin(void *unused)
{
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 5000;
  char *many = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; i < pages; i += 2) // each is a line of /proc/self/maps
    mprotect(many + i * page, page, PROT_READ);
  ws_pool_t *pool = recorded_pool(folder, 0);
  bool is_named = test_until(is_written, NULL);
  is_named &= !dlopen("libBrokenLocale.so.1", RTLD_NOW) || test_until(has_names, NULL); // musl has none
  ws_pool_destroy(pool);
  return is_named ? 0 : 1;
}

static bool holds_next; ///< the next thread that the pool makes, the scribe, waits for:
static sem_t may_begin;
static void *(*scribe)(void *);

static void *begin_late(void *arg)
{
  while (sem_wait(&may_begin) != 0)
    ;
  return scribe(arg);
}

static int ws_os_thread_create_seam(pthread_t *thread, size_t stack_bytes, uint64_t patience_ns,
                                    void *(*func)(void *), void *arg)
{
  if (holds_next)
    scribe = func;
  func = holds_next ? begin_late : func;
  holds_next = false;
  return __real_ws_os_thread_create(thread, stack_bytes, patience_ns, func, arg);
}

static void count_worst(void *count, const char *line)
{
  *(uint32_t *)count += strstr(line, "over its limit") != NULL;
}

static bool is_reported(void *pool)
{
  uint32_t count = 0;
  ws_pool_report(pool, count_worst, &count);
  return count == 3;
}

/// @return a pool that makes no windows: its first ten seconds end in an hour, however slow the machine is
static ws_pool_t *calm_pool(void)
{
  ws_hint_store(&ahead_ns, HOUR_NS);
  ws_pool_t *pool = recorded_pool(folder, 1);
  ws_hint_store(&ahead_ns, 0);
  return pool;
}

/// Each burst is later than its deadline, and gets a cause and a place in the journal, also before the scribe
/// has got a CPU. At a start that makes no windows.
static int be_late(void *unused)
{
  sem_init(&may_begin, 0, 0);
  holds_next = true;
  ws_pool_t *pool = calm_pool();
  for (uint32_t i = 0; i < 100; i++)
    test_burst(pool, 10, test_empty_task, NULL);
  sem_post(&may_begin);
  const bool examined = test_until(is_examined, pool) && test_until(is_reported, pool);
  ws_pool_destroy(pool);
  return examined ? 0 : 1;
}

static uint64_t ws_os_now_ns_seam(void)
{
  return __real_ws_os_now_ns() + ws_hint_load(&ahead_ns);
}

static bool has_windows(void *count)
{
  return look_at_files(false).windows == *(const uint32_t *)count;
}

/// Of each hour the worst burst has a window, and the newest eight bursts of different seconds. In each it is
/// known what threads had used before.
static int be_late_for_hours(void *unused)
{
  const uint64_t second_ns = 1000000000u;
  ws_pool_t *pool = calm_pool();
  for (uint32_t i = 0; i < 100; i++)
    test_burst(pool, 10, test_empty_task, NULL);
  bool good = test_until(is_examined, pool) && has_windows(&(uint32_t){0});
  for (uint32_t hour = 3; hour <= 4; hour++) {
    ws_hint_store(&ahead_ns, 0);
    const uint64_t now_ns = ws_os_now_ns();
    ws_hint_store(&ahead_ns, (now_ns / HOUR_NS + hour) * HOUR_NS - now_ns);
    for (uint32_t newest = 1; newest <= 5; newest++) {
      const uint32_t all = newest + 5 * (hour - 3);
      ws_hint_store(&ahead_ns, ws_hint_load(&ahead_ns) + 2 * second_ns);
      test_burst(pool, 10, test_empty_task, NULL);
      good &= test_until(has_windows, &(uint32_t){hour - 2 + (all < 8 ? all : 8)});
    }
  }
  ws_hint_store(&ahead_ns, 0);
  ws_pool_destroy(pool);
  const files_t found = look_at_files(false);
  return good && found.noted == found.windows ? 0 : 1;
}

static const char *answer;

static bool is_answered(void *key)
{
  answer = ws_flight_copy(*(uint64_t *)key);
  return !answer || strcmp(answer, WS_FLIGHT_LATER) != 0;
}

/// The answer comes after the copy, and says if there is none.
static int copy_now(void *unused)
{
  ws_pool_t *pool = recorded_pool(folder, UINT64_MAX / 4);
  const bool is_copied = test_until(is_answered, &(uint64_t){7}) && !answer;
  const bool is_there = look_at_files(false).windows == 1;
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 16, RLIM_INFINITY});
  const bool is_refused = test_until(is_answered, &(uint64_t){8}) && answer && strstr(answer, "too large");
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
  ws_pool_destroy(pool);
  return is_copied && is_there && is_refused ? 0 : 1;
}

static void *ask_early(void *unused)
{
  ws_flight_widen();
  answer = ws_flight_copy(7);
  return unused;
}

/// A pool without a record may be asked, and its guard begin, while another pool begins the record.
static int copy_beside_begin(void *unused)
{
  pthread_t thread;
  pthread_create(&thread, NULL, ask_early, NULL);
  ws_pool_t *pool = recorded_pool(folder, 0);
  pthread_join(thread, NULL);
  const bool is_copied = test_until(is_answered, &(uint64_t){7}) && !answer;
  ws_pool_destroy(pool);
  return is_copied ? 0 : 1;
}

/// A pool for each job: the later one's copy replaces the first one's.
static int copy_in_each_life(void *unused)
{
  bool is_copied = true;
  for (uint64_t key = 7; key < 9; key++) {
    ws_pool_t *pool = recorded_pool(folder, 0);
    is_copied &= test_until(is_answered, &key) && !answer;
    ws_pool_destroy(pool);
  }
  return is_copied ? 0 : 1;
}

static ws_au32_t frozen; ///< 1 = the disk is (fsfreeze)
static ws_au32_t waits; ///< 1 = a write has waited for it
static ws_au32_t written; ///< events of the first thread

static bool ws_held_file_put_seam(int file, const void *data, size_t bytes, uint64_t at)
{
  while (ws_hint_load(&frozen)) {
    ws_hint_store(&waits, 1);
    test_sleep_ms(1);
  }
  const uint64_t *begin = data; // of a ring: head, who, tid, and two of its name
  if (bytes == 5 * sizeof(*begin) && begin[2] == (uint64_t)getpid())
    ws_hint_store(&written, (uint32_t)begin[0]);
  return __real_ws_held_file_put(file, data, bytes, at);
}

static bool is_stuck(void *unused)
{
  return ws_hint_load(&waits);
}

static bool is_all_written(void *unused)
{
  return ws_hint_load(&written) == ws_hint_load(&((ws_event_ring_t *)ws_self()->ring)->head);
}

/// The third push counts into the event of the second one, which was written.
static int push_beside_write(void *unused)
{
  ws_group_t group;
  ws_group_init(&group, 3);
  ws_pool_t *pool = recorded_pool(folder, 0);
  const ws_task_t task = {.func = test_empty_task, .group = &group};
  ws_pool_push(pool, task);
  ws_pool_push(pool, task);
  const bool good = test_until(is_all_written, NULL);
  ws_pool_push(pool, task);
  ws_group_wait(&group, pool);
  ws_pool_destroy(pool);
  return good ? 0 : 1;
}

/// @return whether the end of a pool comes back while the disk is frozen, and says so
static bool end_frozen(void)
{
  ws_pool_t *pool = recorded_pool(folder, 0);
  ws_hint_store(&waits, 0);
  ws_hint_store(&frozen, 1);
  const bool stuck = test_until(is_stuck, NULL);
  test_warnings.count = 0;
  ws_pool_destroy(pool);
  return stuck && test_warnings_with("the record is not written") == 1;
}

/// The next pool has the scribe that was left, or another one if it has ended.
static int freeze(void *unused)
{
  for (uint32_t melts = 0; melts < 2; melts++) {
    const bool good = end_frozen();
    ws_hint_store(&frozen, !melts);
    ws_pool_t *next = recorded_pool(folder, 0);
    ws_hint_store(&frozen, 0);
    ws_pool_destroy(next);
    if (!good)
      return 1;
  }
  return 0;
}

static void *melt(void *unused)
{
  test_sleep_ms(50);
  ws_hint_store(&frozen, 0);
  return unused;
}

/// The end of the library waits for the scribe that was left in a write: its code and the rings are to go.
static int exit_frozen(void *unused)
{
  pthread_t thread;
  return !end_frozen() || pthread_create(&thread, NULL, melt, NULL) != 0 || pthread_detach(thread) != 0;
}

/// Restarted again and again.
static int live_often(void *unused)
{
  for (uint32_t i = 0; i < 6; i++) {
    const pid_t child = test_fork();
    if (child == 0) {
      ws_pool_destroy(recorded_pool(folder, 0));
      exit(0);
    }
    test_status_of(child);
  }
  return 0;
}

/// The journal alone is more than the bound: it stays in the next life.
static int live_in_little_room(void *unused)
{
  char journal[sizeof(folder) + 40];
  snprintf(journal, sizeof(journal), "%s/tpool-ws-test_record.journal", folder);
  room_mb = 1;
  live_often(NULL);
  const int file = open(journal, O_WRONLY);
  const int error = posix_fallocate(file, 2 << 20, 2 << 20);
  live_often(NULL);
  return error || bursts_in_journals() != 12;
}

/// In a container each life may be process 1: the report has the late bursts of this one only.
static int be_namesake(void *unused)
{
  ws_journal_burst_t worst[WS_FLIGHT_WORST], late = {.real_ns = ws_os_real_ns(), .length_ns = 1};
  ws_journal_begin(folder, "namesake", (uint32_t)getpid(), 1);
  late.pool = (uint32_t)ws_stat_load(&ws_process.pool_ids) + 1; // other tests have made pools, too
  ws_journal_late(&late);
  const bool good = ws_journal_write(late.real_ns, 0, 0, 0, true);
  ws_journal_end();
  const ws_pool_t *pool = recorded_pool(folder, 0);
  return !good || pool->id != late.pool || ws_flight_worst(pool, worst) != 0;
}

/// The end of the process waits for the scribe, however long a busy machine gives it no CPU.
static int in_process(void *child)
{
  exit((*(int (*const *)(void *))child)(NULL));
}

TEST_CASE(the_files_are_whole_private_and_few)
{
  static const struct {
    int (*child)(void *unused);
    int status;
    uint32_t records, journals, windows;
    bool is_cut;
  } rows[] = {
      {end_soon, 0, 1, 1, 0, false},
      {die, 128 + SIGKILL, 1, 1, 0, false},
      {fork_inside, 0, 2, 2, 0, false},
      {without_room, 0, 1, 1, 0, true},
      {without_locks, 0, 1, 1, 0, false},
      {without_folder, 0, 0, 0, 0, false},
      {too_late, 0, 0, 0, 0, false},
      {warn_and_exit, 0, 0, 0, 0, false},
      {be_cancelled, 0, 1, 1, 0, false},
      {go_elsewhere, 0, 1, 1, 0, false},
      {lose_file, 0, 1, 1, 0, false},
      {be_late, 0, 1, 1, 0, false},
      {be_late_for_hours, 0, 1, 1, 10, false},
      {copy_now, 0, 1, 1, 1, false},
      {copy_beside_begin, 0, 1, 1, 1, false},
      {copy_in_each_life, 0, 1, 1, 1, false},
      {load_plugin, 0, 1, 1, 0, false},
      {live_often, 0, 2, 1, 0, false},
      {push_beside_write, 0, 1, 1, 0, false},
      {freeze, 0, 1, 1, 0, false},
      {exit_frozen, 0, 1, 1, 0, false},
      {be_namesake, 0, 1, 2, 0, false},
      {live_in_little_room, 0, 1, 1, 0, false},
  };
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
#ifdef WS_TSAN // it starts no thread in the child of a process that has several
    if (rows[i].child == fork_inside)
      continue;
#endif
    const int status = test_in_child(in_process, (void *)&rows[i].child);
    const files_t found = look_at_files(true);
    if (status != rows[i].status || found.windows != rows[i].windows || found.records != rows[i].records)
      printf("row %u ends with %d, %u records, %u windows\n", i, status, found.records, found.windows);
    CU_ASSERT_EQUAL(status, rows[i].status);
    CU_ASSERT_EQUAL(found.records, rows[i].records);
    CU_ASSERT_EQUAL(found.journals, rows[i].journals);
    CU_ASSERT_EQUAL(found.windows, rows[i].windows);
    CU_ASSERT_EQUAL(found.ended, rows[i].status == 0 && !rows[i].is_cut ? rows[i].records : 0);
    CU_ASSERT_TRUE(found.is_private && (found.is_whole || rows[i].is_cut));
  }
  CU_ASSERT_EQUAL(rmdir(folder), 0);
}

/// @return the kind of the event in this thread's ring that follows the last one of that kind
static ws_note_t event_after(ws_note_t kind)
{
  const ws_event_ring_t *ring = ws_self()->ring;
  uint64_t at = ws_stat_load(&ring->head);
  ws_note_t after = WS_NOTE_NONE;
  for (ws_seen_t it; ws_seen_back(ring, &at, &it) && it.kind != kind;)
    after = it.kind;
  return after;
}

/// A burst of one task. @param late_ns  how long after the push its thread comes to the wait
static void burst_of_one(ws_pool_t *pool, uint64_t late_ns)
{
  ws_group_t group;
  ws_group_init(&group, 1);
  ws_pool_push(pool, (ws_task_t){.func = test_empty_task, .group = &group});
  ws_stat_add(&ahead_ns, late_ns);
  ws_group_wait(&group, pool);
}

/// A worker that the push has called may take the CPU: only a note before it shows that.
TEST_CASE(a_thread_whose_late_burst_began_unseen_notes_at_its_first_push)
{
  const uint64_t hour_ns = UINT64_C(3600) * 1000000000;
  ws_settings_t settings = test_settings(1);
  settings.deadline_ns = hour_ns;
  ws_pool_t *pool = test_create(&settings);
  for (uint32_t i = 0; i < 3; i++) {
    burst_of_one(pool, i == 1 ? 2 * hour_ns : 0);
    CU_ASSERT_EQUAL(event_after(WS_NOTE_PUSH) == WS_NOTE_USED, i == 2);
  }
  ws_pool_destroy(pool);
}

TEST_MAIN_SEAMS("record", SEAM(ws_os_thread_create), SEAM(ws_held_file_put), SEAM(ws_os_now_ns))
