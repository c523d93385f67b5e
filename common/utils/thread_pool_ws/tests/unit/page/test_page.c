// SPDX-License-Identifier: BSD-3-Clause
/// @file test_page.c
/// The page: what a reader finds in it, requests, and when it comes and goes. The guard has no thread here,
/// but in two cases: the test looks in its place, and makes the clock go.
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../../../page/ws_page.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

static ws_au64_t ahead_ns;
static bool guarded; ///< by the real guard

static uint64_t ws_os_now_ns_seam(void)
{
  return __real_ws_os_now_ns() + ws_hint_load(&ahead_ns);
}

static int ws_guard_create_seam(struct ws_pool_s *pool, uint64_t patience_ns)
{
  return guarded ? __real_ws_guard_create(pool, patience_ns) : 0;
}

/// @return the path of the page of that process (0 = this one); NULL = it has none, or several
static const char *path(int pid)
{
  static char text[80];
  glob_t found;
  snprintf(text, sizeof(text), "/dev/shm/thread_pool_ws.live*.%d", pid ? pid : (int)getpid());
  const bool is_one = glob(text, 0, NULL, &found) == 0 && found.gl_pathc == 1;
  snprintf(text, sizeof(text), "%s", is_one ? found.gl_pathv[0] : "");
  globfree(&found);
  return is_one ? text : NULL;
}

static ws_pool_t *named_pool(const char *name, uint32_t workers)
{
  ws_settings_t settings = test_settings(workers);
  settings.live = true;
  settings.name = name;
  return test_create(&settings);
}

static ws_pool_t *live_pool(uint32_t workers)
{
  return named_pool("shown", workers);
}

