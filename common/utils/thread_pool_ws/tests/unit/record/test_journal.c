// SPDX-License-Identifier: BSD-3-Clause
/// @file test_journal.c
/// The journal: a gNB's week on a virtual clock, with restarts; hostile files; the bound of the folder.
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../../record/ws_folder.h"
#include "../../../record/ws_held_file.h"
#include "../../../record/ws_journal_write.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define SECOND_NS 1000000000u
#define WEEK_MINUTES 10080u
#define EPOCH_NS (1800000000u * (uint64_t)SECOND_NS) ///< CLOCK_REALTIME at the week's begin
enum { BURSTS_A_MINUTE = 120000, LATE_A_MINUTE = 120, OVERLOADED = 60, OVERLOAD_FROM = 9000 };

static char folder[] = "/dev/shm/ws-journal-XXXXXX";

static char *path_of(const char *name)
{
  static char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

static void put(const char *name, const void *data, size_t bytes)
{
  const int file = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CU_ASSERT_TRUE(file >= 0 && write(file, data, bytes) == (ssize_t)bytes);
  close(file);
}

static void remove_all(void)
{
  char command[sizeof(folder) + 20];
  snprintf(command, sizeof(command), "rm -rf %s/*", folder);
  CU_ASSERT_EQUAL(system(command), 0);
}

/// What a reader saw.
typedef struct {
  uint64_t count, bursts, late, examined, worst_ns, last_ns, first_number;
  uint32_t of_minute[WEEK_MINUTES]; ///< late bursts
  bool is_ordered;
} seen_t;

static void see_burst(void *arg, const ws_journal_burst_t *burst)
{
  seen_t *seen = arg;
  seen->is_ordered &= burst->real_ns >= seen->last_ns;
  seen->last_ns = burst->real_ns;
  seen->count++;
  seen->of_minute[(burst->real_ns - EPOCH_NS) / WS_JOURNAL_MINUTE_NS]++;
  const uint64_t over_ns = burst->length_ns - burst->limit_ns;
  seen->worst_ns = over_ns > seen->worst_ns ? over_ns : seen->worst_ns;
}

static void see_minute(void *arg, const ws_journal_minute_t *minute)
{
  seen_t *seen = arg;
  seen->is_ordered &= minute->number > seen->last_ns; // here the number
  seen->last_ns = minute->number;
  seen->first_number = seen->count++ == 0 ? minute->number : seen->first_number;
  seen->bursts += minute->bursts;
  seen->late += minute->late;
  seen->examined += minute->examined;
  seen->worst_ns = minute->worst_ns > seen->worst_ns ? minute->worst_ns : seen->worst_ns;
}

static seen_t read_bursts(uint64_t since_ns, uint64_t until_ns, ws_cause_t cause)
{
  seen_t seen = {.is_ordered = true};
  CU_ASSERT_EQUAL(ws_journal_bursts(folder, since_ns, until_ns, cause, see_burst, &seen), 1);
  return seen;
}

static seen_t read_minutes(uint64_t since_ns, uint64_t until_ns)
{
  seen_t seen = {.is_ordered = true};
  CU_ASSERT_EQUAL(ws_journal_minutes(folder, since_ns, until_ns, see_minute, &seen), 1);
  return seen;
}

static void begin_life(void)
{
  ws_journal_begin(folder, "gnb", (uint32_t)getpid(), 1);
}

/// @param at_ns  of the week. @param over_ns  over the limit
static void be_late(uint64_t at_ns, uint64_t over_ns, ws_cause_t cause)
{
  ws_journal_burst_t burst = {.end_ns = at_ns,
                              .real_ns = EPOCH_NS + at_ns,
                              .length_ns = 400000 + over_ns,
                              .limit_ns = 400000,
                              .cause = cause};
  burst.part[cause] = UINT16_MAX;
  ws_journal_late(&burst);
}

static bool write_until(uint64_t at_ns, uint64_t bursts, uint64_t late, bool ends)
{
  return ws_journal_write(EPOCH_NS + at_ns, bursts, late, 0, ends);
}

/// A minute in four writes; in overload each 16th burst is late, and the last one most of all.
static void run_minute(uint64_t minute)
{
  const bool is_overloaded = minute - OVERLOAD_FROM < OVERLOADED;
  const uint32_t late = is_overloaded ? BURSTS_A_MINUTE / 16 : LATE_A_MINUTE;
  bool good = true;
  for (uint32_t part = 0; part < 4; part++) {
    const uint64_t from_ns = minute * WS_JOURNAL_MINUTE_NS + part * WS_JOURNAL_MINUTE_NS / 4;
    for (uint32_t i = 0; i < late / 4; i++)
      be_late(from_ns + i, 1000 + part * 100000 + i, i % 2 ? WS_CAUSE_NO_CPU : WS_CAUSE_LONG_TASK);
    good &= write_until(from_ns + WS_JOURNAL_MINUTE_NS / 5, BURSTS_A_MINUTE / 4, late / 4, false);
  }
  CU_ASSERT_TRUE(good);
}

/// 1 burst in 1,000 late, an hour of overload, three restarts, a process that is killed.
TEST_CASE(a_week_of_a_gnb)
{
  struct stat about;
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  begin_life();
  for (uint64_t minute = 0; minute < WEEK_MINUTES; minute++) {
    run_minute(minute);
    if (minute % 2500 != 2499)
      continue;
    if (minute > 2500) // else it is killed
      CU_ASSERT_TRUE(write_until((minute + 1) * WS_JOURNAL_MINUTE_NS - SECOND_NS, 0, 0, true));
    ws_journal_end();
    begin_life();
  }
  const uint64_t end_ns = EPOCH_NS + WEEK_MINUTES * WS_JOURNAL_MINUTE_NS;
  const uint32_t last_day = WEEK_MINUTES - 1440;
  const seen_t day = read_bursts(end_ns - 1440 * WS_JOURNAL_MINUTE_NS, 0, WS_CAUSES);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < WEEK_MINUTES; i++)
    wrong += day.of_minute[i]
             != (i < last_day                               ? 0
                 : i - OVERLOAD_FROM < (uint32_t)OVERLOADED ? WS_JOURNAL_PLACES
                                                            : LATE_A_MINUTE);
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_TRUE(day.is_ordered);
  CU_ASSERT_EQUAL(day.worst_ns, 1000 + 3 * 100000 + BURSTS_A_MINUTE / 64 - 1);
  const seen_t week = read_minutes(0, 0);
  CU_ASSERT_EQUAL(week.count, WEEK_MINUTES);
  CU_ASSERT_TRUE(week.is_ordered);
  CU_ASSERT_EQUAL(week.bursts, (uint64_t)BURSTS_A_MINUTE * WEEK_MINUTES);
  const uint64_t late =
      (uint64_t)LATE_A_MINUTE * (WEEK_MINUTES - OVERLOADED) + OVERLOADED * (uint64_t)BURSTS_A_MINUTE / 16;
  CU_ASSERT_EQUAL(week.late, late);
  CU_ASSERT_EQUAL(week.examined, late);
  CU_ASSERT_EQUAL(week.worst_ns, day.worst_ns);
  CU_ASSERT_EQUAL(stat(path_of("tpool-ws-gnb.journal"), &about), 0);
  CU_ASSERT_TRUE((uint64_t)about.st_blocks * 512 < 36u << 20);
  // A part of it; a cause.
  const uint64_t at_ns = EPOCH_NS + 10000 * WS_JOURNAL_MINUTE_NS;
  CU_ASSERT_EQUAL(read_minutes(at_ns, at_ns + WS_JOURNAL_MINUTE_NS / 2).count, 1);
  CU_ASSERT_EQUAL(read_bursts(at_ns, at_ns + WS_JOURNAL_MINUTE_NS, WS_CAUSE_NO_CPU).count, LATE_A_MINUTE / 2);
  CU_ASSERT_EQUAL(read_bursts(at_ns, at_ns + 1, WS_CAUSES).count, 1);
  CU_ASSERT_EQUAL(read_bursts(at_ns, 0, WS_CAUSE_WAKE).count, 0);
  run_minute(WEEK_MINUTES); // it takes the place of the first one
  CU_ASSERT_EQUAL(read_minutes(0, 0).first_number, EPOCH_NS / WS_JOURNAL_MINUTE_NS + 2);
  ws_journal_end();
  remove_all();
}

