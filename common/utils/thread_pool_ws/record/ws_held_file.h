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
/// @return a descriptor to read and write, which the caller closes; that does not let go of the lock. -1:
/// errno says why
int ws_held_file_make(const char *path, void **held);

/// @brief Hold the lock of a file of this user, which is made if it is not there.
/// @param held  as ws_held_file_make()
/// @param about  out: the file before anything is written; undefined without a descriptor
/// @return a descriptor, as above; -1, also without the lock: EWOULDBLOCK = another process holds it, or it
///         is another user's, or no regular file, or was removed meanwhile, or there is no memory to map it;
///         ENOLCK = its folder has no locks; another errno = it cannot be opened
int ws_held_file_take(const char *path, void **held, struct stat *about);

/// @brief Let go of the lock, if there is one: *held becomes NULL.
void ws_held_file_let_go(void **held);

/// @return whether a name is of a file of this user whose process is gone. The proof is that the caller gets
/// the lock, which it lets go at once. False also if the file cannot be opened to write, or its folder has no
/// locks
/// @param folder  a descriptor. @param removes  remove it then, under the lock: no process can take it
/// meanwhile
bool ws_held_file_is_left(int folder, const char *name, bool removes);

/// @return whether both are of one file, whatever its name is now
static inline bool ws_held_file_is_same(const struct stat *one, const struct stat *other)
{
  return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/// @return whether an open file is a regular one of this user. @param about  out: undefined if it cannot be
/// had
static inline bool ws_held_file_is_own(int file, struct stat *about)
{
  return fstat(file, about) == 0 && S_ISREG(about->st_mode) && about->st_uid == geteuid();
}

/// @return whether RLIMIT_FSIZE allows files of that size. If not, errno is EFBIG, and a write could end the
/// process (SIGXFSZ)
bool ws_held_file_may_have(size_t bytes);

/// @brief Write at a place of the file. If that is beyond its end, there is a hole in between.
/// @return whether all was written; errno says why not, and a part of it may be there
bool ws_held_file_put(int file, const void *data, size_t bytes, uint64_t at);

#endif