/// As a reader has it: in a mapping of its own, until the process ends.
static ws_page_t *map(void)
{
  const int file = open(path(0), O_RDWR);
  ws_page_t *page = mmap(NULL, sizeof(ws_page_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return page;
}

static void look(ws_pool_t *pool)
{
  ws_hint_add(&ahead_ns, WS_PAGE_NS);
  pool->live.look(pool);
}

/// A pool that has no part tries again each five seconds.
static void look_again(ws_pool_t *pool)
{
  ws_hint_add(&ahead_ns, 5000000000u);
  pool->live.look(pool);
}

/// @return a descriptor that has that byte of the page locked, until it is closed
static int lock_byte(off_t byte)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  const int file = open(path(0), O_RDWR | O_CLOEXEC);
  CU_ASSERT_EQUAL(fcntl(file, F_OFD_SETLK, &lock), 0);
  return file;
}

/// Write a request to the first pool, with the number that is its turn, and have the guard look.
static void ask(ws_pool_t *pool, ws_page_t *page, uint64_t session, uint32_t what, ws_page_settings_t wanted)
{
  page->request = (ws_page_request_t){
      session, page->part[0].known.answered + 1, what, pool->id, wanted, 7, "the\033 test"};
  look(pool);
}

TEST_CASE(workers_without_a_place_count)
{
  ws_pool_t *pool = live_pool(WS_PAGE_WORKERS + 2);
  const ws_page_t *page = map();
  ws_stat_store(&pool->worker[WS_PAGE_WORKERS + 1]->queue.count.stolen, 7);
  look(pool);
  CU_ASSERT_EQUAL(page->part[0].worker[WS_PAGE_WORKERS].stats.stolen_tasks, 7);
  test_destroy(pool);
}

static void *calloc_seam(size_t count, size_t bytes)
{
  return NULL;
}

/// Before the tests that judge a pool, whose ledgers stay.
TEST_CASE(a_lack_of_memory_is_a_warning)
{
  ws_settings_t settings = test_settings(1);
  settings.live = settings.report = true;
  seam.calloc = calloc_seam;
  ws_pool_t *pool = test_create(&settings);
  seam.calloc = NULL;
  CU_ASSERT_EQUAL(test_warnings_with("are not judged") + test_warnings_with("tpool-ws does not see pool"), 2);
  test_destroy(pool);
}

static uint32_t copies;

static const char *ws_flight_copy_seam(uint64_t key)
{
  copies++;
  return __real_ws_flight_copy(key);
}

TEST_CASE(requests_are_checked_and_answered)
{
  static const struct {
    uint32_t what;
    ws_page_settings_t wanted, is; ///< is: afterwards
    const char *reason;
  } rows[] = {
      {WS_PAGE_SPIN, {0}, {.spin_cpu_max = 10}, NULL},
      {WS_PAGE_SPIN, {.spin = 1, .lead_ns = 40000}, {1, 10, 40000, 0, 0, 0}, NULL},
      {WS_PAGE_SPIN_CPU_MAX, {.spin_cpu_max = 100}, {1, 100, 40000, 0, 0, 0}, NULL},
      {WS_PAGE_CAP, {.cap = 1}, {1, 100, 40000, 0, 1, 0}, NULL},
      {WS_PAGE_CAP, {.cap = 4}, {1, 100, 40000, 0, 1, 0}, "cap is above"},
      {WS_PAGE_SPIN | WS_PAGE_CAP, {.spin = 4}, {1, 100, 40000, 0, 1, 0}, "spin is none"},
      {WS_PAGE_SPIN, {1, 0, 10000001, 0, 0, 0}, {1, 100, 40000, 0, 1, 0}, "lead is above"},
      {WS_PAGE_RECORD | WS_PAGE_SPIN, {0}, {1, 100, 40000, 0, 1, 0}, "there is no record"},
      {WS_PAGE_RECORD | WS_PAGE_HOLD, {0}, {1, 100, 40000, 0, 1, 0}, "cannot change that"},
      {WS_PAGE_ALL + 1, {0}, {1, 100, 40000, 0, 1, 0}, "cannot change that"},
      {WS_PAGE_DEADLINE, {.deadline_ns = 10000001}, {1, 100, 40000, 0, 1, 0}, "0.001 to 10000"},
      {WS_PAGE_CAP, {0}, {1, 100, 40000, 0, 0, 0}, NULL},
      {WS_PAGE_DEADLINE, {.deadline_ns = WS_DEADLINE_AUTO}, {1, 100, 40000, WS_DEADLINE_AUTO, 0, 0}, NULL},
  };
  ws_pool_t *pool = live_pool(3);
  ws_page_t *page = map();
  const ws_page_known_t *known = &page->part[0].known;
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const ws_page_settings_t was = known->is;
    test_warnings.count = 0;
    ask(pool, page, 1, rows[i].what, rows[i].wanted); // no program waits for the answer: it was withdrawn
    CU_ASSERT_EQUAL(known->answered, i);
    const int asker = lock_byte(WS_PAGE_ASKER), taker = lock_byte(WS_PAGE_TAKE);
    look(pool); // it is being written
    CU_ASSERT_EQUAL(known->answered, i);
    close(taker);
    look(pool);
    look(pool); // answers once
    CU_ASSERT_EQUAL(known->answered, i + 1);
    CU_ASSERT_EQUAL(memcmp(&known->was, &was, sizeof(was)), 0);
    CU_ASSERT_EQUAL(memcmp(&known->is, &rows[i].is, sizeof(was)), 0);
    CU_ASSERT_TRUE((known->reason[0] != '\0') == (rows[i].reason != NULL) && test_warnings.count == 1);
    CU_ASSERT_EQUAL(
        test_warnings_with(rows[i].reason ? rows[i].reason : "asked by process 7 (the? test): spin="), 1);
    close(asker);
  }
  CU_ASSERT_EQUAL(test_warnings_with("deadline=auto"), 1); // the last row
  CU_ASSERT_EQUAL(copies, 1); // not for what is refused anyway
  const int asker = lock_byte(WS_PAGE_ASKER);
  page->request = (ws_page_request_t){.number = 99, .what = WS_PAGE_CAP, .pool = pool->id + 1};
  look(pool);
  CU_ASSERT_NOT_EQUAL(known->answered, 99);
  close(asker);
  test_destroy(pool);
}

/// The asker ends, or another one asks, or the page is removed: each ends a hold.
TEST_CASE(a_hold_ends_with_its_asker)
{
  for (uint32_t way = 0; way < 3; way++) {
    ws_pool_t *pool = live_pool(3);
    ws_page_t *page = map();
    const ws_page_known_t *known = &page->part[0].known;
    const ws_page_settings_t before = known->is;
    const int asker = lock_byte(WS_PAGE_ASKER);
    ask(pool, page, 1, WS_PAGE_SPIN | WS_PAGE_HOLD, (ws_page_settings_t){.spin = 1, .lead_ns = 5});
    ask(pool, page, 1, WS_PAGE_CAP | WS_PAGE_HOLD, (ws_page_settings_t){.cap = 1});
    look(pool);
    CU_ASSERT_TRUE(known->held == 1 && known->is.cap == 1 && known->is.lead_ns == 5);
    if (way == 0)
      close(asker);
    else if (way == 1)
      page->request.session = 2;
    else
      unlink(path(0));
    look(pool);
    known = &map()->part[0].known;
    CU_ASSERT_TRUE(known->held == 0 && memcmp(&known->is, &before, sizeof(before)) == 0);
    CU_ASSERT_EQUAL(test_warnings_with("no longer held by process 7 (the? test): spin=fixed"), 1);
    if (way != 0)
      close(asker);
    test_destroy(pool);
  }
}

