// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_file.c
/// ws_live.h: a file that other programs read while this one writes it.
#define _GNU_SOURCE
#include "ws_live.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int ws_file_map(const char *path, size_t bytes, void **memory)
{
  struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &limit);
  *memory = NULL;
  if (limit.rlim_cur < bytes) // else SIGXFSZ would end the process
    return EFBIG;
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return errno;
  int error = posix_fallocate(file, 0, (off_t)bytes); // else SIGBUS would, on a full disk
  void *mapped = error ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED)
    *memory = mapped;
  else
    error = error ? error : errno;
  close(file);
  if (error)
    unlink(path);
  return error;
}
