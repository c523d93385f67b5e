// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_file.c
/// ws_file.h.
#define _GNU_SOURCE
#include "ws_file.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../pool/ws_callback.h"
#include "ws_held_file.h"

#define LIVES 2u ///< of processes that are gone: records that are kept
#define NAMES 4096u ///< of the folder that are looked at for them

static struct {
  char folder[PATH_MAX], name[80]; ///< of the record; folder "" = there is none
  char like[40]; ///< pattern of this program's records
  bool is_made, is_whole; ///< its file; what was written before is there
  void *lock; ///< the mapping that holds it; NULL = none
  int error; ///< of which the last warning was
  uint64_t loads; ///< of libraries: it names these
  struct {
    uint64_t tid, head;
  } written[WS_RINGS];
  ws_file_head_t head;
} own;

void ws_file_end(void)
{
  ws_held_file_let_go(&own.lock);
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
  memcpy(own.head.magic, "WSREC005", sizeof(own.head.magic));
  own.head.until_ns = own.head.own_ns;
  own.head.pid = ws_rings.pid;
  snprintf(own.folder, sizeof(own.folder), "%s", folder);
  snprintf(own.like, sizeof(own.like), "tpool-ws-%s-*.record", program);
  snprintf(own.name, sizeof(own.name), "tpool-ws-%s-%u-%llu.record", program, own.head.pid,
           (unsigned long long)own.head.real_ns);
}

/// @return when the record of that name began: the number in it
static unsigned long long began(const char *name)
{
  return strtoull(strrchr(name, '-') + 1, NULL, 10);
}

/// @brief Remove the oldest record of a process that is gone, with its copies. @return false: there are few
static bool remove_oldest(void)
{
  char oldest[NAME_MAX + 1] = "-", copy[NAME_MAX + 4];
  uint32_t lives = 0;
  DIR *folder = opendir(own.folder);
  const struct dirent *entry;
  for (uint32_t i = 0; folder && i < NAMES && (entry = readdir(folder)); i++)
    if (fnmatch(own.like, entry->d_name, 0) == 0 && ws_held_file_is_left(dirfd(folder), entry->d_name, false)
        && (lives++ == 0 || began(entry->d_name) < began(oldest)))
      snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
  for (uint32_t i = 0; i < WS_COPIES && lives > LIVES; i++) {
    snprintf(copy, sizeof(copy), "%s.%u", oldest, i);
    unlinkat(dirfd(folder), copy, 0);
  }
  const bool removed = lives > LIVES && unlinkat(dirfd(folder), oldest, 0) == 0;
  if (folder)
    closedir(folder);
  return removed;
}

/// @return an open file, which is new; -1 = none
static int make_file(const char *path)
{
  const int file = ws_held_file_make(path, &own.lock), error = errno;
  for (uint32_t i = 0; !own.is_made && file >= 0 && i < NAMES && remove_oldest(); i++)
    ;
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
    return make_file(path);
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

static bool put_ring(int file, uint32_t number)
{
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t at = sizeof(own.head) + number * sizeof(*ring);
  const uint64_t tid = ws_load_acquire(&ring->tid); // [edge RING acquire] what begins it
  const uint64_t now = ws_load_acquire(&ring->head); // [edge RING acquire] the events below
  const bool is_its = tid == own.written[number].tid && now >= own.written[number].head;
  const uint64_t has = is_its ? own.written[number].head : 0;
  const uint64_t from = now - has < WS_RING_EVENTS ? has : now - WS_RING_EVENTS;
  if (tid == 0 || (is_its && now == has))
    return true; // what a thread that has ended left stays until there is another one
  for (uint64_t i = from; i < now;) { // what the owner overwrites meanwhile, readers leave out
    const uint64_t first = i % WS_RING_EVENTS, left = WS_RING_EVENTS - first;
    const uint64_t events = now - i < left ? now - i : left;
    if (!ws_held_file_put(file, &ring->event[first], events * sizeof(ws_ring_event_t),
                          at + offsetof(ws_event_ring_t, event) + first * sizeof(ws_ring_event_t)))
      return false;
    i += events;
  }
  const uint64_t begin[] = {now, ws_stat_load(&ring->who), tid, ws_stat_load(&ring->name[0]),
                            ws_stat_load(&ring->name[1])};
  _Static_assert(sizeof(begin) == offsetof(ws_event_ring_t, depth), "what a ring begins with");
  own.written[number].tid = tid;
  own.written[number].head = now;
  return ws_held_file_put(file, begin, sizeof(begin), at);
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

/// @param all  else what is new
static bool put_rings(int file, bool all)
{
  const uint32_t count = ws_hint_load(&ws_rings.count), without = ws_stat_load(&ws_rings.without);
  uint64_t loads = 0;
  ws_os_fork_hold();
  dl_iterate_phdr(count_loads, &loads);
  ws_os_fork_let();
  all |= loads != own.loads;
  own.head.rings = without > 0 ? WS_RINGS + without : count;
  ws_clock_pair(&own.head.own_ns, &own.head.real_ns);
  if (all) {
    read_maps();
    memset(own.written, 0, sizeof(own.written));
    own.loads = loads;
  }
  bool good = ws_held_file_put(file, &own.head, all ? sizeof(own.head) : offsetof(ws_file_head_t, maps), 0);
  for (uint32_t i = 0; good && i < count; i++)
    good = put_ring(file, i);
  const off_t bytes = (off_t)(sizeof(own.head) + count * sizeof(ws_event_ring_t));
  struct stat about;
  return good && fstat(file, &about) == 0 && (about.st_size >= bytes || ftruncate(file, bytes) == 0);
}

void ws_file_write(bool ends)
{
  const int file = open_file();
  own.is_whole = file >= 0 && put_rings(file, !own.is_whole);
  own.head.until_ns = own.is_whole ? own.head.own_ns : own.head.until_ns;
  const uint64_t until_ns = ends ? UINT64_MAX : own.head.until_ns;
  own.is_whole =
      own.is_whole && ws_held_file_put(file, &until_ns, sizeof(until_ns), offsetof(ws_file_head_t, until_ns));
  const int error = own.is_whole ? 0 : errno;
  if (file >= 0)
    close(file);
  if (error != 0 && error != own.error)
    ws_warn(&(ws_settings_t){0}, "record=%s: %s; the record lacks what happens until that is mended",
            own.folder, strerror(error));
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
  const int error = put_rings(file, true) ? 0 : errno;
  own.is_whole = false; // what is in the record was forgotten
  close(file);
  if (error)
    unlink(path);
  return error;
}