/// A write above the limit would end the process by SIGXFSZ. @return the number of what is wrong
static int with_less_room(void *unused)
{
  ws_pool_t *pool = live_pool(1);
  const ws_page_part_t *part = map()->part;
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){4200, 4200});
  look(pool);
  int wrong = part->sequence % 2 == 0; // a reader does not take it for whole
  test_destroy(pool);
  wrong += 2 * (test_warnings_with("File too large") != 1);
  test_destroy(live_pool(1));
  return wrong + 4 * (test_warnings_with("tpool-ws does not see pool shown: /dev/shm: File too large") != 1);
}

/// The page's descriptor would be above the limit.
static int with_few_files(void *unused)
{
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, 100});
  test_destroy(live_pool(1));
  return test_warnings_with("shown: /dev/shm: Invalid argument") != 1;
}

TEST_CASE(a_small_limit_is_a_warning)
{
  CU_ASSERT_EQUAL(test_in_child(with_less_room, NULL), 0);
  CU_ASSERT_EQUAL(test_in_child(with_few_files, NULL), 0);
}

static int statfs_seam(const char *folder, struct statfs *system)
{
  system->f_type = 0xef53; // ext4
  return 0;
}

TEST_CASE(a_disk_gets_no_page)
{
  ws_pool_t *pool = live_pool(1);
  seam.statfs = statfs_seam;
  ws_pool_t *unseen = live_pool(1);
  ws_page_t *page = map();
  for (uint32_t i = 0; i < 30; i++) // it tries again each five seconds
    look(unseen);
  CU_ASSERT_TRUE(test_warnings_with("shown: /dev/shm: no tmpfs") == 1 && test_warnings.count == 1);
  CU_ASSERT_TRUE(page->head.unseen == 1 && strcmp(page->head.unseen_name, "shown") == 0);
  seam.statfs = NULL;
  for (uint32_t i = 0; i < 30; i++)
    look(unseen);
  CU_ASSERT_TRUE(page->head.unseen == 0 && page->part[1].known.id == unseen->id);
  test_destroy(unseen);
  test_destroy(pool);
}

TEST_CASE(the_name_is_of_a_pool_that_is_not_seen)
{
  ws_pool_t *pool = live_pool(1);
  const ws_page_t *page = map();
  seam.statfs = statfs_seam;
  ws_pool_t *first = named_pool("first", 1), *second = named_pool("second", 1);
  CU_ASSERT_TRUE(page->head.unseen == 2 && strcmp(page->head.unseen_name, "second") == 0);
  seam.statfs = NULL;
  look_again(second);
  seam.statfs = statfs_seam;
  look_again(first);
  CU_ASSERT_TRUE(page->head.unseen == 1 && strcmp(page->head.unseen_name, "first") == 0);
  seam.statfs = NULL;
  test_destroy(second);
  test_destroy(first);
  test_destroy(pool);
}

/// Overwritten by a program of the same user, removed (RemoveIPC of systemd, cleaners), or cut short.
TEST_CASE(a_page_that_is_spoilt_comes_again)
{
  ws_pool_t *pool = live_pool(2);
  for (int way = -6; way < 256; way += way < 0 ? 1 : 5) {
    ws_page_t *page = map();
    const int asker = lock_byte(WS_PAGE_ASKER);
    if (way < 0) {
      CU_ASSERT_EQUAL(way == -6 ? unlink(path(0)) : truncate(path(0), -way * 1000), 0);
    } else {
      memset(page, way, offsetof(ws_page_t, part[1]));
      page->head.magic = way % 2 ? WS_PAGE_MAGIC : 0;
      page->request.pool = pool->id;
    }
    look(pool);
    close(asker);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path(0));
    look(pool);
    page = map();
    const ws_page_part_t *part = page->part;
    CU_ASSERT_TRUE(page->head.magic == WS_PAGE_MAGIC && part->known.id == pool->id && part->sequence % 2 == 0
                   && part->known.is.spin <= WS_SPIN_HOT);
  }
  test_burst(pool, 100, test_empty_task, NULL);
  test_destroy(pool);
  CU_ASSERT_PTR_NULL(path(0));
}

static bool is_answered(void *part)
{
  return ((volatile ws_page_part_t *)part)->known.answered == 1;
}

