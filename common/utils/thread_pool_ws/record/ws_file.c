// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_file.c
/// ws_file.h.
#define _GNU_SOURCE
#include "ws_file.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../pool/ws_callback.h"

#define LIVES 2u ///< of processes that are gone: records that are kept
#define LOCK_BYTES 4096u
#define NAMES 4096u ///< of the folder that are looked at for them

static struct {
  char folder[PATH_MAX], name[80]; ///< of the record; folder "" = there is none
  char said[WS_RECORD_PATH_MAX]; ///< the folder as the settings name it
  bool is_made, is_whole; ///< its file; what was written before is there
  void *lock; ///< the mapping that holds it; NULL = none
  int error; ///< of which the last warning was
  uint64_t loads; ///< of libraries: it names these
  struct {
    uint64_t tid, head;
  } written[WS_RINGS];
  ws_file_head_t head;
  ws_event_ring_t ring; ///< as it is written
} own;

void ws_file_end(void)
{
  if (own.lock && own.lock != MAP_FAILED)
    munmap(own.lock, LOCK_BYTES);
  own.lock = NULL;
}

bool ws_file_is_there(void)
{
  return own.folder[0];
}

void ws_file_begin(const ws_settings_t *settings)
{
  char folder[PATH_MAX] = "", program[17] = "";
  if (settings->record[0] && !realpath(settings->record, folder)) {
    ws_warn(settings, "record=%s: %s; there is no record", settings->record, strerror(errno));
    folder[0] = '\0';
  }
  ws_os_read("/proc/self/comm", program, sizeof(program));
  for (char *letter = program; *letter; letter++)
    *letter = *letter == '\n' ? '\0' : isalnum((unsigned char)*letter) ? *letter : '_';
  memset(&own, 0, sizeof(own));
  ws_clock_pair(&own.head.own_ns, &own.head.real_ns);
  memcpy(own.head.magic, "WSREC004", sizeof(own.head.magic));
  own.head.pid = ws_rings.pid;
  snprintf(own.said, sizeof(own.said), "%s", settings->record);
  snprintf(own.folder, sizeof(own.folder), "%s", folder);
  snprintf(own.name, sizeof(own.name), "tpool-ws-%s-%u-%llu.record", program, own.head.pid,
           (unsigned long long)own.head.real_ns);
}

/// @return the beginning of its name, without the process's number
static size_t program_part(void)
{
  const char *end = own.name + strlen(own.name);
  for (uint32_t dashes = 0; dashes < 2; dashes += *end == '-')
    end--;
  return (size_t)(end - own.name) + 1;
}

/// @return whether the file is of this user, of this program, and of a process that is gone: who gets the
///         lock has the proof
static bool is_left(int folder, const char *name)
{
  const size_t letters = strlen(name), end = strlen(".record");
  struct stat about;
  if (strncmp(name, own.name, program_part()) != 0 || letters < end
      || strcmp(name + letters - end, ".record") != 0)
    return false;
  const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool left = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode)
                    && about.st_uid == geteuid() && flock(file, LOCK_EX | LOCK_NB) == 0;
  if (file >= 0)
    close(file);
  return left;
}

/// @return when the record of that name began: the number in it
static unsigned long long began(const char *name)
{
  const char *at = strrchr(name, '-');
  return at ? strtoull(at + 1, NULL, 10) : 0;
}

/// @brief Remove the oldest record of a process that is gone, with its copies. @return false: there are few
static bool remove_oldest(int folder)
{
  char oldest[NAME_MAX + 1] = "", copy[NAME_MAX + 4];
  uint32_t lives = 0;
  DIR *names = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const struct dirent *entry;
  for (uint32_t i = 0; names && i < NAMES && (entry = readdir(names)); i++) {
    if (!is_left(folder, entry->d_name))
      continue;
    if (lives++ == 0 || began(entry->d_name) < began(oldest))
      snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
  }
  if (names)
    closedir(names);
  if (lives <= LIVES)
    return false;
  for (uint32_t i = 0; i < WS_COPIES; i++) {
    snprintf(copy, sizeof(copy), "%s.%u", oldest, i);
    unlinkat(folder, copy, 0);
  }
  return unlinkat(folder, oldest, 0) == 0;
}

