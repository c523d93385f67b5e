// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_file.c
/// ws_file.h.
#define _GNU_SOURCE
#include "ws_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../pool/ws_callback.h"
#include "ws_folder.h"
#include "ws_held_file.h"
#include "ws_journal_write.h"
#include "ws_ledgers.h"

#define LOOK_NS 60000000000u ///< between two looks at the bound, beside those for a new file

/// What of a ring is in a file: the events of this thread below head. All 0 = nothing.
typedef struct {
  uint64_t tid, head;
} written_t;

static struct {
  ws_folder_t folder; ///< folder.path "" = there is no record
  uint64_t look_ns; ///< when it is looked at again
  uint64_t bursts, late; ///< of ws_ledgers_sum(): what the journal has counted, or was before the record
  bool is_whole; ///< the file has what `written` says; else all is written anew
  void *lock; ///< the mapping that holds the record's; NULL = none
  int error; ///< of the last write, 0 = none: the same one again gives no warning
  uint64_t loads; ///< of libraries, when head.maps was read
  written_t written[WS_RINGS]; ///< in the record
  ws_file_head_t head; ///< what the next write begins with, of a window, too
} own;

void ws_file_end(void)
{
  ws_held_file_let_go(&own.lock);
  ws_journal_end();
}

const char *ws_file_folder(void)
{
  return own.folder.path;
}

const char *ws_file_begin(const ws_settings_t *settings)
{
  ws_folder_t *const in = &own.folder;
  const char *why = NULL;
  char program[17] = "";
  memset(&own, 0, sizeof(own));
  if (settings->record[0] && !realpath(settings->record, in->path)) {
    why = strerror(errno);
    in->path[0] = '\0';
  }
  ws_os_read("/proc/self/comm", program, sizeof(program));
  // No other letters: '-' and '.' end the program in a name, so that in->like matches no other program's.
  for (char *letter = program; *letter; letter++)
    *letter = *letter == '\n' ? '\0' : isalnum((unsigned char)*letter) ? *letter : '_';
  ws_ledgers_sum(&own.bursts, &own.late); // in the child of a fork: its parent's
  memcpy(own.head.magic, "WSREC005", sizeof(own.head.magic));
  own.head.pid = ws_rings.pid;
  ws_os_clocks(&own.head.own_ns, &own.head.real_ns);
  own.head.until_ns = own.head.own_ns;
  snprintf(in->like, sizeof(in->like), "tpool-ws-%s[-.]*", program);
  snprintf(in->own, sizeof(in->own), "tpool-ws-%s-%u-%llu", program, own.head.pid,
           (unsigned long long)own.head.real_ns);
  in->bound = (uint64_t)settings->record_mb << 20;
  ws_journal_begin(in->path, program, own.head.pid, (uint32_t)own.head.real_ns);
  return why;
}

/// Count in the journal what has ended since the last call, and write it. Bursts are then in its minute in
/// memory, written or not; files that went stay to be counted until a write has them. @return false: errno
/// says why
static bool write_journal(bool ends)
{
  uint64_t bursts, late;
  ws_ledgers_sum(&bursts, &late);
  const bool good =
      ws_journal_write(ws_os_real_ns(), bursts - own.bursts, late - own.late, own.folder.removed, ends);
  own.bursts = bursts;
  own.late = late;
  own.folder.removed = good ? 0 : own.folder.removed;
  return good;
}

/// Make the record's file, and look at the folder's bound. Without its lock the file is used all the same: a
/// process that sweeps may remove it, and then it is made anew. @return the open file; -1: errno says why
static int make_file(const char *path)
{
  const int file = ws_held_file_make(path, &own.lock), error = errno;
  if (file >= 0) {
    write_journal(false); // the journal is held before the look: else it is one of those that may go
    ws_folder_keep(&own.folder);
  }
  own.is_whole = false;
  errno = error;
  return file;
}

typedef char path_t[sizeof(own.folder.path) + sizeof(own.folder.own) + 20];

/// @param window  its number; WS_WINDOWS = the record. @return @p path, with its name
static char *path_of(path_t path, uint32_t window)
{
  char end[12] = "";
  if (window < WS_WINDOWS)
    snprintf(end, sizeof(end), ".%u", window);
  snprintf(path, sizeof(path_t), "%s/%s.record%s", own.folder.path, own.folder.own, end);
  return path;
}