/// Nothing but the guard's own timer wakes it; its first look comes when it has long been dormant.
TEST_CASE(a_pool_that_rests_answers)
{
  guarded = true;
  ws_pool_t *pool = live_pool(1);
  guarded = false;
  ws_page_t *page = map();
  const int asker = lock_byte(WS_PAGE_ASKER), taker = lock_byte(WS_PAGE_TAKE);
  page->request = (ws_page_request_t){.number = 1, .pool = pool->id, .what = WS_PAGE_SPIN};
  close(taker);
  CU_ASSERT_TRUE(test_until(is_answered, page->part));
  close(asker);
  test_destroy(pool);
}

TEST_CASE(pools_share_a_page)
{
  enum { POOLS = 10 };
  ws_pool_t *pool[POOLS];
  for (uint32_t i = 0; i < POOLS; i++)
    pool[i] = live_pool(1);
  ws_page_t *page = map();
  struct stat file;
  CU_ASSERT_TRUE(stat(path(0), &file) == 0 && (file.st_mode & 07777) == 0600);
  const uint32_t sequence = page->part[2].sequence;
  CU_ASSERT_TRUE(page->head.pools == POOLS && page->part[9].known.id == pool[9]->id);
  test_destroy(pool[2]);
  CU_ASSERT_EQUAL(page->part[2].known.id, 0);
  pool[2] = live_pool(1); // a reader that has begun with the pool before does not take this one's part for it
  CU_ASSERT_TRUE(page->part[2].known.id == pool[2]->id && page->part[2].sequence == sequence + 2);
  for (uint32_t i = POOLS; i-- > 0;) {
    CU_ASSERT_PTR_NOT_NULL(path(0));
    test_destroy(pool[i]);
  }
  CU_ASSERT_PTR_NULL(path(0));
}

/// One pool in all places, and once more: it has no part, until a place is free.
TEST_CASE(a_place_that_becomes_free_is_taken)
{
  static ws_live_t live[WS_PAGE_POOLS];
  ws_pool_t *pool = live_pool(1);
  const ws_page_t *page = map();
  for (uint32_t i = 0; i < WS_PAGE_POOLS; i++) {
    live[i] = pool->live;
    ws_page_begin(pool);
  }
  const ws_live_t further = pool->live;
  for (uint32_t i = 0; i < WS_PAGE_POOLS; i++) {
    look_again(pool);
    CU_ASSERT_EQUAL(page->head.unseen, i == 0);
    CU_ASSERT_EQUAL(test_warnings_with("it has room for 1024 pools"), 1);
    pool->live = live[(i + 7) % WS_PAGE_POOLS];
    ws_page_end(pool);
    pool->live = further;
  }
  CU_ASSERT_EQUAL(page->part[7].known.id, pool->id);
  test_destroy(pool);
  CU_ASSERT_PTR_NULL(path(0));
}

/// The program closes all its files, and opens others: the page's number is not written to, and close() of
/// the page's own file does not lose its lock.
TEST_CASE(a_program_may_close_everything)
{
  ws_pool_t *pool = live_pool(1);
  close(open(path(0), O_RDONLY));
  int file = open(path(0), O_RDONLY);
  CU_ASSERT_NOT_EQUAL(flock(file, LOCK_SH | LOCK_NB), 0);
  close(file);
  CU_ASSERT_EQUAL(fcntl(100, F_GETFD), FD_CLOEXEC);
  for (file = 100; file < 200; file++)
    close(file);
  FILE *other = tmpfile();
  struct stat stat;
  CU_ASSERT_EQUAL(dup2(fileno(other), 100), 100);
  look(pool);
  CU_ASSERT_TRUE(fstat(100, &stat) == 0 && stat.st_size == 0);
  CU_ASSERT_TRUE(path(0) && map()->part[0].known.id == pool->id);
  test_destroy(pool);
  CU_ASSERT_TRUE(close(100) == 0 && fclose(other) == 0 && !path(0));
}

static uint32_t flocks;

/// A process that sweeps comes between the making of a file and its lock: it has the lock, or had it.
static int flock_seam(int file, int what)
{
  if (++flocks == 1)
    errno = EWOULDBLOCK;
  else if (flocks == 2)
    unlink(path(0));
  return flocks == 1 ? -1 : __real_flock(file, what);
}

