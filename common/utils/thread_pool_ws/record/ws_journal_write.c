// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_journal_write.c
/// ws_journal_write.h.
#include "ws_journal_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ws_held_file.h"

#define NAMES 64u ///< that are tried: processes of the program at one time

static struct {
  char like[PATH_MAX]; ///< what the paths of the program's journals begin with
  char path[PATH_MAX + 20];
  uint32_t pid, life;
  ws_journal_head_t head;
  struct stat file; ///< the file that it holds, at the last look: which one, and its size
  void *lock; ///< the mapping that holds it; NULL = it has none
  // The minute in memory.
  ws_journal_minute_t row; ///< row.number 0 = there is none yet
  ws_journal_burst_t burst[WS_JOURNAL_PLACES];
  bool is_new; ///< not all of these are in the file
} own;

void ws_journal_begin(const char *folder, const char *program, uint32_t pid, uint32_t life)
{
  memset(&own, 0, sizeof(own));
  snprintf(own.like, sizeof(own.like), "%s/tpool-ws-%s", folder, program);
  own.pid = pid;
  own.life = life;
}

void ws_journal_end(void)
{
  ws_held_file_let_go(&own.lock);
}

uint32_t ws_journal_life(void)
{
  return own.life;
}

bool ws_journal_read_head(int file, ws_journal_head_t *head)
{
  memset(head, 0, sizeof(*head));
  return pread(file, head, sizeof(*head), 0) >= 0
         && (head->magic[0] == '\0' || memcmp(head->magic, WS_JOURNAL_MAGIC, sizeof(head->magic)) == 0);
}

uint32_t ws_journal_read_bursts(int file, const ws_journal_minute_t *row,
                                ws_journal_burst_t burst[WS_JOURNAL_PLACES])
{
  const size_t asked = row->entries < WS_JOURNAL_PLACES ? row->entries : WS_JOURNAL_PLACES;
  const ssize_t bytes =
      pread(file, burst, asked * sizeof(burst[0]), (off_t)ws_journal_bursts_at(row->number));
  uint32_t count = 0;
  for (ssize_t i = 0; (i + 1) * (ssize_t)sizeof(burst[0]) <= bytes; i++)
    if (burst[i].minute == (uint32_t)row->number)
      burst[count++] = burst[i];
  return count;
}

/// Give a late burst a place in the minute in memory. If that is full, it takes that of the one that is least
/// over its limit, but not the first one's; if it is not more over its own, it gets none.
static void place(const ws_journal_burst_t *burst)
{
  uint32_t at = (uint32_t)own.row.entries;
  if (at == WS_JOURNAL_PLACES) {
    for (uint32_t i = at = 1; i < WS_JOURNAL_PLACES; i++)
      at = ws_journal_over_ns(&own.burst[i]) < ws_journal_over_ns(&own.burst[at]) ? i : at;
    if (ws_journal_over_ns(burst) <= ws_journal_over_ns(&own.burst[at]))
      return;
  }
  own.row.entries += at == own.row.entries;
  own.burst[at] = *burst;
  own.is_new = true;
}

/// Add counts to the minute in memory. Its entries are those that place() counts.
static void add(const ws_journal_minute_t *more)
{
  ws_journal_minute_t *row = &own.row;
  row->bursts += more->bursts;
  row->late += more->late;
  row->examined += more->examined;
  row->worst_ns = more->worst_ns > row->worst_ns ? more->worst_ns : row->worst_ns;
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    row->part_ns[i] += more->part_ns[i];
}

/// Add what the file has of the minute to what is in memory. A file that cannot be read has nothing.
static void go_on(int file)
{
  const uint64_t number = own.row.number;
  ws_journal_burst_t burst[WS_JOURNAL_PLACES];
  ws_journal_minute_t row;
  if (number == 0 || pread(file, &row, sizeof(row), (off_t)ws_journal_row_at(number)) != sizeof(row)
      || row.number != number)
    return;
  add(&row);
  const uint32_t count = ws_journal_read_bursts(file, &row, burst);
  for (uint32_t i = 0; i < count; i++)
    place(&burst[i]);
}