/// Restarted in a loop a program goes on with the minute; two at a time have a journal each.
TEST_CASE(each_life_goes_on)
{
  for (uint32_t i = 0; i < 5; i++) {
    begin_life();
    be_late(i * (uint64_t)SECOND_NS, 1000 + i, WS_CAUSE_WAKE);
    CU_ASSERT_TRUE(write_until(i * (uint64_t)SECOND_NS + 1, 100, 1, i % 2));
    ws_journal_end();
  }
  CU_ASSERT_EQUAL(read_bursts(0, 0, WS_CAUSES).count, 5);
  const seen_t minute = read_minutes(0, 0);
  CU_ASSERT_TRUE(minute.count == 1 && minute.bursts == 500 && minute.late == 5 && minute.examined == 5);
  begin_life();
  CU_ASSERT_TRUE(write_until(71ull * SECOND_NS, 10, 0, false));
  CU_ASSERT_EQUAL(read_minutes(0, 0).count, 2);
  void *other = NULL;
  struct stat about;
  CU_ASSERT_TRUE(ws_held_file_take(path_of("tpool-ws-gnb.journal"), &other, &about) < 0 && !other);
  ws_journal_end();
  const int file = ws_held_file_take(path_of("tpool-ws-gnb.journal"), &other, &about);
  CU_ASSERT_TRUE_FATAL(file >= 0 && other);
  begin_life();
  CU_ASSERT_TRUE(write_until(81ull * SECOND_NS, 10, 0, false));
  CU_ASSERT_EQUAL(access(path_of("tpool-ws-gnb.2.journal"), F_OK), 0);
  close(file);
  ws_held_file_let_go(&other);
  // One of another version, or of another program, is left alone, and another process's is not waited for.
  ws_journal_end();
  put("tpool-ws-gnb.journal", "another version", 15);
  begin_life();
  for (uint32_t i = 0; i < 2; i++)
    CU_ASSERT_TRUE(write_until(81ull * SECOND_NS + i, 10, 0, false));
  CU_ASSERT_EQUAL(stat(path_of("tpool-ws-gnb.journal"), &about), 0);
  CU_ASSERT_EQUAL(about.st_size, 15);
  // It is taken away while the process runs, or cut short: what is in memory is written again.
  remove_all();
  CU_ASSERT_TRUE(write_until(82ull * SECOND_NS, 10, 0, false));
  CU_ASSERT_EQUAL(read_minutes(0, 0).bursts, 40);
  CU_ASSERT_EQUAL(truncate(path_of("tpool-ws-gnb.journal"), 0), 0);
  CU_ASSERT_TRUE(write_until(83ull * SECOND_NS, 10, 0, false));
  CU_ASSERT_EQUAL(read_minutes(0, 0).bursts, 50);
  ws_journal_end();
  remove_all();
}

