// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_folder.c
/// ws_folder.h.
#define _GNU_SOURCE
#include "ws_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ws_held_file.h"

#define NAMES 4096u ///< that are looked at

/// What a look finds.
typedef struct {
  uint64_t bytes; ///< of all files
  uint32_t records; ///< of processes that are gone, without windows
  char oldest[NAME_MAX + 1], oldest_record[NAME_MAX + 1]; ///< of processes that are gone; "" = there is none
  struct timespec of_oldest, of_record; ///< last writes
} look_t;

static bool is_before(struct timespec one, struct timespec other)
{
  return one.tv_sec != other.tv_sec ? one.tv_sec < other.tv_sec : one.tv_nsec < other.tv_nsec;
}

/// @return whether no living process has the file
static bool is_left(int folder, const char *name)
{
  char record[NAME_MAX + 8];
  const char *window = strstr(name, ".record.");
  window = window ? window : strstr(name, ".part"); // it is being written
  if (!window)
    return ws_held_file_is_left(folder, name, false);
  snprintf(record, sizeof(record), "%.*s.record", (int)(window - name), name);
  return faccessat(folder, record, F_OK, 0) != 0 || ws_held_file_is_left(folder, record, false);
}

/// The file is the oldest so far.
static void take(char oldest[NAME_MAX + 1], struct timespec *of_oldest, const char *name, struct timespec of)
{
  snprintf(oldest, NAME_MAX + 1, "%s", name);
  *of_oldest = of;
}

static void look_at(const ws_folder_t *folder, DIR *dir, const char *name, look_t *look)
{
  const size_t prefix = strlen("tpool-ws-"), program = strlen(folder->program), own = strlen(folder->own);
  struct stat about;
  if (strncmp(name, "tpool-ws-", prefix) != 0 || strncmp(name + prefix, folder->program, program) != 0
      || !strchr("-.", name[prefix + program]) || fstatat(dirfd(dir), name, &about, AT_SYMLINK_NOFOLLOW) != 0
      || about.st_uid != geteuid())
    return;
  const char *end = strrchr(name, '.');
  const bool is_record = end && strcmp(end, ".record") == 0;
  const bool is_own = strncmp(name, folder->own, own) == 0 && name[own] == '.';
  look->bytes += (uint64_t)about.st_blocks * 512;
  const bool is_older = !look->oldest[0] || is_before(about.st_mtim, look->of_oldest);
  if (is_own || (!is_older && !is_record) || !is_left(dirfd(dir), name))
    return;
  look->records += is_record;
  if (is_older)
    take(look->oldest, &look->of_oldest, name, about.st_mtim);
  if (is_record && (!look->oldest_record[0] || is_before(about.st_mtim, look->of_record)))
    take(look->oldest_record, &look->of_record, name, about.st_mtim);
}

void ws_folder_keep(ws_folder_t *folder)
{
  DIR *dir = opendir(folder->path);
  for (uint32_t i = 0; dir && i < NAMES; i++) {
    const struct dirent *entry;
    look_t look = {0};
    rewinddir(dir);
    for (uint32_t k = 0; k < NAMES && (entry = readdir(dir)); k++)
      look_at(folder, dir, entry->d_name, &look);
    folder->is_full = look.bytes > folder->bound;
    const char *goes = look.records > WS_FOLDER_RECORDS ? look.oldest_record : "";
    goes = folder->is_full && !goes[0] ? look.oldest : goes;
    if (!goes[0] || unlinkat(dirfd(dir), goes, 0) != 0)
      break;
    folder->removed++;
  }
  if (dir)
    closedir(dir);
}