/// Hold a journal of the program that no other process holds. If there is none, it holds what it held, which
/// the next call may find again. Else the minute in memory then has what that file has, too, and all of it is
/// to be written.
/// @return an open file; -1: errno is that of the last name
static int take(void)
{
  char path[sizeof(own.path)];
  for (uint32_t i = 1; i <= NAMES; i++) {
    char number[12] = "";
    if (i > 1)
      snprintf(number, sizeof(number), ".%u", i);
    snprintf(path, sizeof(path), "%s%s" WS_JOURNAL_END, own.like, number);
    struct stat about;
    void *lock = NULL;
    ws_journal_head_t head;
    const int file = ws_held_file_take(path, &lock, &about);
    if (file < 0 && errno == ENOLCK)
      break; // nor are there others that it could hold
    if (file < 0)
      continue; // another process's, or another user's
    if (!ws_journal_read_head(file, &head)) {
      ws_held_file_let_go(&lock);
      close(file);
      continue; // of another version
    }
    ws_held_file_let_go(&own.lock); // only now: without another file it keeps the one of before
    own.lock = lock;
    own.file = about;
    memcpy(own.path, path, sizeof(path));
    if (head.magic[0] != '\0') // else the disk was full before it was written
      own.head = head;
    memcpy(own.head.magic, WS_JOURNAL_MAGIC, sizeof(own.head.magic));
    own.is_new = true;
    go_on(file);
    return file;
  }
  return -1;
}

/// @return the file that it holds; if that was removed or replaced, another one; -1: errno says why. Without
/// a free descriptor it holds what it held
static int open_file(void)
{
  struct stat now;
  const int file = own.lock ? open(own.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
  if (file >= 0 && fstat(file, &now) == 0 && ws_held_file_is_same(&now, &own.file)) {
    own.is_new |= now.st_size < own.file.st_size; // it was cut short
    own.file = now;
    return file;
  }
  if (file >= 0)
    close(file);
  else if (own.lock && (errno == EMFILE || errno == ENFILE))
    return -1;
  return take();
}

/// Write row and bursts of the minute in memory: bursts first, so that a row has those that it counts. If
/// there is no room for them the row is written all the same: readers leave out places of other minutes.
/// @return false: errno says why
static bool write_minute(int file)
{
  const uint64_t number = own.row.number, bytes = own.row.entries * sizeof(own.burst[0]);
  if (number == 0)
    return true;
  for (uint64_t i = 0; i < own.row.entries; i++)
    own.burst[i].minute = (uint32_t)number;
  const bool has_bursts =
      !own.is_new || ws_held_file_put(file, own.burst, bytes, ws_journal_bursts_at(number));
  if (!ws_held_file_put(file, &own.row, sizeof(own.row), ws_journal_row_at(number)) || !has_bursts)
    return false;
  own.is_new = false;
  return true;
}

/// Have the minute of that time in memory, with what the file has of it. The one that is there before is
/// written, and what cannot be written is lost.
static void turn_to(uint64_t real_ns)
{
  const uint64_t number = real_ns / WS_JOURNAL_MINUTE_NS + 1;
  if (number == own.row.number)
    return;
  const int file = open_file();
  if (file >= 0)
    write_minute(file);
  memset(&own.row, 0, sizeof(own.row));
  own.row.number = number;
  own.row.real_ns = real_ns;
  if (file >= 0) {
    go_on(file);
    close(file);
  }
}

void ws_journal_late(const ws_journal_burst_t *burst)
{
  ws_journal_minute_t one = {.worst_ns = ws_journal_over_ns(burst)};
  ws_journal_burst_t late = *burst;
  turn_to(burst->real_ns);
  for (uint32_t i = 0; i < WS_CAUSES; i++)
    one.part_ns[i] = ws_journal_part_ns(burst, (ws_cause_t)i);
  one.examined = burst->cause != WS_CAUSE_UNSEEN;
  add(&one);
  late.pid = own.pid;
  late.life = own.life;
  place(&late);
}

bool ws_journal_write(uint64_t real_ns, uint64_t bursts, uint64_t late, uint64_t removed, bool ends)
{
  turn_to(real_ns);
  own.row.real_ns = real_ns;
  own.row.bursts += bursts;
  own.row.late += late;
  const int file = open_file();
  if (file < 0)
    return false;
  own.head.removed += removed;
  own.head.until_ns = ends ? UINT64_MAX : real_ns;
  // The head last: until_ns is then true if the process is killed in between.
  bool good = write_minute(file);
  good = ws_held_file_put(file, &own.head, sizeof(own.head), 0) && good;
  own.head.removed -= good ? 0 : removed;
  const int error = errno;
  close(file);
  errno = error;
  return good;
}