/// One whose events were overwritten has an entry, and is not counted as examined.
TEST_CASE(a_burst_without_events)
{
  begin_life();
  be_late(1, 1000, WS_CAUSE_UNSEEN);
  be_late(2, 1000, WS_CAUSE_WAKE);
  CU_ASSERT_TRUE(write_until(3, 10, 2, true));
  ws_journal_end();
  CU_ASSERT_EQUAL(read_bursts(0, 0, WS_CAUSES).count, 2);
  const seen_t minute = read_minutes(0, 0);
  CU_ASSERT_TRUE(minute.late == 2 && minute.examined == 1);
  remove_all();
}

/// The clock is set back, or a burst is examined after its minute: each minute has all that ended in it.
TEST_CASE(minutes_come_again)
{
  static const uint32_t minutes[] = {7, 8, 7, 6, 8};
  begin_life();
  for (uint32_t i = 0; i < 5; i++) {
    const uint64_t at_ns = minutes[i] * (uint64_t)WS_JOURNAL_MINUTE_NS + i;
    be_late(at_ns, 1000 + i, WS_CAUSE_WAKE);
    if (i != 2) // what was not written is so now
      CU_ASSERT_TRUE(write_until(at_ns, 10, 1, false));
  }
  const seen_t seen = read_minutes(0, 0);
  CU_ASSERT_TRUE(seen.count == 3 && seen.bursts == 40 && seen.late == 4 && seen.examined == 5);
  CU_ASSERT_EQUAL(read_bursts(0, 0, WS_CAUSES).count, 5);
  const uint64_t at_ns = 7 * (uint64_t)WS_JOURNAL_MINUTE_NS;
  for (uint32_t i = 0; i < 2 * WS_JOURNAL_PLACES; i++) { // half of them by the next life
    if (i == WS_JOURNAL_PLACES) {
      CU_ASSERT_TRUE(write_until(at_ns + i, i, i, true));
      ws_journal_end();
      begin_life();
    }
    be_late(at_ns + 10 + i, 2000 + i, WS_CAUSE_WAKE);
  }
  CU_ASSERT_TRUE(write_until(at_ns, 0, 0, false));
  const seen_t worst = read_bursts(EPOCH_NS + at_ns, EPOCH_NS + at_ns + SECOND_NS, WS_CAUSES);
  CU_ASSERT_EQUAL(worst.count, WS_JOURNAL_PLACES);
  CU_ASSERT_EQUAL(worst.worst_ns, 2000 + 2 * WS_JOURNAL_PLACES - 1);
  CU_ASSERT_EQUAL(read_bursts(EPOCH_NS + at_ns, EPOCH_NS + at_ns + 1, WS_CAUSES).count, 1); // the first one
  ws_journal_end();
  remove_all();
}

