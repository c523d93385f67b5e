// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rings.h
/// The rings: the last events of each thread, in memory of the process. ws_file.h writes them to files.
///
/// Roles     A ring has one owner, which writes. Any thread may read: the scribe does.
/// Overrun   The owner never waits. A reader leaves out the oldest events, which it may be overwriting.
/// Lifetime  A thread that ends gives its ring back, and the next one takes it; until then its events can be
///           read. Its memory, 65 KiB, is mapped for the first owner and stays until the library is unloaded.
///           So there are as many rings as threads had events at one time, at most WS_RINGS. A thread whose
///           end the C library does not report (ws_process_see_end()) keeps its ring taken.
#ifndef WS_RINGS_H
#define WS_RINGS_H

#include <unistd.h>

#include "../pool/ws_process.h" // IWYU pragma: export
#include "ws_event.h" // IWYU pragma: export

#define WS_RINGS 1024u
#define WS_RING_EVENTS 4096u ///< a power of two

/// Of one kind of bursts or phases that a thread has ended, and that were judged: ws_late_burst_t.key (0 =
/// none), their number, the median of their lengths, and the lower quartile.
typedef struct {
  uint64_t key, count, length, low;
} ws_learnt_t;

/// What a thread outside tasks is in.
typedef struct {
  enum { WS_IN_NOTHING, WS_IN_BURST, WS_IN_PHASE } in;
  uint32_t phase; ///< which
  /// Its thread has noted in it what it has used: in a phase at the begin, in a burst at the second push or
  /// the first wait, or as notes_first says.
  bool has_note;
  uint64_t unseen, lacked; ///< ns from its begin to that note; of that without a CPU, at least
  /// pool (id), group: of the last push; pushed: tasks; key: the function of a burst's first task, in a
  /// phase frame and slot; begin: CLOCK_MONOTONIC.
  uint64_t pool, pushed, key, group, begin;
  struct ws_ledger_room_s *ledger; ///< of the pool of the last push; NULL = it is not judged, or no push yet
} ws_span_t;

/// What a thread has noted last (WS_NOTE_USED), and how it has slept in waits since.
typedef struct {
  uint64_t ns, cpu_ns, sleeps; ///< the note: when, CPU time used, and how often the thread had slept
  uint64_t asleep_since, asleep_ns, waits; ///< waits: how often it slept in one
} ws_noted_t;

typedef struct ws_event_ring_s {
  /// head: O events that the owner has written. The others are set when it takes the ring. who: of a worker
  /// its pool's id << 16 and its index, 0 = a thread outside. tid: the owner, or the last one, 0 = it had
  /// none.
  ws_au64_t head, who, tid;
  ws_au64_t name[2]; ///< of the owner then, 16 letters
  // P the owner's.
  uint32_t depth; ///< tasks that it is in
  bool notes_first; ///< at the first push of a burst: at a later event, late ones showed nothing before it
  ws_noted_t noted;
  ws_span_t span;
  ws_learnt_t learnt[8];
  /// S the last burst that was on time, for ws_work_learn(); end 0 = none. It is read word by word: if the
  /// owner writes the next one meanwhile, the two may mix, and one value is learnt wrong. begin > end shows
  /// most of these.
  struct {
    ws_au64_t begin, end, pool, key, pushed;
  } on_time;
  alignas(1024) ws_ring_event_t event[WS_RING_EVENTS];
} ws_event_ring_t;

/// What the process has of them: begun before any event, in the child of a fork anew.
extern struct ws_rings_s {
  uint32_t pid, forks; ///< whose they are (ws_process.forks); pid 0 = there are none
  ws_au32_t count; ///< S the highest number with memory, + 1; a lower one may have none yet
  ws_au32_t without; ///< S threads that got none: all were taken, or there was no memory
  /// S ns, lower quartile from a call to the worker's first instruction. Workers of all pools learn it: if
  /// two do at once, one value is lost.
  ws_au64_t wake_ns;
  ws_au32_t taken[WS_RINGS]; ///< S 1 = a thread has that ring, or maps its memory
  ws_aptr_t ring[WS_RINGS]; ///< S NULL = without memory so far
} ws_rings;

/// @brief Begin the rings: there are none, or those of a parent of a fork, whose memory stays mapped.
/// @threads  with the lock of pools, before a thread can make events
void ws_rings_begin(void);
/// @brief Unmap them. Requires that no thread is in an event, and that none begins one any more.
/// @threads  with the lock of pools
void ws_rings_end(void);
/// @brief Take a ring for the calling thread, which is given back when the thread ends. The caller keeps it
/// in ws_self_t.ring, also ws_ring_none: it does not ask again. Takes system calls, and may map memory.
/// @return ws_ring_none = there is none, also in the child of a fork without rings of its own
ws_event_ring_t *ws_ring_take(void);
/// In place of a ring. No thread writes to it, so that readers find no event, and no thread.
extern ws_event_ring_t ws_ring_none;

/// Append an event; @p small has 10 bits, @p address 48. @threads  the owner
static inline void ws_ring_put(ws_event_ring_t *ring, uint64_t ns, ws_note_t kind, uint64_t small,
                               uint64_t address)
{
  const uint64_t head = ws_own_load(&ring->head);
  ws_stat_store(&ring->event[head % WS_RING_EVENTS].ns, ns);
  ws_stat_store(&ring->event[head % WS_RING_EVENTS].what,
                ws_event_what(kind, ring->depth > 0, small, address));
  ws_store_release(&ring->head, head + 1); // [edge RING release] the event
}

/// @return whether there are rings, and not of the parent of a fork, whose number a child may have got again
static inline bool ws_rings_are_own(void)
{
  return ws_rings.pid != 0 && ws_rings.pid == (uint32_t)getpid() && ws_rings.forks == ws_process.forks;
}

/// @param number  below ws_rings.count. @return the ring, whether a thread has it or not; never NULL
static inline const ws_event_ring_t *ws_ring(uint32_t number)
{
  const ws_event_ring_t *ring = ws_load_acquire(&ws_rings.ring[number]); // [edge RING acquire] its memory
  return ring ? ring : &ws_ring_none; // its first owner has just got the number
}

#endif
