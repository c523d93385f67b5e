// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_folder.h
/// The folder of settings.record: the files of one program and user in it take at most settings.record_mb, as
/// long as enough of them may go. The oldest ones of processes that are gone go first; those of living ones,
/// which hold their locks, never. ws_file.c removes windows of its own process.
/// Of processes that are gone only the newest WS_FOLDER_RECORDS records stay, whatever the bound.
/// Names: tpool-ws-PROGRAM-PID-BEGIN.record, the same with .NUMBER for its windows, .part in place of .record
/// for a window that is being written, and tpool-ws-PROGRAM[.NUMBER].journal
/// @threads  the scribe's
#ifndef WS_FOLDER_H
#define WS_FOLDER_H

#include <limits.h>

#include "../os/ws_os.h" // IWYU pragma: export

#define WS_FOLDER_RECORDS 1u ///< of processes that are gone, without windows

typedef struct {
  char path[PATH_MAX];
  char like[40]; ///< what names of the program's files match, as fnmatch() takes it
  char own[80]; ///< begin of the names of this process's record and windows: up to the first '.'
  uint64_t bound; ///< bytes
  uint64_t removed; ///< files that went, here and in ws_file.c, since that last set this to 0
  bool is_full; ///< what is left takes more than the bound: at the last look
} ws_folder_t;

/// @brief Look at the folder, and remove what has to go, until a file cannot be removed. Adds to removed, and
/// sets is_full. If the folder cannot be opened both stay.
void ws_folder_keep(ws_folder_t *folder);

#endif
