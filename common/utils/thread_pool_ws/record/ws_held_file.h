// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_held_file.h
/// Files by which other programs see that their process lives: it holds flock() on the file until it ends, or
/// execve(). A mapping holds the lock, of an open file that has no descriptor any more: close() cannot lose
/// it, and the child of a fork, which has not that mapping (MADV_DONTFORK), does not share it.
#ifndef WS_HELD_FILE_H
#define WS_HELD_FILE_H

#include <sys/stat.h>
#include <unistd.h>

#include "../os/ws_os.h"

/// @brief Make a file, mode 0600, which must not be there, and hold its lock.
/// @param held  *held: NULL, or what holds the lock of a file before, which is let go; then what holds this
///              one; NULL = the lock cannot be had, also if a program that sweeps was faster
/// @return a descriptor; -1: errno says why
int ws_held_file_make(const char *path, void **held);

/// @brief Hold the lock of a file of this user, which is made if it is not there.
/// @param held  as ws_held_file_make()
/// @param about  out: the file before anything is written
/// @return a descriptor; -1, also without the lock: EWOULDBLOCK = another process holds it, or it is
///         another user's, or no regular file; ENOLCK = its folder has no locks; another errno
int ws_held_file_take(const char *path, void **held, struct stat *about);

/// @brief Let go of the lock, if there is one.
void ws_held_file_let_go(void **held);

/// @return whether a name is of a file of this user whose process is gone: who gets the lock has the proof
/// @param folder  a descriptor. @param removes  remove it then
bool ws_held_file_is_left(int folder, const char *name, bool removes);

static inline bool ws_held_file_is_same(const struct stat *one, const struct stat *other)
{
  return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/// @return whether an open file is a regular one of this user
static inline bool ws_held_file_is_own(int file, struct stat *about)
{
  return fstat(file, about) == 0 && S_ISREG(about->st_mode) && about->st_uid == geteuid();
}

/// @return whether a file may have that size, else SIGXFSZ could end the process; errno says why not
bool ws_held_file_may_have(size_t bytes);

/// @return whether all was written; errno says why not
bool ws_held_file_put(int file, const void *data, size_t bytes, uint64_t at);

#endif
