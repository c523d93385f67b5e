// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rings.h
/// The rings: the last events of each thread, in one mapping. nrbench/trace/rings.py reads the file.
///
/// Roles     A ring has one owner, which writes. Any thread reads, and so does another process.
/// Overrun   The owner never waits. A reader leaves out the oldest events, which it may be overwriting.
/// Lifetime  The mapping stays until the process ends: any thread may be in the middle of an event. A thread
///           that ends gives its ring back, and the next one takes it.
#ifndef WS_RINGS_H
#define WS_RINGS_H

#include <unistd.h>

#include "../pool/ws_process.h" // IWYU pragma: export
#include "ws_clock.h" // IWYU pragma: export
#include "ws_event.h" // IWYU pragma: export

#define WS_RINGS 128u
#define WS_RING_EVENTS 4096u ///< a power of two

/// Of one kind of bursts or phases: the median of their lengths, and the 99th percentile of their tasks'.
typedef struct {
  uint64_t key, count, length, task_p99;
} ws_learnt_t;

/// What a thread outside tasks is in.
typedef struct {
  enum { WS_IN_NOTHING, WS_IN_BURST, WS_IN_PHASE } in;
  uint32_t phase; ///< which
  uint64_t pool, pushed, key, group, begin; ///< pushed: tasks; key: what bursts of one kind share
  struct ws_ledger_room_s *ledger; ///< the pool's: of the last push
} ws_span_t;

typedef struct ws_event_ring_s {
  /// O events written; I of a worker its pool's id << 16 and its index; I the owner, 0 = none
  ws_au64_t head, who, tid;
  char name[16]; ///< I
  // P the owner's.
  uint32_t depth; ///< tasks that it is in
  ws_span_t span;
  uint64_t idle_at, began, ran; ///< when it last noted IDLE; a task: begin and length
  ws_learnt_t learnt[8];
  alignas(1024) ws_ring_event_t event[WS_RING_EVENTS];
} ws_event_ring_t;

/// The mapping, and the file. A copy has as many rings as there are. Its layout is rings.py's, too.
typedef struct {
  char magic[8];
  uint32_t pid;
  ws_au32_t rings; ///< S used at one time, with those that were not to be had
  ws_au64_t own_ns, real_ns; ///< S the rings' clock and CLOCK_REALTIME, at one time
  alignas(4096) char maps[1 << 17]; ///< /proc/self/maps: for addresses of functions
  ws_event_ring_t ring[WS_RINGS];
} ws_event_file_t;

/// What the process has of them: begun once, before any event.
extern struct ws_rings_s {
  ws_event_file_t *file; ///< NULL = there are no rings
  ws_au32_t taken[WS_RINGS]; ///< S 1 = a thread has that ring
  ws_au32_t without; ///< S threads that got none
  ws_au64_t wake_ns; ///< S lower quartile from a call to the worker's first instruction
} ws_rings;

/// @brief Begin the rings. @param file  memory of zeros
void ws_rings_begin(ws_event_file_t *file);
/// @brief Compare the rings' clock with CLOCK_REALTIME, for readers.
void ws_rings_compare_clocks(ws_event_file_t *file);
/// @brief Take a ring for the calling thread. @return ws_ring_none = there is none
ws_event_ring_t *ws_ring_take(void);
extern ws_event_ring_t ws_ring_none;

/// @threads  the owner
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
  return ws_rings.file && ws_rings.file->pid == (uint32_t)getpid();
}

/// @return how many rings threads have
static inline uint32_t ws_ring_count(void)
{
  const uint32_t asked = ws_hint_load(&ws_rings.file->rings);
  return asked < WS_RINGS ? asked : WS_RINGS;
}

/// @return ns in which the ring's thread has not used a CPU, since some time
static inline uint64_t ws_ring_idle_ns(const ws_event_ring_t *ring)
{
  return ws_os_now_ns() - ws_os_thread_cpu_ns((int32_t)ws_hint_load(&ring->tid));
}

#endif
