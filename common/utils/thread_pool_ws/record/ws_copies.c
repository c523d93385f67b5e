// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_copies.c
/// ws_copies.h.
#define _GNU_SOURCE
#include "ws_copies.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "../pool/ws_callback.h"

#define HOUR_NS UINT64_C(3600000000000)

struct ws_copies_s ws_copies;

/// @return 0 or an error number: what had that name is as it was
static int map_file(const char *path, size_t bytes, void **memory)
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

ws_event_file_t *ws_copies_begin(const ws_settings_t *settings)
{
  void *memory = NULL;
  if (settings->record[0]) {
    snprintf(ws_copies.path, sizeof(ws_copies.path), "%s/tpool-ws-%d-%llu.record", settings->record,
             (int)getpid(), (unsigned long long)ws_os_now_ns());
    const int error = map_file(ws_copies.path, sizeof(ws_event_file_t), &memory);
    if (error)
      ws_warn(settings, "record=%s: %s; there is no record", settings->record, strerror(error));
  }
  ws_init_store(&ws_copies.after, memory ? 0 : WS_COPY_NONE);
  return memory;
}

/// Another file, beside it.
static void copy_file(uint64_t number)
{
  char path[sizeof(ws_copies.path) + 8];
  snprintf(path, sizeof(path), "%s.%u", ws_copies.path, (uint32_t)number);
  unlink(path); // the last hour's
  const size_t bytes = offsetof(ws_event_file_t, ring) + ws_ring_count() * sizeof(ws_event_ring_t);
  const int from = open(ws_copies.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  const int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (sendfile(to, from, NULL, bytes) != (ssize_t)bytes) // the disk is full
    unlink(path);
  close(from);
  close(to);
}

bool ws_copies_ask(bool by_user)
{
  ws_au32_t *guard = ws_hint_load(&ws_copies.guard);
  uint64_t after = ws_hint_load(&ws_copies.after);
  if (!guard || after == WS_COPY_NONE || (!by_user && ws_clock_ns() <= after)
      || !ws_cas_acq_rel(&ws_copies.after, &after, WS_COPY_ASKED)) // [edge RING acq_rel] no guard copies
    return false;
  ws_os_futex_wake(guard, 1);
  return true;
}

void ws_copies_look(ws_au32_t *word)
{
  static uint64_t hour, copies; // of the guard that copies: in that hour
  uint64_t asked = WS_COPY_ASKED;
  ws_hint_store(&ws_copies.guard, word);
  ws_rings_compare_clocks(ws_rings.file);
  if (!ws_cas_acq_rel(&ws_copies.after, &asked, WS_COPY_NONE)) // [edge RING acq_rel] one guard
    return;
  const uint64_t hour_now = ws_clock_ns() / HOUR_NS;
  copies = hour_now == hour ? copies : 0;
  hour = hour_now;
  ws_os_read("/proc/self/maps", ws_rings.file->maps, sizeof(ws_rings.file->maps));
  copy_file(copies % WS_COPIES);
  // [edge RING release] the copy
  ws_store_release(&ws_copies.after, ++copies < WS_COPIES ? 0 : (hour + 1) * HOUR_NS);
}
