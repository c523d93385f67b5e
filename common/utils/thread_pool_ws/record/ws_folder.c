// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_folder.c
/// ws_folder.h.
#define _GNU_SOURCE
#include "ws_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ws_held_file.h"

#define NAMES 4096u ///< that are looked at, and files that a call removes: so a call ends

/// The file that was written first, of those that were offered.
typedef struct {
  char name[NAME_MAX + 1]; ///< "" = there is none
  uint64_t ns; ///< since 1970
} oldest_t;

/// What a look finds, of the program and user.
typedef struct {
  uint64_t bytes; ///< of all files, on the disk: holes take none
  uint32_t records; ///< of processes that are gone, without windows
  oldest_t file, record; ///< of processes that are gone
} look_t;

/// Make the file the oldest, if it was written before that one.
static void offer(oldest_t *oldest, const char *name, const struct stat *about)
{
  const uint64_t ns = (uint64_t)about->st_mtim.tv_sec * 1000000000u + (uint64_t)about->st_mtim.tv_nsec;
  if (oldest->name[0] && ns >= oldest->ns)
    return;
  snprintf(oldest->name, sizeof(oldest->name), "%s", name);
  oldest->ns = ns;
}

/// @return whether no living process, nor this one, has the file. Those that are not locked have a record
/// beside them, of the same process: a window, and one that is being written
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

/// Count the file, if it is one of the program and user. If no living process has it, it is one that may go:
/// this one's own are not asked for locks.
static void look_at(const ws_folder_t *folder, DIR *dir, const char *name, look_t *look)
{
  const size_t own = strlen(folder->own);
  struct stat about;
  if (fnmatch(folder->like, name, 0) != 0 || fstatat(dirfd(dir), name, &about, AT_SYMLINK_NOFOLLOW) != 0
      || about.st_uid != geteuid())
    return;
  const char *end = strrchr(name, '.');
  const bool is_record = end && strcmp(end, ".record") == 0;
  const bool is_own = strncmp(name, folder->own, own) == 0 && name[own] == '.';
  look->bytes += (uint64_t)about.st_blocks * 512;
  if (is_own || !is_left(dirfd(dir), name))
    return;
  offer(&look->file, name, &about);
  if (is_record)
    offer(&look->record, name, &about);
  look->records += is_record;
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
    // Anew for each file that goes: other processes of the program look and remove at the same time.
    folder->is_full = look.bytes > folder->bound;
    // A record too many goes whatever the bound; else the oldest file of any kind.
    const char *goes = look.records > WS_FOLDER_RECORDS ? look.record.name : "";
    goes = folder->is_full && !goes[0] ? look.file.name : goes;
    if (!goes[0] || unlinkat(dirfd(dir), goes, 0) != 0)
      break;
    folder->removed++;
  }
  if (dir)
    closedir(dir);
}