/// Open the record's file, each time anew: a program that becomes a daemon closes all descriptors, and their
/// numbers are then other files'. Clears own.is_whole if the file was made, or cut short.
/// @return the file, which is made if there is none; -1: errno says why, EEXIST = what has its name is not
/// this user's, or no file
static int open_file(void)
{
  path_t path;
  struct stat about;
  const int file = open(path_of(path, WS_WINDOWS), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT)
    return make_file(path);
  if (file < 0)
    return -1;
  const bool is_own = ws_held_file_is_own(file, &about);
  own.is_whole &= is_own && about.st_size >= (off_t)sizeof(own.head); // else it was cut short
  if (is_own)
    return file;
  close(file);
  errno = EEXIST;
  return -1;
}

/// @return the place of the last WS_NOTE_USED before @p at, from @p first on: what a thread lacked is counted
///         from there. @p at if there is none
static uint64_t note_before(const ws_event_ring_t *ring, uint64_t at, uint64_t first)
{
  for (uint64_t i = at; i > first; i--)
    if (ws_event_read(&ring->event[(i - 1) % WS_RING_EVENTS]).kind == WS_NOTE_USED)
      return i - 1;
  return at;
}

/// Copy events, while their owner may count a push into the newest one, or overwrite the oldest.
/// @return the events, each at its place
static const ws_ring_event_t *copy_events(const ws_event_ring_t *ring, uint64_t from, uint64_t end)
{
  static ws_ring_event_t copy[WS_RING_EVENTS]; // the scribe's
  for (uint64_t i = from; i < end; i++) {
    const ws_ring_event_t *event = &ring->event[i % WS_RING_EVENTS];
    // [edge RING acquire] before the head below
    const uint64_t ns = ws_load_acquire(&event->ns), what = ws_load_acquire(&event->what);
    copy[i % WS_RING_EVENTS] = (ws_ring_event_t){{ns}, {what}};
  }
  const uint64_t head = ws_load_acquire(&ring->head); // [edge RING acquire] what its owner wrote meanwhile
  if (head >= from + WS_RING_EVENTS) // the newest that may be overwritten: readers end there
    copy[(head - WS_RING_EVENTS < end ? head : end - 1) % WS_RING_EVENTS] =
        (ws_ring_event_t){.ns = {UINT64_MAX}};
  return copy;
}

/// Write what is new in a ring to its place. The owner goes on meanwhile: what it may have overwritten is
/// marked.
/// @param written  what the file has of it; then also what is new, with an error perhaps more than the file
/// has
/// @param since_ns  without the events before, but from a note on; 0 = all
/// @return false: errno says why
static bool put_ring(int file, uint32_t number, written_t *written, uint64_t since_ns)
{
  const ws_event_ring_t *ring = ws_ring(number);
  const uint64_t at = sizeof(own.head) + number * sizeof(*ring);
  const uint64_t tid = ws_load_acquire(&ring->tid); // [edge RING acquire] what begins it
  const uint64_t now = ws_load_acquire(&ring->head); // [edge RING acquire] the events below
  // Else the file has nothing of the ring, or what it has is another owner's: all is written.
  const bool is_its = written->head > 0 && tid == written->tid && now >= written->head;
  const uint64_t has = is_its ? written->head - 1 : 0; // a push that is the newest event may count more since
  const uint64_t first = now - has < WS_RING_EVENTS ? has : now - WS_RING_EVENTS; // of the new ones
  uint64_t from = first;
  if (tid == 0 || now == 0 || (is_its && now == written->head))
    return true;
  while (from < now && ws_stat_load(&ring->event[from % WS_RING_EVENTS].ns) < since_ns)
    from++;
  from = note_before(ring, from, first);
  const ws_ring_event_t *event = copy_events(ring, from, now);
  for (uint64_t i = from; i < now;) { // two pieces, if they go over the end of the ring's memory
    const uint64_t place = i % WS_RING_EVENTS, left = WS_RING_EVENTS - place;
    const uint64_t events = now - i < left ? now - i : left;
    if (!ws_held_file_put(file, &event[place], events * sizeof(ws_ring_event_t),
                          at + offsetof(ws_event_ring_t, event) + place * sizeof(ws_ring_event_t)))
      return false;
    i += events;
  }
  const uint64_t begin[] = {now, ws_stat_load(&ring->who), tid, ws_stat_load(&ring->name[0]),
                            ws_stat_load(&ring->name[1])};
  _Static_assert(sizeof(begin) == offsetof(ws_event_ring_t, depth), "what a ring begins with");
  // Last: the number of events, once these are in the file.
  *written = (written_t){tid, now};
  return ws_held_file_put(file, begin, sizeof(begin), at);
}

/// For dl_iterate_phdr(): set *loads to how many libraries were loaded so far.
/// @return 1: no further call, as each library comes with the same number
static int count_loads(struct dl_phdr_info *info, size_t bytes, void *loads)
{
  (void)bytes;
  *(uint64_t *)loads = info->dlpi_adds;
  return 1;
}

