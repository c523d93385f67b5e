// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rings.h
/// The rings: the last events of each thread, in memory of the process. ws_file.h writes them to files.
///
/// Roles     A ring has one owner, which writes. Any thread reads.
/// Overrun   The owner never waits. A reader leaves out the oldest events, which it may be overwriting.
/// Lifetime  A thread that ends gives its ring back, and the next one takes it. Its memory, 66 KiB, is mapped
///           for the first owner and stays until the library is unloaded. So there are as many rings as
///           threads had events at one time, at most WS_RINGS.
#ifndef WS_RINGS_H
#define WS_RINGS_H

#include <unistd.h>

#include "../pool/ws_process.h" // IWYU pragma: export
#include "ws_event.h" // IWYU pragma: export

#define WS_RINGS 1024u
#define WS_RING_EVENTS 4096u ///< a power of two

/// Of one kind of bursts or phases: the median of their lengths, and the lower quartile.
typedef struct {
  uint64_t key, count, length, low;
} ws_learnt_t;

/// What a thread outside tasks is in.
typedef struct {
  enum { WS_IN_NOTHING, WS_IN_BURST, WS_IN_PHASE } in;
  uint32_t phase; ///< which
  bool has_note; ///< of what its thread had used at the begin
  uint64_t pool, pushed, key, group, begin; ///< pushed: tasks; key: what bursts of one kind share
  struct ws_ledger_room_s *ledger; ///< the pool's: of the last push
} ws_span_t;

/// What a thread has noted last (WS_NOTE_USED), and how it has slept in waits since.
typedef struct {
  uint64_t ns, cpu_ns, sleeps;
  uint64_t asleep_since, asleep_ns, waits; ///< waits: in how many it slept
} ws_noted_t;

typedef struct ws_event_ring_s {
  /// O events written; I of a worker its pool's id << 16 and its index; I the owner, or the last one, 0 = it
  /// had none
  ws_au64_t head, who, tid;
  ws_au64_t name[2]; ///< I 16 letters
  // P the owner's.
  uint32_t depth; ///< tasks that it is in
  ws_noted_t noted;
  ws_span_t span;
  ws_learnt_t learnt[8];
  struct {
    ws_au64_t begin, end, pool, key, pushed;
  } on_time; ///< S the last burst that was; begin > end: the next one is being written
  alignas(1024) ws_ring_event_t event[WS_RING_EVENTS];
} ws_event_ring_t;

/// What the process has of them: begun once, before any event.
extern struct ws_rings_s {
  uint32_t pid, forks; ///< whose they are; pid 0 = there are none
  ws_au32_t count; ///< S that have memory, the first ones
  ws_au32_t without; ///< S threads that got none
  ws_au64_t wake_ns; ///< S lower quartile from a call to the worker's first instruction
  ws_au32_t taken[WS_RINGS]; ///< S 1 = a thread has that ring
  ws_aptr_t ring[WS_RINGS]; ///< S
} ws_rings;

/// @brief No thread makes events any more: unmap them.
void ws_rings_end(void);
/// @brief Take a ring for the calling thread, which is given back when the thread ends. The caller keeps it
/// in ws_self_t.ring. @return ws_ring_none = there is none, also in the child of a fork without rings of
/// its own
ws_event_ring_t *ws_ring_take(void);
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

/// @return whether there are rings, and not of the parent of a fork
static inline bool ws_rings_are_own(void)
{
  return ws_rings.pid != 0 && ws_rings.pid == (uint32_t)getpid() && ws_rings.forks == ws_process.forks;
}

/// @param number  below ws_rings.count
static inline const ws_event_ring_t *ws_ring(uint32_t number)
{
  const ws_event_ring_t *ring = ws_load_acquire(&ws_rings.ring[number]); // [edge RING acquire] its memory
  return ring ? ring : &ws_ring_none; // its first owner has just got the number
}

#endif