/// What other projects' journals did not survive.
TEST_CASE(it_goes_on_after_a_mishap)
{
  struct rlimit limit;
  char zeros[sizeof(ws_journal_head_t)] = "";
  for (uint64_t i = 0; i < 3; i++) { // without late bursts the file ends after its last row
    ws_journal_end();
    begin_life();
    CU_ASSERT_TRUE(write_until(i * 2 * WS_JOURNAL_MINUTE_NS, 10, 0, false));
    CU_ASSERT_EQUAL(read_minutes(0, 0).count, i + 1);
  }
  be_late(5 * WS_JOURNAL_MINUTE_NS, 1000, WS_CAUSE_WAKE);
  be_late(5 * WS_JOURNAL_MINUTE_NS + 1, 1000, WS_CAUSE_WAKE);
  CU_ASSERT_TRUE(write_until(5 * WS_JOURNAL_MINUTE_NS + 2, 2, 2, false));
  getrlimit(RLIMIT_NOFILE, &limit); // no descriptor is left for some time, or the folder is away
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max});
  CU_ASSERT_FALSE(write_until(5 * WS_JOURNAL_MINUTE_NS + 3, 1, 0, false));
  setrlimit(RLIMIT_NOFILE, &limit);
  CU_ASSERT_TRUE(write_until(5 * WS_JOURNAL_MINUTE_NS + 4, 1, 0, false));
  CU_ASSERT_EQUAL(read_minutes(0, 0).bursts, 34);
  CU_ASSERT_EQUAL(read_bursts(0, 0, WS_CAUSES).count, 2);
  char away[sizeof(folder) + 5];
  snprintf(away, sizeof(away), "%s.away", folder);
  CU_ASSERT_EQUAL(rename(folder, away), 0);
  CU_ASSERT_FALSE(write_until(5 * WS_JOURNAL_MINUTE_NS + 5, 1, 0, false));
  CU_ASSERT_EQUAL(rename(away, folder), 0);
  CU_ASSERT_TRUE(write_until(5 * WS_JOURNAL_MINUTE_NS + 6, 1, 0, false));
  CU_ASSERT_EQUAL(read_minutes(0, 0).bursts, 36);
  put("tpool-ws-gnb.journal", "\n", 1); // echo >
  CU_ASSERT_TRUE(write_until(5 * WS_JOURNAL_MINUTE_NS + 7, 1, 0, false));
  CU_ASSERT_EQUAL(read_minutes(0, 0).bursts, 7);
  CU_ASSERT_EQUAL(read_bursts(0, 0, WS_CAUSES).count, 2);
  getrlimit(RLIMIT_FSIZE, &limit); // a file that went is counted once, however often that cannot be written
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 8, .rlim_max = limit.rlim_max});
  for (uint32_t i = 0; i < 3; i++)
    CU_ASSERT_FALSE(ws_journal_write(EPOCH_NS + 5 * WS_JOURNAL_MINUTE_NS + 7, 0, 0, 1, false));
  setrlimit(RLIMIT_FSIZE, &limit);
  CU_ASSERT_TRUE(ws_journal_write(EPOCH_NS + 5 * WS_JOURNAL_MINUTE_NS + 7, 0, 0, 1, false));
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = WS_JOURNAL_BURSTS_AT, .rlim_max = limit.rlim_max});
  be_late(5 * WS_JOURNAL_MINUTE_NS + 8, 1000, WS_CAUSE_WAKE);
  CU_ASSERT_FALSE(write_until(5 * WS_JOURNAL_MINUTE_NS + 8, 1, 1, false)); // there is room for minutes only
  setrlimit(RLIMIT_FSIZE, &limit);
  CU_ASSERT_EQUAL(read_minutes(0, 0).late, 3);
  ws_journal_end();
  ws_journal_head_t head;
  ws_journal_minute_t row = {.number = UINT64_MAX};
  const int file = open(path_of("tpool-ws-gnb.journal"), O_RDWR);
  CU_ASSERT_EQUAL(pread(file, &head, sizeof(head), 0), sizeof(head));
  CU_ASSERT_EQUAL(head.removed, 1);
  CU_ASSERT_EQUAL(pwrite(file, &row, sizeof(row), (off_t)ws_journal_row_at(100)), sizeof(row));
  CU_ASSERT_EQUAL(pwrite(file, zeros, sizeof(zeros), 0), sizeof(zeros)); // the disk was full before the head
  close(file);
  begin_life();
  CU_ASSERT_TRUE(write_until(8 * WS_JOURNAL_MINUTE_NS, 10, 0, false));
  CU_ASSERT_EQUAL(read_minutes(0, 0).count, 2); // and only one journal
  ws_journal_end();
  remove_all();
}