/// @return an open file, which is new; -1 = none
static int make_file(void)
{
  const int folder = open(own.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int file = openat(folder, own.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const int locked = openat(folder, own.name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (file >= 0 && flock(locked, LOCK_EX | LOCK_NB) == 0) { // the mapping holds it: it has no descriptor
    ws_file_end();
    own.lock = mmap(NULL, LOCK_BYTES, PROT_NONE, MAP_SHARED, locked, 0);
    madvise(own.lock, LOCK_BYTES, MADV_DONTFORK); // else the child of a fork would hold it, too
  }
  const int error = errno;
  if (locked >= 0)
    close(locked);
  for (uint32_t i = 0; !own.is_made && file >= 0 && i < NAMES && remove_oldest(folder); i++)
    ;
  if (folder >= 0)
    close(folder);
  own.is_made |= file >= 0;
  own.is_whole = false;
  errno = error;
  return file;
}

/// @return the record's file if it is this user's, else a new one
static int open_file(void)
{
  char path[sizeof(own.folder) + sizeof(own.name)];
  struct stat about;
  snprintf(path, sizeof(path), "%s/%s", own.folder, own.name);
  const int file = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT)
    return make_file();
  if (file < 0)
    return -1;
  const bool is_own = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid();
  own.is_whole &= is_own && about.st_size >= (off_t)sizeof(own.head); // else it was cut short
  if (is_own)
    return file;
  close(file);
  errno = EEXIST;
  return -1;
}

static bool put(int file, const void *data, size_t bytes, uint64_t at)
{
  for (size_t done = 0; done < bytes;) { // a second call says why the first one wrote a part
    const ssize_t written = pwrite(file, (const char *)data + done, bytes - done, (off_t)(at + done));
    if (written <= 0)
      return false;
    done += (size_t)written;
  }
  return true;
}

/// @param head, tid  as they were written
static bool put_ring(int file, uint32_t number, uint64_t *tid, uint64_t *head)
{
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t at = sizeof(own.head) + number * sizeof(*ring);
  const uint64_t now_tid = ws_load_acquire(&ring->tid); // [edge RING acquire] what begins it
  const uint64_t now = ws_load_acquire(&ring->head); // [edge RING acquire] the events below
  const uint64_t has = now_tid == *tid && *head <= now ? *head : 0;
  const uint64_t from = now - has < WS_RING_EVENTS ? has : now - WS_RING_EVENTS;
  if (now_tid == 0 || (now_tid == *tid && now == *head))
    return true; // what a thread that has ended left stays until there is another one
  for (uint64_t i = from; i < now; i++) {
    const ws_ring_event_t *event = &ring->event[i % WS_RING_EVENTS];
    own.ring.event[i % WS_RING_EVENTS] =
        (ws_ring_event_t){{ws_stat_load(&event->ns)}, {ws_stat_load(&event->what)}};
  }
  for (uint64_t i = from; i < now;) {
    const uint64_t first = i % WS_RING_EVENTS, left = WS_RING_EVENTS - first;
    const uint64_t events = now - i < left ? now - i : left;
    if (!put(file, &own.ring.event[first], events * sizeof(ws_ring_event_t),
             at + offsetof(ws_event_ring_t, event) + first * sizeof(ws_ring_event_t)))
      return false;
    i += events;
  }
  own.ring.head.v = now;
  own.ring.who.v = ws_stat_load(&ring->who);
  own.ring.tid.v = now_tid;
  own.ring.name[0].v = ws_stat_load(&ring->name[0]);
  own.ring.name[1].v = ws_stat_load(&ring->name[1]);
  *tid = now_tid;
  *head = now;
  return put(file, &own.ring, offsetof(ws_event_ring_t, depth), at);
}

/// @return 1: the others have the same number
static int count_loads(struct dl_phdr_info *info, size_t bytes, void *loads)
{
  (void)bytes;
  *(uint64_t *)loads = info->dlpi_adds;
  return 1;
}

/// Without what is no code: DPDK has a line for each huge page, which would leave no room.
static void read_maps(void)
{
  char line[PATH_MAX + 100], *end = own.head.maps; // "<begin>-<end> r-xp <offset> <device> <inode> <path>"
  FILE *maps = fopen("/proc/self/maps", "re");
  memset(own.head.maps, 0, sizeof(own.head.maps));
  while (maps && fgets(line, sizeof(line), maps)) {
    const char *mode = strchr(line, ' ');
    const bool is_code = mode && strncmp(mode, " r-", 3) == 0 && mode[4] == 'p' && strchr(mode, '/');
    if (is_code && end + sizeof(line) < own.head.maps + sizeof(own.head.maps))
      end = stpcpy(end, line);
  }
  if (maps)
    fclose(maps);
}

/// @param is_copy  all of it; else what is new
static bool put_all(int file, bool is_copy)
{
  const uint32_t count = ws_hint_load(&ws_rings.count), without = ws_stat_load(&ws_rings.without);
  uint64_t loads = 0;
  ws_os_fork_hold();
  dl_iterate_phdr(count_loads, &loads);
  ws_os_fork_let();
  const bool is_whole = !is_copy && own.is_whole && loads == own.loads;
  own.head.rings = without > 0 ? WS_RINGS + without : count;
  ws_clock_pair(&own.head.own_ns, &own.head.real_ns);
  if (!is_whole)
    read_maps();
  if (!put(file, &own.head, is_whole ? offsetof(ws_file_head_t, maps) : sizeof(own.head), 0))
    return false;
  if (!is_copy && !is_whole) {
    memset(own.written, 0, sizeof(own.written));
    own.loads = loads;
  }
  for (uint32_t i = 0; i < count; i++) {
    uint64_t none[2] = {0, 0};
    if (!put_ring(file, i, is_copy ? &none[0] : &own.written[i].tid,
                  is_copy ? &none[1] : &own.written[i].head))
      return false;
  }
  const off_t bytes = (off_t)(sizeof(own.head) + count * sizeof(own.ring));
  struct stat about;
  return fstat(file, &about) == 0 && (about.st_size >= bytes || ftruncate(file, bytes) == 0);
}

void ws_file_write(void)
{
  const int file = open_file();
  own.is_whole = file >= 0 && put_all(file, false);
  const int error = own.is_whole ? 0 : errno;
  if (file >= 0)
    close(file);
  if (error != 0 && error != own.error)
    ws_warn(&(ws_settings_t){0}, "record=%s: %s; the record lacks what happens until that is mended",
            own.said, strerror(error));
  own.error = error;
}

int ws_file_copy(uint32_t number)
{
  char path[sizeof(own.folder) + sizeof(own.name) + 8];
  snprintf(path, sizeof(path), "%s/%s.%u", own.folder, own.name, number);
  unlink(path); // the last hour's
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return errno;
  const int error = put_all(file, true) ? 0 : errno;
  close(file);
  if (error)
    unlink(path);
  return error;
}
