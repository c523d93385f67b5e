// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_journal_write.c
/// ws_journal_write.h.
#include "ws_journal_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ws_held_file.h"

#define NAMES 64u ///< processes of the program at one time

static struct {
  char like[PATH_MAX]; ///< its name, without the end
  char path[PATH_MAX + 20];
  ws_minutes_t minutes;
  ws_journal_head_t head;
  uint64_t base; ///< number of the last minute of earlier lives: those of this life come after it
  struct stat file;
  void *lock; ///< the mapping that holds it; NULL = it has none
} own;

void ws_journal_begin(const char *folder, const char *program, uint32_t pid, uint64_t now_ns)
{
  memset(&own, 0, sizeof(own));
  snprintf(own.like, sizeof(own.like), "%s/tpool-ws-%s", folder, program);
  ws_minutes_begin(&own.minutes, pid, now_ns);
}

void ws_journal_end(void)
{
  ws_held_file_let_go(&own.lock);
}

uint32_t ws_journal_life(void)
{
  return own.minutes.life;
}

void ws_journal_late(const ws_journal_burst_t *burst)
{
  ws_minutes_late(&own.minutes, burst);
}

void ws_journal_count(uint64_t now_ns, uint64_t real_ns, uint64_t bursts, uint64_t late)
{
  ws_minutes_count(&own.minutes, now_ns, real_ns, bursts, late);
}

static bool get(int file, void *data, size_t bytes, uint64_t at)
{
  return pread(file, data, bytes, (off_t)at) == (ssize_t)bytes;
}

/// @return the number of the last minute in the file; 0 = there is none
static uint64_t last_minute(int file)
{
  uint64_t last = 0;
  ws_journal_minute_t row[72]; // a part of a week's; a young file has fewer
  for (uint32_t i = 0; i < WS_JOURNAL_ROWS; i += 72) {
    const ssize_t bytes = pread(file, row, sizeof(row), (off_t)ws_journal_row_at(i));
    for (uint32_t k = 0; (ssize_t)((k + 1) * sizeof(row[0])) <= bytes; k++)
      if (row[k].number > last && row[k].number % WS_JOURNAL_ROWS == i + k)
        last = row[k].number;
  }
  return last;
}

/// A process that begins in the minute in which the last one ended goes on with it: else a program that is
/// restarted in a loop would use up the day's minutes.
static void go_on(int file, uint64_t real_ns)
{
  ws_minute_t last;
  uint32_t entries = 0;
  own.base = last_minute(file);
  memset(&last, 0, sizeof(last));
  if (own.base == 0 || !get(file, &last.row, sizeof(last.row), ws_journal_row_at(own.base))
      || last.row.number != own.base || last.row.real_ns / WS_MINUTE_NS != real_ns / WS_MINUTE_NS
      || last.row.entries > WS_JOURNAL_PLACES)
    return;
  if (!get(file, last.burst, last.row.entries * sizeof(last.burst[0]), ws_journal_bursts_at(own.base)))
    return;
  for (uint32_t i = 0; i < last.row.entries; i++) // the others could not be written
    if (last.burst[i].minute == (uint32_t)own.base)
      last.burst[entries++] = last.burst[i];
  last.row.entries = entries;
  own.base -= ws_minutes_go_on(&own.minutes, &last);
}

/// Hold a journal of the program that no other process holds. If there is none, it holds what it held, which
/// the next call may find again.
/// @return an open file, or -1
static int take(uint64_t real_ns)
{
  char path[sizeof(own.path)];
  for (uint32_t i = 1; i <= NAMES; i++) {
    char number[12] = "";
    if (i > 1)
      snprintf(number, sizeof(number), ".%u", i);
    snprintf(path, sizeof(path), "%s%s" WS_JOURNAL_END, own.like, number);
    struct stat about;
    void *lock = NULL;
    ws_journal_head_t head = {0};
    const int file = ws_held_file_take(path, &lock, &about);
    if (file < 0)
      continue; // another process's, or another user's
    if (pread(file, &head, sizeof(head), 0) < 0
        || (head.magic[0] != '\0' && memcmp(head.magic, WS_JOURNAL_MAGIC, sizeof(head.magic)) != 0)) {
      ws_held_file_let_go(&lock);
      close(file);
      continue; // of another version
    }
    ws_held_file_let_go(&own.lock);
    own.lock = lock;
    own.file = about;
    memcpy(own.path, path, sizeof(path));
    if (head.magic[0] != '\0') // else the disk was full before it was written
      own.head = head;
    memcpy(own.head.magic, WS_JOURNAL_MAGIC, sizeof(own.head.magic));
    ws_minutes_renew(&own.minutes);
    go_on(file, real_ns);
    return file;
  }
  return -1;
}

/// @return the file that it holds; if that was removed or replaced, another one
static int open_file(uint64_t real_ns)
{
  struct stat now;
  const int file = own.lock ? open(own.path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
  if (file >= 0 && fstat(file, &now) == 0 && ws_held_file_is_same(&now, &own.file)) {
    if (now.st_size < own.file.st_size) // it was cut short
      ws_minutes_renew(&own.minutes);
    own.file = now;
    return file;
  }
  if (file >= 0)
    close(file);
  else if (own.lock && (errno == EMFILE || errno == ENFILE))
    return -1;
  return take(real_ns);
}

/// Row and new bursts of a minute.
static bool write_minute(int file, ws_minute_t *minute)
{
  const uint64_t number = own.base + minute->row.number, bytes = sizeof(minute->burst[0]);
  ws_journal_minute_t row = minute->row;
  if (!minute->is_new)
    return true;
  row.number = number;
  for (uint32_t i = minute->first_new; i < minute->end_new; i++)
    minute->burst[i].minute = (uint32_t)number;
  // Bursts before the row that counts them. Readers leave out those for which there is no room.
  const bool has_bursts = minute->end_new <= minute->first_new
                          || ws_held_file_put(file, &minute->burst[minute->first_new],
                                              (minute->end_new - minute->first_new) * bytes,
                                              ws_journal_bursts_at(number) + minute->first_new * bytes);
  if (!ws_held_file_put(file, &row, sizeof(row), ws_journal_row_at(number)) || !has_bursts)
    return false;
  minute->is_new = false;
  minute->first_new = WS_JOURNAL_PLACES;
  minute->end_new = 0;
  return true;
}

bool ws_journal_write(uint64_t real_ns, uint64_t removed, bool ends)
{
  ws_minute_t *newest = &own.minutes.at[own.minutes.newest], *other = &own.minutes.at[1 - own.minutes.newest];
  const int file = open_file(real_ns);
  if (file < 0)
    return false;
  own.head.removed += removed;
  own.head.until_ns = ends ? UINT64_MAX : real_ns;
  bool good = write_minute(file, other);
  good = write_minute(file, newest) && good;
  good = ws_held_file_put(file, &own.head, sizeof(own.head), 0) && good;
  own.head.removed -= good ? 0 : removed;
  const int error = errno;
  close(file);
  errno = error;
  return good;
}
