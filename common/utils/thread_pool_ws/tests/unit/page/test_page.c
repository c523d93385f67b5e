// SPDX-License-Identifier: BSD-3-Clause
/// @file test_page.c
/// The page: what a reader finds in it, requests, and when it comes and goes. The guard has no thread here,
/// but in one case: the test looks in its place, and makes the clock go.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

/// @param pid  0 = of this process
static const char *path(int pid)
{
  static char text[80];
  struct stat names;
  stat("/proc/self/ns/pid", &names);
  snprintf(text, sizeof(text), "/dev/shm/thread_pool_ws.%lu.%d", (unsigned long)names.st_ino,
           pid ? pid : (int)getpid());
  return text;
}

static ws_pool_t *live_pool(uint32_t workers)
{
  ws_settings_t settings = test_settings(workers);
  settings.live = true;
  settings.name = "shown";
  return test_create(&settings);
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

TEST_CASE(a_reader_sees_the_pool)
{
  ws_pool_t *pool = live_pool(2);
  struct stat file;
  ws_page_t *page = map();
  const ws_page_part_t *part = page->part;
  CU_ASSERT_TRUE(stat(path(0), &file) == 0 && (file.st_mode & 07777) == 0600);
  CU_ASSERT_TRUE(page->pid == (uint64_t)getpid() && page->began_ticks > 0);
  test_burst(pool, 100, test_empty_task, NULL);
  ws_histogram_add(pool->live.starts, 1000);
  look(pool);
  CU_ASSERT_TRUE(part->starts[ws_histogram_bucket(1000)] > 0);
  CU_ASSERT_EQUAL(part->worker[0].stats.run_tasks + part->worker[1].stats.run_tasks
                      + part->worker[WS_PAGE_WORKERS].stats.run_tasks,
                  100);
  CU_ASSERT_EQUAL(part->worker[1].tid, ws_tid(pool->worker[1]));
  test_destroy(pool);
  CU_ASSERT_EQUAL(ws_hint_load(&page->ended), 1);
  CU_ASSERT_NOT_EQUAL(access(path(0), F_OK), 0);
}

TEST_CASE(requests_are_checked_and_answered)
{
  static const struct {
    ws_page_request_t request;
    ws_page_settings_t is; ///< afterwards
    const char *reason;
  } rows[] = {
      {{WS_PAGE_SPIN, 7, {0}}, {.spin_cpu_max = 10}, NULL},
      {{WS_PAGE_SPIN, 7, {.spin = 1, .lead_ns = 40000}}, {1, 10, 40000, 0, 0, 0}, NULL},
      {{WS_PAGE_SPIN_CPU_MAX, 7, {.spin_cpu_max = 100}}, {1, 100, 40000, 0, 0, 0}, NULL},
      {{WS_PAGE_CAP, 7, {.cap = 1}}, {1, 100, 40000, 0, 1, 0}, NULL},
      {{WS_PAGE_CAP, 7, {.cap = 4}}, {1, 100, 40000, 0, 1, 0}, "cap is above"},
      {{WS_PAGE_SPIN | WS_PAGE_CAP, 7, {.spin = 4}}, {1, 100, 40000, 0, 1, 0}, "spin is none"},
      {{WS_PAGE_SPIN, 7, {1, 0, 10000001, 0, 0, 0}}, {1, 100, 40000, 0, 1, 0}, "lead is above"},
      {{WS_PAGE_RECORD | WS_PAGE_SPIN, 7, {0}}, {1, 100, 40000, 0, 1, 0}, "there is no record"},
      {{WS_PAGE_ALL + 1, 7, {0}}, {1, 100, 40000, 0, 1, 0}, "cannot change that"},
      {{WS_PAGE_DEADLINE, 7, {.deadline_ns = 9}}, {1, 100, 40000, 0, 1, 0}, "without a deadline"},
      {{WS_PAGE_CAP, 7, {0}}, {1, 100, 40000, 0, 0, 0}, NULL},
  };
  ws_pool_t *pool = live_pool(3);
  ws_page_part_t *part = map()->part;
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const ws_page_settings_t was = part->known.is;
    test_warnings.count = 0;
    memcpy(part->word, &rows[i].request, sizeof(rows[i].request));
    ws_store_release(&part->request, i + 1);
    look(pool);
    look(pool); // answers once
    CU_ASSERT_EQUAL(part->known.answered, i + 1);
    CU_ASSERT_EQUAL(memcmp(&part->known.was, &was, sizeof(was)), 0);
    CU_ASSERT_EQUAL(memcmp(&part->known.is, &rows[i].is, sizeof(was)), 0);
    CU_ASSERT_TRUE((part->known.reason[0] != '\0') == (rows[i].reason != NULL) && test_warnings.count == 1);
    CU_ASSERT_EQUAL(test_warnings_with(rows[i].reason ? rows[i].reason : "asked by process 7: spin="), 1);
  }
  test_destroy(pool);
}

