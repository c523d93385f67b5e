// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_file.h
/// The record: the rings in a file, and copies of it. nrbench/live/record.py reads both.
///
/// No memory of a file is touched: the scribe writes what is new in the rings by pwrite(), five times a
/// second. A disk that is full costs events, and gives a warning; one that is frozen gives it when the last
/// pool ends (ws_scribe.h). A file that was cut short or removed is written anew from the rings. A process
/// that is killed leaves what was written until then: until_ns.
///
/// The process holds flock() on its file as long as it lives, by a mapping (ws_held_file.h). Of this program
/// and user all files of the folder have a bound (ws_folder.h).
/// @threads  the scribe's, if there is a record; ws_file_begin() and ws_file_end(): with the lock of pools,
/// while there is no scribe
#ifndef WS_FILE_H
#define WS_FILE_H

#include "ws_rings.h" // IWYU pragma: export

/// What a file begins with. The rings follow, each as ws_event_ring_t.
typedef struct {
  char magic[8];
  uint32_t pid, rings; ///< rings that follow; if threads got none, WS_RINGS + their number
  uint64_t own_ns, real_ns; ///< CLOCK_MONOTONIC, as of all events, and CLOCK_REALTIME, at one time
  uint64_t until_ns; ///< events until then are in the record; UINT64_MAX = all, it has ended
  uint64_t since_ns; ///< a window has events from then on, and a note before; 0 = all
  alignas(4096) char maps[1 << 17]; ///< lines of /proc/self/maps, up to a 0: for addresses of functions
} ws_file_head_t;

/// @brief Begin the record in settings->record, which may be "": there is none. The first write makes the
/// file. @return NULL; or why there is no record
const char *ws_file_begin(const ws_settings_t *settings);

/// @brief The library is unloaded: let go of the locks of the record and the journal. The files stay.
void ws_file_end(void);

/// @return the folder of the record; "" = there is none. @threads  any, after ws_file_begin()
const char *ws_file_folder(void);

/// @brief Write what is new in the rings, and the journal; once a minute look at the folder's bound. A
/// failure is a warning, unless the last call had the same one. The next call writes what this one could not,
/// as far as the rings still have it.
/// @param ends  no event comes any more, unless there is a pool again: then it is called again
void ws_file_write(bool ends);

/// Windows by number: of the worst late burst of each hour of a day, of the newest eight, and one asked for.
enum { WS_WINDOW_HOUR, WS_WINDOW_NEWEST = 24, WS_WINDOW_ASKED = 32, WS_WINDOWS };

/// @brief Write a window beside the record: the events since some time of CLOCK_MONOTONIC, 0 = all. It
/// replaces the window of that number, which with an error stays.
/// @param number  below WS_WINDOWS
/// @return 0 or an error number: ENOSPC also if there is no room for it (settings.record_mb)
int ws_file_window(uint32_t number, uint64_t since_ns);

#endif