/// A file of a killed process goes, others do not. Other processes sweep, too. @return the number of what is
/// wrong
static int sweeps(void *unused)
{
  static const char *const begin[] = {"ws.", "thread_pool_ws.live1.0", "thread_pool_ws.3.",
                                      "thread_pool_ws.live4.0", "thread_pool_ws.live2.0"};
  char left[5][40];
  int wrong = 0;
  CU_ASSERT_EQUAL(chdir("/dev/shm"), 0);
  for (uint32_t i = 0; i < 5; i++)
    snprintf(left[i], sizeof(left[i]), "%s%d", begin[i], (int)getpid());
  for (uint32_t i = 0; i < 3; i++)
    close(open(left[i], O_RDWR | O_CREAT, 0600));
  CU_ASSERT_EQUAL(symlink(left[1], left[3]), 0);
  CU_ASSERT_EQUAL(flock(open(left[0], O_RDONLY), LOCK_EX), 0);
  CU_ASSERT_EQUAL(rename(left[0], left[4]), 0); // of a living process
  ws_pool_t *pool = live_pool(1);
  wrong += !path(0) || access(left[1], F_OK) == 0;
  test_destroy(pool);
  seam.flock = flock_seam;
  pool = live_pool(1);
  wrong += 2 * (!path(0) || flocks != 3);
  test_destroy(pool);
  for (uint32_t i = 2; i < 5; i++)
    wrong += 4 * (unlink(left[i]) != 0);
  return wrong;
}

TEST_CASE(pages_of_killed_processes_go)
{
  CU_ASSERT_EQUAL(test_in_child(sweeps, NULL), 0);
}

static ws_pool_t *left;

/// After the library's own: a guard may still look while the process ends.
__attribute__((destructor(101))) static void look_late(void)
{
  if (left)
    look(left);
}

/// The child of a fork sees no page of its parent's, and makes its own.
static int live_in_child(ws_pool_t *parents)
{
  if (path(0))
    return 1;
  ws_pool_t *pool = left = live_pool(2);
  const ws_page_t *page = map();
  test_destroy(parents);
  look(pool);
  return page->head.pid == (uint64_t)getpid() && path(0) ? 2 : 1;
}

TEST_CASE(a_page_ends_with_its_process)
{
  ws_pool_t *plain = test_pool(1);
  CU_ASSERT_TRUE(!path(0) && !plain->live.look && plain->live.sleep_ns == 0);
  test_destroy(plain);
  TEST_SKIP_IF(TEST_SANITIZED, "thread sanitizer lets no process with threads fork");
  ws_pool_t *pool = live_pool(2);
  for (uint32_t killed = 0; killed < 2; killed++) {
    const pid_t child = test_fork();
    if (child == 0)
      (killed ? _exit : exit)(live_in_child(pool));
    CU_ASSERT_EQUAL(test_status_of(child), 2);
    const char *const page = path(child); // NULL also if another process has swept it
    CU_ASSERT_TRUE(!page || (killed && (unlink(page) == 0 || errno == ENOENT)));
    CU_ASSERT_PTR_NOT_NULL(path(0));
    look(pool);
  }
  test_destroy(pool);
}

static bool is_free(void *file)
{
  return flock((int)(intptr_t)file, LOCK_EX | LOCK_NB) == 0;
}

/// The lock says that the process lives, until it is killed, or is another program. It has a child that no
/// handler of pthread_atfork() has seen.
TEST_CASE(the_lock_ends_with_the_process)
{
  TEST_SKIP_IF(TEST_SANITIZED || TEST_EMULATED, "no fork with threads, or none that obeys MADV_DONTFORK");
  for (uint32_t execs = 0; execs < 2; execs++) {
    int from[2], to[2];
    pid_t grandchild;
    CU_ASSERT_TRUE_FATAL(pipe2(from, O_CLOEXEC) == 0 && pipe2(to, O_CLOEXEC) == 0);
    const pid_t child = test_fork();
    if (child == 0) {
      live_pool(1);
      grandchild = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
      while (grandchild == 0)
        pause();
      if (write(from[1], &grandchild, sizeof(grandchild)) > 0 && read(to[0], &grandchild, 1) == 1 && execs)
        execl("/bin/sleep", "sleep", "1000", (char *)NULL);
      raise(SIGKILL);
    }
    CU_ASSERT_EQUAL(read(from[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
    const intptr_t file = open(path(child), O_RDONLY);
    CU_ASSERT_FALSE(is_free((void *)file));
    CU_ASSERT_EQUAL(write(to[1], "", 1), 1);
    CU_ASSERT_TRUE(test_until(is_free, (void *)file));
    CU_ASSERT_TRUE(kill(grandchild, SIGKILL) == 0 && kill(child, SIGKILL) == 0);
    CU_ASSERT_EQUAL(test_status_of(child), 128 + SIGKILL);
    if (path(child))
      unlink(path(child));
    for (uint32_t i = 0; i < 4; i++)
      close(i < 2 ? from[i] : to[i - 2]);
    close((int)file);
  }
}

TEST_MAIN_SEAMS("page", SEAM(ws_os_now_ns), SEAM(ws_guard_create), SEAM(ws_flight_copy))
