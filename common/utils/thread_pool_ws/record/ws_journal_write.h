// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_journal_write.h
/// The journal (../include/ws_journal.h) of this process: a file that it holds (ws_held_file.h), and that the
/// next process of its program goes on with. Each minute of CLOCK_REALTIME has a fixed place for its row, and
/// places for its late bursts, which it takes from the minute a week, or 1,457 minutes, before. Those of
/// minutes without late bursts are holes in the file.
///
/// One minute is in memory, with what the file has of it: of this process, of one before, or of the same time
/// before the clock was set back. A late burst of another minute, which is examined after its end, makes that
/// one the minute in memory.
/// @threads  the scribe's; begin and end: with the lock of pools, while there is no scribe; functions that
/// get a file: any
#ifndef WS_JOURNAL_WRITE_H
#define WS_JOURNAL_WRITE_H

#include <stdbool.h>

#include "../include/ws_journal.h" // IWYU pragma: export

#define WS_JOURNAL_MAGIC "WSJRN002" ///< also a change of ws_cause_t is another version
#define WS_JOURNAL_END ".journal"

/// What the file begins with. The rows of minutes follow, then the late bursts.
typedef struct {
  char magic[8];
  uint64_t until_ns; ///< of CLOCK_REALTIME: it is written so far; UINT64_MAX = its last process has ended
  uint64_t removed; ///< files of the folder that went, so far (ws_folder.h)
} ws_journal_head_t;
#define WS_JOURNAL_MINUTE_NS 60000000000u
#define WS_JOURNAL_ROWS_AT 4096u
#define WS_JOURNAL_BURSTS_AT (WS_JOURNAL_ROWS_AT + WS_JOURNAL_ROWS * sizeof(ws_journal_minute_t))

_Static_assert(sizeof(ws_journal_burst_t) <= 128, "bytes of a late burst");
_Static_assert((uint32_t)WS_CAUSES <= WS_JOURNAL_CAUSES, "room for all causes");

/// @return where in the file the row of a minute is. @param minute  ws_journal_minute_t.number
static inline uint64_t ws_journal_row_at(uint64_t minute)
{
  return WS_JOURNAL_ROWS_AT + minute % WS_JOURNAL_ROWS * sizeof(ws_journal_minute_t);
}

/// @return where in the file the WS_JOURNAL_PLACES late bursts of a minute begin. @param minute  as above
static inline uint64_t ws_journal_bursts_at(uint64_t minute)
{
  return WS_JOURNAL_BURSTS_AT + minute % WS_JOURNAL_MINUTES * WS_JOURNAL_PLACES * sizeof(ws_journal_burst_t);
}

/// @return whether an open file is a journal of this version, or nothing is written yet: then the magic is 0.
/// false also if it cannot be read
bool ws_journal_read_head(int file, ws_journal_head_t *head);

/// @brief Read the late bursts of a minute's row, which may be damaged: their fields are not checked.
/// @return how many there are: some may not be written, and another minute may have their places by now. 0
/// also if they cannot be read
uint32_t ws_journal_read_bursts(int file, const ws_journal_minute_t *row,
                                ws_journal_burst_t burst[WS_JOURNAL_PLACES]);

/// @brief Begin. The first late burst or write makes the file. @param life  ws_journal_burst_t.life
/// @param folder  "" = there is no record, and no late burst or write comes. @param program  as names have it
void ws_journal_begin(const char *folder, const char *program, uint32_t pid, uint32_t life);

/// @brief The library is unloaded: let go of the lock. The file stays.
void ws_journal_end(void);

/// @return ws_journal_burst_t.life of this process's. @threads any
uint32_t ws_journal_life(void);

/// @brief Enter a late burst that was examined, or could not be; pid, life and minute are set here. The next
/// write has it. Does not count it as a late one: ws_journal_write() does. If it is of another minute than
/// the one in memory, that one is written before; an error is not reported
void ws_journal_late(const ws_journal_burst_t *burst);

/// @brief Count what there was since the last call, in the minute of @p real_ns (now), and write what is new.
/// @param bursts, late  that have ended, and late ones of these
/// @param removed  files of the folder that went, which no call that returned true has counted
/// @param ends  no call comes after this one
/// @return false: errno says why. bursts and late are counted all the same, and the next call in the same
/// minute writes them; those of a minute that is over are lost
bool ws_journal_write(uint64_t real_ns, uint64_t bursts, uint64_t late, uint64_t removed, bool ends);

#endif