static int read_one(const char *name)
{
  seen_t seen = {.is_ordered = true};
  return ws_journal_bursts(path_of(name), 0, 0, WS_CAUSES, see_burst, &seen);
}

TEST_CASE(files_that_are_no_journals)
{
  static char noise[1 << 21];
  seen_t seen = {.is_ordered = true};
  begin_life();
  be_late(0, 1000, WS_CAUSE_WAKE);
  CU_ASSERT_TRUE(write_until(1, 1, 1, true));
  ws_journal_end();
  put("new.journal", "", 0);
  put("text.journal", "a text", 6);
  memset(noise, 0xff, sizeof(noise));
  put("noise.journal", noise, sizeof(noise));
  CU_ASSERT_EQUAL(mkfifo(path_of("fifo.journal"), 0600), 0);
  CU_ASSERT_EQUAL(mkdir(path_of("folder.journal"), 0700), 0);
  CU_ASSERT_EQUAL(symlink("/dev/zero", path_of("link.journal")), 0);
  CU_ASSERT_EQUAL(read_one("new.journal"), 1);
  CU_ASSERT_EQUAL(read_one("text.journal"), -EINVAL);
  CU_ASSERT_EQUAL(read_one("noise.journal"), -EINVAL);
  CU_ASSERT_EQUAL(read_one("fifo.journal"), -EINVAL);
  CU_ASSERT_EQUAL(read_one("link.journal"), -EINVAL);
  CU_ASSERT_EQUAL(read_one("none.journal"), -ENOENT);
  CU_ASSERT_EQUAL(ws_journal_bursts(NULL, 0, 0, WS_CAUSES, see_burst, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_journal_minutes(folder, 0, 0, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_journal_bursts(folder, 0, 0, WS_CAUSES, see_burst, &seen), -EINVAL);
  CU_ASSERT_EQUAL(seen.count, 1); // the good one is read all the same
  // Its numbers may be anything.
  memcpy(noise, WS_JOURNAL_MAGIC, 8);
  put("noise.journal", noise, sizeof(noise));
  CU_ASSERT_EQUAL(read_one("noise.journal"), 1);
  remove_all();
}

static void put_old(const char *name, uint32_t age_s)
{
  static const char bytes[100000];
  put(name, bytes, sizeof(bytes));
  const struct timespec when[2] = {{.tv_sec = 1000000 - age_s}, {.tv_sec = 1000000 - age_s}};
  CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path_of(name), when, 0), 0);
}

