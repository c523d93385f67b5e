// SPDX-License-Identifier: BSD-3-Clause
/// @file test_record.c
/// The record's files: whole after any end of the process, private, bounded; and what happens without them.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../include/ws_ledger.h"
#include "../../../record/ws_copies.h"
#include "../../../record/ws_flight.h"
#include "../../support/ws_test.h"

static char folder[] = "/tmp/ws-record-XXXXXX";
static struct stat about; ///< the last file

static uint32_t copies; ///< in it

/// @return the number of records, which it deletes, and their copies
static uint32_t take_records(void)
{
  DIR *dir = opendir(folder);
  uint32_t count = 0;
  copies = 0;
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    if (strstr(entry->d_name, ".record")) {
      const bool is_copy = strstr(entry->d_name, ".record")[7] == '.';
      struct stat file;
      fstatat(dirfd(dir), entry->d_name, &file, AT_SYMLINK_NOFOLLOW);
      *(is_copy ? &copies : &count) += 1;
      about = is_copy ? about : file;
      // A copy has the rings that threads have taken. No other user reads it.
      CU_ASSERT_TRUE(!is_copy || file.st_size >= (off_t)offsetof(ws_event_file_t, ring[1]));
      CU_ASSERT_EQUAL(file.st_mode, S_IFREG | 0600);
      unlinkat(dirfd(dir), entry->d_name, 0);
    }
  closedir(dir);
  return count;
}

/// @return a pool that has run a burst
static ws_pool_t *recorded_pool(const char *where, uint64_t deadline_ns)
{
  ws_settings_t settings = test_settings(2);
  settings.deadline_ns = deadline_ns;
  CU_ASSERT_EQUAL(ws_settings_entry(&settings, "record", where), 0);
  ws_pool_t *pool = test_create(&settings);
  test_burst(pool, 10, test_empty_task, NULL);
  return pool;
}

static int die(void *unused)
{
  recorded_pool(folder, 0);
  return raise(SIGKILL);
}

/// The child of a fork must not write into its parent's file.
static int fork_inside(void *unused)
{
  recorded_pool(folder, 0);
  const pid_t child = test_fork();
  if (child == 0) {
    recorded_pool(folder, 0);
    _exit(ws_rings.file->pid != (uint32_t)getpid());
  }
  return test_status_of(child) || ws_rings.file->pid != (uint32_t)getpid();
}

static int without_room(void *unused)
{
  ws_ledger_t ledger;
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20});
  ws_pool_ledger(recorded_pool(folder, 0), &ledger); // the rings are in memory
  return test_warnings_with("File too large; there is no record") != 1 || ledger.bursts != 1;
}

static int without_folder(void *unused)
{
  recorded_pool("/proc/self/no", 0);
  return test_warnings_with("record=/proc/self/no: No such file or directory") != 1;
}

static bool is_looked_for(void *unused)
{
  return ws_hint_load(&ws_copies.guard) != NULL || test_cpus() < 2;
}

static bool is_copied(void *unused)
{
  return ws_hint_load(&ws_copies.after) < WS_COPY_NONE || test_cpus() < 2;
}

/// The guard of a pool that is there already finds the rings.
static int beside_a_plain_pool(void *unused)
{
  ws_settings_t settings = test_settings(2);
  test_create(&settings);
  recorded_pool(folder, 0);
  return test_until(is_looked_for, NULL) ? 0 : 1;
}

static int too_late(void *unused)
{
  ws_settings_t settings = test_settings(1);
  settings.deadline_ns = 1;
  test_create(&settings);
  recorded_pool(folder, 0);
  return test_warnings_with("a pool before this one began without; there is no record") != 1;
}

/// Each burst is later than its deadline: more than the copies that are kept.
static int be_late(void *unused)
{
  ws_ledger_t ledger;
  ws_pool_t *pool = recorded_pool(folder, 1);
  for (uint32_t i = 0; i < 100; i++, test_sleep_ms(1))
    test_burst(pool, 10, test_empty_task, NULL);
  ws_pool_ledger(pool, &ledger);
  return ledger.bursts != 101 || ledger.late != 101 || !test_until(is_copied, NULL); // none is half done
}

/// No burst is late, but a user asks.
static int copy_now(void *unused)
{
  recorded_pool(folder, UINT64_MAX / 4);
  test_until(is_looked_for, NULL);
  return (!ws_flight_copy(true) && test_cpus() > 1) || !test_until(is_copied, NULL);
}

TEST_CASE(the_files_are_whole_private_and_few)
{
  static const struct {
    int (*child)(void *unused);
    int status;
    uint32_t records;
    bool is_late;
  } rows[] = {{die, 128 + SIGKILL, 1, false}, {fork_inside, 0, 2, false}, {without_room, 0, 0, false},
              {without_folder, 0, 0, false},  {too_late, 0, 0, false},    {beside_a_plain_pool, 0, 1, false},
              {copy_now, 0, 1, true},         {be_late, 0, 1, true}};
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    CU_ASSERT_EQUAL(test_in_child(rows[i].child, NULL), rows[i].status);
    CU_ASSERT_EQUAL(take_records(), rows[i].records);
    CU_ASSERT_TRUE(rows[i].is_late ? (copies > 0 && copies <= WS_COPIES) || test_cpus() < 2 : copies == 0);
    // no page can lack room later
    CU_ASSERT_TRUE(about.st_size == sizeof(ws_event_file_t) && about.st_blocks * 512 >= about.st_size);
  }
  CU_ASSERT_EQUAL(rmdir(folder), 0);
}

TEST_MAIN("record")
