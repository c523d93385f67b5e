// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_types.h
/// A fiber, its stack, a thread that runs it, and a wait. LOT.md has the diagram of states.
#ifndef WS_FIBER_TYPES_H
#define WS_FIBER_TYPES_H

#include "../include/ws_fiber.h" // IWYU pragma: export
#include "../pool/ws_types.h" // IWYU pragma: export
#include "ws_fcontext.h" // IWYU pragma: export

typedef struct ws_slab_s ws_slab_t;

typedef struct {
  char *low; ///< lowest byte; the guard lies below
  ws_slab_t *slab;
  uint32_t size_class;
  bool guarded;
} ws_stack_t;

#define WS_STACK_BYTES_LEAST 16384u
#define WS_STACK_CLASSES 13u ///< 16 KiB, doubled up to 64 MiB
#define WS_STACK_IDLE_NS UINT64_C(1000000000)

static inline size_t ws_stack_bytes(const ws_stack_t *stack)
{
  return (size_t)WS_STACK_BYTES_LEAST << stack->size_class;
}

typedef struct ws_waiter_s ws_waiter_t;

/// Of a fiber's address: a fiber shares no line with its frames.
#define WS_FIBER_ALIGNMENT 64u

/// What a fiber wants that has left its stack (LOT.md, rule 1).
typedef enum { WS_WANTS_TURN, WS_WANTS_PARK, WS_WANTS_END } ws_wants_t;

/// Where a fiber is. For debuggers: no code of the library decides by it.
enum { WS_FIBER_FREE, WS_FIBER_QUEUED, WS_FIBER_RUNNING, WS_FIBER_PARKED };

/// The C++ run-time library's state of exceptions in flight, which it keeps for each thread.
typedef struct {
  void *caught;
  unsigned int uncaught;
} ws_exceptions_t;

/// A thread that runs fibers, one after the other, on top of its own stack. Nested if a task that runs on a
/// fiber's stack runs tasks itself.
typedef struct ws_rider_s {
  ws_fiber_t *fiber; ///< that runs
  const ws_task_t *task; ///< of the pool, in which it runs
  const ws_task_t **current; ///< the thread's ws_current_task(): of the fiber while that runs
  ws_task_t swapped; ///< that task, when it was taken by ws_swap()
  struct ws_rider_s *outer;
  struct ws_fiber_thread_s *thread;
  ws_worker_t *worker; ///< that the thread is in the fiber's pool; NULL = none
  int *error; ///< the thread's errno
  ws_exceptions_t *exceptions; ///< the thread's; NULL = the program has no C++ exceptions
  void *tsan; ///< ThreadSanitizer's name of the thread's own stack
  void *asan_fake; ///< AddressSanitizer's: fake stack, and place, of the thread's own stack
  const void *asan_bottom;
  size_t asan_bytes;
} ws_rider_t;

/// Lies at the top of its own stack. Only the thread that has the fiber uses it; LOT.md says which that is.
struct ws_fiber_s {
  ws_au32_t where; ///< S WS_FIBER_*; first: a free stack's record lies over the end of this structure
  fcontext_t context; ///< where it continues; NULL = it has not begun
  fcontext_t home; ///< the stack that it was entered from
  ws_wants_t wants;
  ws_waiter_t *waiter; ///< WS_WANTS_PARK: its record
  ws_task_t own; ///< I function, argument and group as they were pushed
  struct ws_pool_s *pool;
  ws_task_t task; ///< that continues it
  struct ws_cancel_s *cancel; ///< ends its waits; NULL = none
  ws_stack_t stack;
  ws_exceptions_t exceptions; ///< while it does not run
  int error; ///< its errno, while it does not run
  uint32_t polls; ///< calls of ws_yield_sometimes()
  struct ws_local_value_s *locals; ///< ws_local.h
  ws_steps_t steps; ///< of its stack
  void *tsan;
  void *asan_fake;
  uint32_t valgrind; ///< its number of the stack
  char name[WS_FIBER_NAME_MAX + 1];
};

/// Nodes below a node of a bucket's tree: ws_lot_queue.h.
#define WS_LOT_CHILDREN 4u

/// Called under the lock of the address's bucket. @return whether the caller of ws_lot_park() may wait
typedef bool (*ws_may_park_t)(void *arg);

/// A wait. The fields in their groups are protected as LOT.md describes.
struct ws_waiter_s {
  ws_aptr_t address; ///< S
  struct ws_waiter_s *next, *before; ///< in its address's queue; next also in a list of removed records
  struct ws_waiter_s **place; ///< links it in its bucket's tree; NULL = it is not the oldest of its queue
  struct ws_waiter_s *child[WS_LOT_CHILDREN]; ///< below it in that tree
  enum { WS_WAITER_OUT, WS_WAITER_IN } where;
  enum { WS_ENDED_NOT, WS_ENDED_WAKE, WS_ENDED_TIME, WS_ENDED_CANCEL, WS_ENDED_NEEDLESS } ended_by;
  bool fixed; ///< neither the time limit nor a cancel ends it any more
  ws_fiber_t *fiber; ///< I NULL = a thread waits, or the worker that a fiber blocks
  struct ws_pool_s *pool; ///< I of a fiber, parked or not: its abort ends the wait; NULL = no abort does
  ws_au32_t woken; ///< S futex of the thread: 1 = go on
  ws_may_park_t may_park; ///< I NULL = it may
  void (*begun)(void *arg); ///< I called by ws_lot_enter() when the bucket is unlocked; NULL = nothing is
  void *arg; ///< I
  // The alarms'.
  uint64_t deadline_ns; ///< I UINT64_MAX = none
  uint32_t alarm_place; ///< in the heap, from 1; 0 = not in it
  // The cancel token's.
  struct ws_cancel_s *cancel; ///< I NULL = none
  struct ws_waiter_s *cancel_next, *cancel_before;
};

#endif