static bool is_there(const char *name)
{
  return access(path_of(name), F_OK) == 0;
}

TEST_CASE(the_oldest_files_go)
{
  ws_folder_t in = {.like = "tpool-ws-gnb[-.]*", .own = "tpool-ws-gnb-9-900", .bound = 550000};
  void *other = NULL;
  snprintf(in.path, sizeof(in.path), "%s", folder);
  put_old("tpool-ws-gnb-9-900.record", 900); // this process's
  const int file = ws_held_file_make(path_of("tpool-ws-gnb-8-800.record"), &other); // another one's
  put_old("tpool-ws-gnb-8-800.record.3", 800);
  put_old("tpool-ws-gnb-8-800.part", 950); // a window that it is writing
  put_old("tpool-ws-gnb-7-700.record", 700); // of processes that are gone
  put_old("tpool-ws-gnb-7-700.record.31", 690);
  put_old("tpool-ws-gnb-6-600.record", 60);
  put_old("tpool-ws-gnb.2.journal", 50);
  put_old("tpool-ws-gnb2-7-700.record", 1000); // of other programs
  put_old("other", 1000);
  ws_folder_keep(&in);
  CU_ASSERT_TRUE(!in.is_full && in.removed == 2);
  CU_ASSERT_TRUE(!is_there("tpool-ws-gnb-7-700.record") && !is_there("tpool-ws-gnb-7-700.record.31"));
  CU_ASSERT_TRUE(is_there("tpool-ws-gnb-8-800.record.3") && is_there("tpool-ws-gnb-6-600.record"));
  CU_ASSERT_EQUAL(unlink(path_of("tpool-ws-gnb-8-800.part")), 0);
  in.bound = 100000; // what living ones have stays
  ws_folder_keep(&in);
  CU_ASSERT_TRUE(in.is_full && in.removed == 4);
  CU_ASSERT_TRUE(is_there("tpool-ws-gnb-9-900.record") && is_there("tpool-ws-gnb-8-800.record.3"));
  CU_ASSERT_TRUE(!is_there("tpool-ws-gnb.2.journal"));
  close(file);
  ws_held_file_let_go(&other);
  ws_folder_keep(&in);
  CU_ASSERT_TRUE(!is_there("tpool-ws-gnb-8-800.record") && !is_there("tpool-ws-gnb-8-800.record.3"));
  CU_ASSERT_TRUE(is_there("tpool-ws-gnb2-7-700.record") && is_there("other"));
  remove_all();
  CU_ASSERT_EQUAL(rmdir(folder), 0);
}

TEST_MAIN("journal")
