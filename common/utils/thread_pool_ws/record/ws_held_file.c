// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_held_file.c
/// ws_held_file.h.
#define _GNU_SOURCE
#include "ws_held_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define HELD_BYTES 4096u

/// Set *held: open a file that is there once more by its name, lock it and map it. Once more: descriptors
/// that are copied, as by fork(), share one open file, and its lock. If that fails *held stays.
/// @return why then: EWOULDBLOCK or ENOLCK, as ws_held_file_take(); else undefined
static int hold(const char *path, void **held)
{
  // A child that is forked before close() would hold the lock, too. What may wait for a frozen disk, the
  // caller's open() that makes the file, came before: forks do not wait for a disk.
  ws_os_fork_hold();
  const int locked = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  void *lock = MAP_FAILED;
  struct stat now;
  const bool has = flock(locked, LOCK_EX | LOCK_NB) == 0,
             are_there = has || locked < 0 || errno == EWOULDBLOCK;
  // Before the lock a process that sweeps may have taken the file, and removed it: such a lock shows nothing.
  if (has && fstat(locked, &now) == 0 && now.st_nlink > 0)
    lock = mmap(NULL, HELD_BYTES, PROT_NONE, MAP_SHARED, locked, 0);
  if (lock != MAP_FAILED && madvise(lock, HELD_BYTES, MADV_DONTFORK) == 0)
    *held = lock;
  if (locked >= 0)
    close(locked);
  ws_os_fork_let();
  return are_there ? EWOULDBLOCK : ENOLCK;
}

int ws_held_file_make(const char *path, void **held)
{
  ws_held_file_let_go(held);
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0)
    hold(path, held); // if it cannot be had the caller decides
  return file;
}

int ws_held_file_take(const char *path, void **held, struct stat *about)
{
  ws_held_file_let_go(held);
  const int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (file < 0)
    return -1;
  const int error = ws_held_file_is_own(file, about) ? hold(path, held) : EWOULDBLOCK;
  if (*held)
    return file;
  close(file);
  errno = error;
  return -1;
}

void ws_held_file_let_go(void **held)
{
  ws_os_unmap(*held, HELD_BYTES);
  *held = NULL;
}

bool ws_held_file_is_left(int folder, const char *name, bool removes)
{
  struct stat found, named;
  // To write, too: else NFS gives no exclusive lock. Not to wait: a name may be of a FIFO.
  const int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool left = file >= 0 && ws_held_file_is_own(file, &found) && flock(file, LOCK_EX | LOCK_NB) == 0
                    && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0
                    && ws_held_file_is_same(&found, &named); // else the name is another file's by now
  if (left && removes)
    unlinkat(folder, name, 0);
  if (file >= 0)
    close(file);
  return left;
}

bool ws_held_file_may_have(size_t bytes)
{
  struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &limit);
  errno = EFBIG;
  return limit.rlim_cur >= bytes;
}

bool ws_held_file_put(int file, const void *data, size_t bytes, uint64_t at)
{
  if (!ws_held_file_may_have(at + bytes))
    return false;
  for (size_t done = 0; done < bytes;) { // a second call says why the first one wrote a part
    const ssize_t written = pwrite(file, (const char *)data + done, bytes - done, (off_t)(at + done));
    if (written <= 0)
      return false;
    done += (size_t)written;
  }
  return true;
}
