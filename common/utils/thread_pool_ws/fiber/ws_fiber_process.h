// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_process.h
/// All mutable state of the library outside fibers: of the process, and of a thread. Made in
/// ws_fiber_process.c, the only file with state of its own.
#ifndef WS_FIBER_PROCESS_H
#define WS_FIBER_PROCESS_H

#include <pthread.h>
#include <signal.h>

#include "../include/ws_sync.h" // IWYU pragma: export
#include "ws_alarm_heap.h" // IWYU pragma: export
#include "ws_fiber_types.h" // IWYU pragma: export
#include "ws_lot_queue.h" // IWYU pragma: export
#include "ws_service.h" // IWYU pragma: export

#define WS_LOT_BUCKETS (1u << WS_LOT_BUCKET_BITS)
#define WS_CANCEL_LOCKS 16u
#define WS_FIBER_COUNTERS 16u

/// The waits for the addresses whose hash begins with the bucket's number.
typedef struct {
  alignas(WS_SPACING) pthread_mutex_t lock; ///< of the rest
  ws_waiter_t *root; ///< ws_lot_queue.h
} ws_bucket_t;

/// A stack that no fiber uses. Lies at its top.
typedef struct ws_free_stack_s ws_free_stack_t;
struct ws_free_stack_s {
  ws_stack_t stack;
  ws_free_stack_t *newer, *older;
  uint64_t freed_ns;
};

/// Lists that a slab may be in.
enum { WS_SLABS_ALL, WS_SLABS_ROOM, WS_SLABS_LISTS };

/// Several stacks in one mapping: ws_slab.h.
struct ws_slab_s {
  ws_slab_t *next[WS_SLABS_LISTS], *before[WS_SLABS_LISTS];
  char *memory;
  uint64_t used; ///< bit i: place i is a stack
  size_t slot_bytes; ///< a guard, and the stack above it
  uint32_t slots; ///< places
  uint32_t size_class;
  uint32_t pins; ///< readers without the lock
};

/// Stacks of one size. The newest is reused first.
typedef struct {
  ws_slab_t *room; ///< slabs with places that are no stack
  ws_free_stack_t *newest, *oldest;
  uint64_t free; ///< number
} ws_shelf_t;

/// Sums of what threads have done; a thread uses one of several, so that they share no line.
typedef struct {
  alignas(WS_SPACING) ws_au64_t begun; ///< S
  ws_au64_t ended, dropped; ///< S
} ws_fiber_counters_t;

typedef struct {
  pthread_once_t once, fiber_once;
  uint32_t forks; ///< I by which this process came about, since the library was first used
  ws_bucket_t bucket[WS_LOT_BUCKETS];
  pthread_mutex_t cancel_lock[WS_CANCEL_LOCKS];

  pthread_mutex_t alarm_lock; ///< of the next fields
  ws_alarm_heap_t alarms; ///< waits of fibers with a time limit
  ws_service_t alarm; ///< the thread
  uint64_t alarm_sleeps_until_ns; ///< the thread looks again then, or before
  uint64_t trim_due_ns; ///< when it has stacks trimmed; 0 = not at all
  bool trims; ///< a thread trims them right now
  ws_au32_t alarm_changed; ///< S futex of that thread: it must look before

  pthread_mutex_t reactor_lock; ///< of the start of ws_reactor.c, and of the next field
  ws_service_t reactor_thread;
  ws_au32_t reactor; ///< S its epoll descriptor, from 1; 0 = it has not begun

  pthread_mutex_t stack_lock; ///< of the next fields
  ws_shelf_t shelf[WS_STACK_CLASSES];
  ws_slab_t *slabs; ///< all, for statistics and debuggers
  ws_slab_t *lost; ///< those of the process that was forked: not used, but reachable, for leak checkers
  uint64_t stacks, unguarded, guards_max;
  bool warned; ///< that stacks have no guard
  uint64_t used_max; ///< most bytes that a stack had used when it was closed or counted
  uint32_t class_least; ///< I of stacks

  ws_au64_t parked; ///< S fibers in the lot
  ws_fiber_counters_t counters[WS_FIBER_COUNTERS];
  struct sigaction fault_before; ///< I how the program handled SIGSEGV
  pthread_key_t key; ///< its destructor runs when a thread that has used the library ends
  bool has_key;
  ws_au32_t threads; ///< S that have used the library
} ws_fiber_process_t;

extern ws_fiber_process_t ws_fiber_process;

/// A thread's own state.
typedef struct ws_fiber_thread_s {
  ws_rider_t *rider; ///< the innermost; NULL = the thread runs no fiber
  struct ws_cancel_s *cancel; ///< of waits outside fibers
  uint32_t number; ///< of threads that use the library, from 1; 0 = none yet
  // When the thread ends, if not NULL:
  void (*give_back)(struct ws_fiber_thread_s *thread); ///< stacks that it keeps, to the shared lists
  void (*disarm)(struct ws_fiber_thread_s *thread); ///< frees its alternate signal stack
  void (*end_locals)(struct ws_local_value_s **locals);
  struct ws_local_value_s *locals; ///< of code outside fibers: ws_local.h
  bool armed; ///< it has an alternate signal stack
  void *alternate; ///< the memory of its alternate signal stack; NULL = none of this library's
  ws_free_stack_t *kept[WS_STACK_CLASSES]; ///< lists by older
  uint32_t kept_count[WS_STACK_CLASSES];
} ws_fiber_thread_t;

/// @return the calling thread's state. A function of its own, and not inlined: a caller on a fiber's stack
/// may be on another thread after each switch, and must not reuse the address from before.
ws_fiber_thread_t *ws_fiber_thread(void);

/// @brief Set up the process's state, once. @threads any
void ws_fiber_process_begin(void);

/// @brief The calling thread uses the library: number it, and have its give_back() and disarm() called at its
/// end.
void ws_fiber_enroll(ws_fiber_thread_t *thread);

/// @return counters for the calling thread
static inline ws_fiber_counters_t *ws_fiber_counters(const ws_fiber_thread_t *thread)
{
  return &ws_fiber_process.counters[thread->number % WS_FIBER_COUNTERS];
}

/// @return the fiber whose code calls; NULL outside fibers, and in a task that runs nested on a fiber's stack
ws_fiber_t *ws_fiber_here(void);

#endif
