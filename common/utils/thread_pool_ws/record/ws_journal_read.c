// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_journal_read.c
/// ../include/ws_journal.h: journals of any processes. Their files are taken as hostile: another user may
/// have put them there, a process may be writing them, a disk may have been full.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "ws_journal_write.h"

/// The arguments of ws_journal_bursts() or ws_journal_minutes().
typedef struct {
  uint64_t since_ns, until_ns;
  ws_cause_t cause;
  void (*burst)(void *arg, const ws_journal_burst_t *burst); ///< NULL = minutes are asked for
  void (*minute)(void *arg, const ws_journal_minute_t *minute);
  void *arg;
} query_t;

/// By the first field: of a minute its number, of a burst its end.
static int by_first(const void *one, const void *other)
{
  const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
  return (a > b) - (a < b);
}

/// Hand over the late bursts of a minute that match, in order of their ends. Damaged ones are left out:
/// without a cause, or not late.
static void read_bursts(int file, const ws_journal_minute_t *minute, const query_t *query)
{
  ws_journal_burst_t burst[WS_JOURNAL_PLACES];
  const uint32_t count = ws_journal_read_bursts(file, minute, burst);
  qsort(burst, count, sizeof(burst[0]), by_first);
  for (uint32_t i = 0; i < count; i++)
    if (burst[i].cause < WS_CAUSES && burst[i].length_ns >= burst[i].limit_ns
        && burst[i].real_ns >= query->since_ns && burst[i].real_ns < query->until_ns
        && (query->cause == WS_CAUSES || burst[i].cause == (uint32_t)query->cause))
      query->burst(query->arg, &burst[i]);
}

/// Hand over the minutes that reach into the time, or their late bursts, the oldest first. Rows that are
/// damaged, or not there, are left out. Takes 1.9 MB of the heap.
/// @return 0 or -errno: then none is handed over
static int read_minutes(int file, const query_t *query)
{
  ws_journal_minute_t *row = calloc(WS_JOURNAL_ROWS, sizeof(*row));
  if (!row)
    return -ENOMEM;
  const ssize_t bytes = pread(file, row, WS_JOURNAL_ROWS * sizeof(*row), WS_JOURNAL_ROWS_AT);
  const int error = bytes < 0 ? -errno : 0;
  for (uint32_t i = 0; i < WS_JOURNAL_ROWS; i++)
    row[i].number *= row[i].number % WS_JOURNAL_ROWS == i
                     && row[i].number < UINT64_MAX / WS_JOURNAL_MINUTE_NS; // else it is damaged
  qsort(row, WS_JOURNAL_ROWS, sizeof(*row), by_first);
  for (uint32_t i = 0; i < WS_JOURNAL_ROWS; i++) {
    const uint64_t until_ns = row[i].number * WS_JOURNAL_MINUTE_NS;
    if (row[i].number == 0 || until_ns <= query->since_ns
        || until_ns - WS_JOURNAL_MINUTE_NS >= query->until_ns)
      continue;
    if (query->burst)
      read_bursts(file, &row[i], query);
    else
      query->minute(query->arg, &row[i]);
  }
  free(row);
  return error;
}

/// @param folder  a descriptor, or AT_FDCWD
/// @return 0 or a negative error number: -EINVAL = it is a link, no regular file, of another user but root,
/// or of another version
static int read_journal(int folder, const char *name, const query_t *query)
{
  ws_journal_head_t head;
  struct stat about;
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    return errno == ELOOP ? -EINVAL : -errno;
  int error = -EINVAL;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && (about.st_uid == geteuid() || about.st_uid == 0)
      && ws_journal_read_head(file, &head))
    error = read_minutes(file, query);
  close(file);
  return error;
}

/// Read one journal, or all of a folder; of one that cannot be read the others are handed over all the same.
/// @return as ws_journal_bursts()
static int read_all(const char *path, query_t query)
{
  if (!path || (!query.burst && !query.minute))
    return -EINVAL;
  query.until_ns = query.until_ns ? query.until_ns : UINT64_MAX;
  DIR *folder = opendir(path);
  int read = 0, first_error = folder ? 0 : -errno;
  if (first_error == -ENOTDIR) {
    first_error = read_journal(AT_FDCWD, path, &query);
    read = 1;
  }
  for (const struct dirent *entry; folder && (entry = readdir(folder));) {
    if (fnmatch("*" WS_JOURNAL_END, entry->d_name, 0) != 0)
      continue;
    const int error = read_journal(dirfd(folder), entry->d_name, &query);
    read += error == 0;
    first_error = first_error ? first_error : error;
  }
  if (folder)
    closedir(folder);
  return first_error ? first_error : read;
}

int ws_journal_bursts(const char *path, uint64_t since_ns, uint64_t until_ns, ws_cause_t cause,
                      void (*each)(void *arg, const ws_journal_burst_t *burst), void *arg)
{
  return read_all(path, (query_t){since_ns, until_ns, cause, each, NULL, arg});
}

int ws_journal_minutes(const char *path, uint64_t since_ns, uint64_t until_ns,
                       void (*each)(void *arg, const ws_journal_minute_t *minute), void *arg)
{
  return read_all(path, (query_t){since_ns, until_ns, WS_CAUSES, NULL, each, arg});
}