/// Late bursts are in the page, and a reader changes what late is. @return the number of the check that fails
static int judged(void *unused)
{
  ws_settings_t settings = test_settings(2);
  settings.live = true;
  settings.deadline_ns = 1;
  ws_pool_t *pool = test_create(&settings);
  ws_page_part_t *part = map()->part;
  uint64_t ends = 0;
  test_burst(pool, 100, test_empty_task, NULL);
  look(pool);
  for (uint32_t i = 0; i < WS_HISTOGRAM_BUCKETS; i++)
    ends += part->ends[i];
  const ws_page_request_t request = {WS_PAGE_DEADLINE, 7, {.deadline_ns = UINT64_MAX / 4}};
  memcpy(part->word, &request, sizeof(request));
  ws_store_release(&part->request, 1);
  look(pool);
  test_burst(pool, 100, test_empty_task, NULL);
  look(pool);
  const int wrong = ends != 1                                                  ? 1
                    : part->ledger[0] != 2 || part->ledger[1] != 1             ? 2
                    : part->known.is.deadline_ns != request.wanted.deadline_ns ? 3
                                                                               : 0;
  test_destroy(pool);
  return wrong;
}

TEST_CASE(late_bursts_are_in_the_page)
{
  CU_ASSERT_EQUAL(test_in_child(judged, NULL), 0);
}

/// A file above the limit would end the process by SIGXFSZ.
static int without_room(void *unused)
{
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
  test_destroy(live_pool(1));
  return test_warnings_with("tpool-ws does not see pool shown") != 1
         || test_warnings_with("File too large") != 1;
}

TEST_CASE(a_small_limit_of_file_sizes_is_a_warning)
{
  CU_ASSERT_EQUAL(test_in_child(without_room, NULL), 0);
}

/// A program of the same user has written into all of the page.
TEST_CASE(hostile_words_do_no_harm)
{
  ws_pool_t *pool = live_pool(2);
  ws_page_t *page = map();
  const ws_page_part_t *part = page->part;
  for (int byte = 0; byte < 256; byte += 5) {
    memset(page, byte, sizeof(*page));
    look(pool);
    CU_ASSERT_TRUE(part->known.id == pool->id && ws_hint_load(&part->sequence) % 2 == 0);
  }
  test_burst(pool, 100, test_empty_task, NULL);
  test_destroy(pool);
  CU_ASSERT_NOT_EQUAL(access(path(0), F_OK), 0);
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
  ws_page_part_t *part = map()->part;
  ws_store_release(&part->word[0], WS_PAGE_SPIN);
  ws_store_release(&part->request, 1);
  CU_ASSERT_TRUE(test_until(is_answered, part));
  test_destroy(pool);
}

TEST_CASE(pools_share_a_page)
{
  ws_pool_t *pool[WS_PAGE_POOLS + 1];
  for (uint32_t i = 0; i <= WS_PAGE_POOLS; i++)
    pool[i] = live_pool(1);
  CU_ASSERT_EQUAL(test_warnings_with("no room for more pools"), 1);
  CU_ASSERT_EQUAL(map()->part[2].known.id, pool[2]->id);
  for (uint32_t i = WS_PAGE_POOLS + 1; i-- > 0;) {
    CU_ASSERT_EQUAL(access(path(0), F_OK), 0);
    test_destroy(pool[i]);
  }
  CU_ASSERT_NOT_EQUAL(access(path(0), F_OK), 0);
}

/// What lies there under the same name is of a process that was killed, or a trap.
TEST_CASE(an_old_page_makes_way)
{
  CU_ASSERT_EQUAL(symlink("/dev/shm/ws_page_trap", path(0)), 0);
  ws_pool_t *pool = live_pool(1);
  CU_ASSERT_TRUE(access(path(0), F_OK) == 0 && access("/dev/shm/ws_page_trap", F_OK) != 0);
  test_destroy(pool);
}

/// The child of a fork sees no page of its parent's, and makes its own.
static int live_in_child(ws_pool_t *parents)
{
  if (access(path(0), F_OK) == 0)
    return 1;
  ws_pool_t *pool = live_pool(2);
  const ws_page_t *page = map();
  test_destroy(parents);
  look(pool);
  return page->pid == (uint64_t)getpid() && access(path(0), F_OK) == 0 ? 2 : 1;
}

TEST_CASE(a_page_ends_with_its_process)
{
  ws_pool_t *plain = test_pool(1);
  CU_ASSERT_TRUE(access(path(0), F_OK) != 0 && !plain->live.look && plain->live.sleep_ns == 0);
  test_destroy(plain);
  TEST_SKIP_IF(TEST_SANITIZED, "thread sanitizer lets no process with threads fork");
  ws_pool_t *pool = live_pool(2);
  for (uint32_t killed = 0; killed < 2; killed++) {
    const pid_t child = test_fork();
    if (child == 0)
      (killed ? _exit : exit)(live_in_child(pool));
    CU_ASSERT_EQUAL(test_status_of(child), 2);
    CU_ASSERT_EQUAL(unlink(path(child)) == 0, killed);
    CU_ASSERT_EQUAL(access(path(0), F_OK), 0);
    look(pool);
  }
  test_destroy(pool);
}

TEST_MAIN_SEAMS("page", SEAM(ws_os_now_ns), SEAM(ws_guard_create))