/// Set own.head.maps to the lines of files that are mapped private and to be read only, as code is: DPDK has
/// a line for each huge page, which would leave no room. Lines for which there is none are left out; if the
/// file cannot be read, all.
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

/// Write own.head and the rings, and have the file as long as all rings are. If libraries were loaded since,
/// own.head.maps is read again, and the record written anew.
/// @param is_window  all events since @p since_ns; else what is new in the record, or all unless own.is_whole
/// @return false: errno says why, and own.written may be wrong: the caller clears own.is_whole
static bool put_rings(int file, bool is_window, uint64_t since_ns)
{
  const uint32_t count = ws_hint_load(&ws_rings.count), without = ws_stat_load(&ws_rings.without);
  uint64_t loads = 0;
  ws_os_fork_hold(); // it takes a lock of the C library
  dl_iterate_phdr(count_loads, &loads);
  ws_os_fork_let();
  if (loads != own.loads) {
    read_maps();
    own.loads = loads;
    own.is_whole = false;
  }
  own.head.rings = without > 0 ? WS_RINGS + without : count;
  own.head.since_ns = since_ns;
  // Before the rings are read: events until own_ns are then in the file, but for one that its thread is just
  // writing.
  ws_os_clocks(&own.head.own_ns, &own.head.real_ns);
  if (!is_window && !own.is_whole)
    memset(own.written, 0, sizeof(own.written));
  const size_t names = is_window || !own.is_whole ? strlen(own.head.maps) + 1 : 0;
  bool good = ws_held_file_put(file, &own.head, offsetof(ws_file_head_t, maps) + names, 0);
  for (uint32_t i = 0; good && i < count; i++) {
    written_t none = {0};
    good = put_ring(file, i, is_window ? &none : &own.written[i], since_ns);
  }
  const off_t bytes = (off_t)(sizeof(own.head) + count * sizeof(ws_event_ring_t));
  struct stat about;
  return good && fstat(file, &about) == 0 && (about.st_size >= bytes || ftruncate(file, bytes) == 0);
}

/// Look at the folder. If what is left takes more than the bound, windows of this process go, those of the
/// highest numbers first. While it still does, ws_file_window() makes no further one.
static void keep_bound(void)
{
  path_t path;
  ws_folder_keep(&own.folder);
  for (uint32_t i = WS_WINDOWS; own.folder.is_full && i-- > 0;)
    if (unlink(path_of(path, i)) == 0) {
      own.folder.removed++;
      ws_folder_keep(&own.folder);
    }
}

void ws_file_write(bool ends)
{
  const int file = open_file();
  own.is_whole = file >= 0 && put_rings(file, false, 0);
  // After the rings: if the process is killed in between, the file has the time before, until which it is
  // whole.
  own.head.until_ns = own.is_whole ? own.head.own_ns : own.head.until_ns;
  const uint64_t until_ns = ends ? UINT64_MAX : own.head.until_ns;
  own.is_whole =
      own.is_whole && ws_held_file_put(file, &until_ns, sizeof(until_ns), offsetof(ws_file_head_t, until_ns));
  int error = own.is_whole ? 0 : errno;
  if (file >= 0)
    close(file);
  if (!write_journal(ends) && error == 0)
    error = errno;
  if (error != 0 && error != own.error)
    ws_warn(&(ws_settings_t){0}, "record=%s: %s; the record lacks what happens until that is mended",
            own.folder.path, strerror(error));
  own.error = error;
  const uint64_t now_ns = ws_os_now_ns();
  if (now_ns > own.look_ns) {
    keep_bound();
    own.look_ns = now_ns + LOOK_NS;
  }
}

int ws_file_window(uint32_t number, uint64_t since_ns)
{
  path_t path, part;
  snprintf(part, sizeof(part), "%s/%s.part", own.folder.path, own.folder.own);
  // is_full may be of a look that counted a part which is gone by now: for a window that is there it is tried
  // again.
  if (own.folder.is_full && access(path_of(path, number), F_OK) != 0)
    return ENOSPC;
  unlink(part); // what a full disk left
  const int file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return errno;
  int error = put_rings(file, true, since_ns) ? 0 : errno;
  close(file);
  ws_folder_keep(&own.folder); // before the name: a window for which there is no room replaces none
  error = error == 0 && own.folder.is_full ? ENOSPC : error;
  if (error == 0 && rename(part, path_of(path, number)) != 0)
    error = errno;
  if (error)
    unlink(part);
  return error;
}
