// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_group.h
/// A join group: a counter of unfinished tasks that a thread can wait for (a fork/join latch).
///
/// Life: init(n), or init(0) and add(n) -> the tasks run and complete it -> wait returns -> the memory may be
/// reused. A group may live on the stack of the waiting thread: after the last completion the library does
/// not access the group's memory. It only passes the word's address to the futex call that wakes the waiter.
///
/// All functions require that the group is not NULL.
///
/// Word:  bits 1..31 = units not yet completed, bit 0 = "a thread may sleep on this word".
///   ARMED(n) --complete--> ARMED(n-1) ... --last complete--> DONE(0); a waiter sets bit 0; it stays set
///   Legal: bit 0 set although no thread sleeps any more (one futex call too many).
///   Illegal: bit 0 clear while a thread sleeps (that thread would not wake).
#ifndef WS_GROUP_H
#define WS_GROUP_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast" // clang, in inline functions
#endif

struct ws_pool_s;

/// Largest number of units that a group can hold at once.
#define WS_GROUP_UNITS_MAX ((1u << 30) - 1)

/// Opaque by convention: read and written by the functions below only. 4 bytes, any alignment of uint32_t.
typedef struct ws_group_s {
  uint32_t word;
} ws_group_t;

/// @brief Set the number of units to wait for.
/// @param units  tasks or manual completions: 0 .. WS_GROUP_UNITS_MAX. A larger number ends the process with
///               a message
/// @threads   the caller only: no other thread may use the group before this returns
void ws_group_init(ws_group_t *group, uint32_t units);

/// @brief Add @p units to wait for. While a thread waits for the group, the group must not be complete yet:
/// call this before the first push, or from a task of the group.
/// @param units  the sum must not exceed WS_GROUP_UNITS_MAX. A larger sum ends the process with a message
/// @threads   any
/// @progress  wait-free
void ws_group_add(ws_group_t *group, uint32_t units);

/// @brief Complete @p units of the group by hand. (For a task that carries the group the pool does this.)
/// @param units  at most the units not yet completed. A larger number ends the process with a message
/// @threads   any, but not from a signal handler; no other thread may complete the same units
/// @ordering  [edge GROUP_DONE] writes before the call are visible to a thread that returns from
/// ws_group_wait
/// @progress  lock-free; one futex call if these are the last units and a thread may sleep
void ws_group_complete(ws_group_t *group, uint32_t units);

/// @brief Make a tag: a task may carry a tag in place of a group. The pool completes no unit for such a task.
/// A thread that waits for @p id (a group, or any object with an address) may run it. Use a tag
/// - when the task completes its group itself before it returns: the group may be gone by then;
/// - to wait for an event that is not a group: ws_pool_await().
/// If another object gets the address before the task has returned, a wait for that object may run tasks that
/// this one has pushed and not waited for.
/// @param id  an address, not NULL, a multiple of 4; the library does not read what it points to
static inline ws_group_t *ws_group_tag(const void *id)
{
  return (ws_group_t *)((uintptr_t)id | 1u);
}

/// @brief Make a tag for a task that probably belongs to @p id, but may be unrelated to it. An unrelated task
/// may block until the thread that waits for @p id goes on. A thread that waits for @p id outside any task
/// therefore leaves it to the workers. A thread that waits inside a task, worker or not, runs it: that thread
/// may be the only one that can.
static inline ws_group_t *ws_group_weak_tag(const void *id)
{
  return (ws_group_t *)((uintptr_t)id | 3u);
}

/// @return true if every unit is complete; the caller then sees what the tasks wrote ([edge GROUP_DONE])
bool ws_group_done(const ws_group_t *group);

/// @brief Block until every unit is complete. The memory may be reused when all waits for the group have
/// returned. Meanwhile the caller runs tasks of this group and tasks that those have pushed, no unrelated
/// ones (fibers: see ws_fiber.h): first tasks of high priority and those in its own queue in
/// @p pool, then those in the other queues that all threads share (ws_pool_push()), then those in the queues
/// of threads that run a task of this group. In queues that all threads share it finds tasks of this group,
/// and what the caller has pushed in this wait. A thread without a queue of its own runs tasks of this group
/// from those queues only. When there is none the caller spins for a bounded time, then sleeps; a thread
/// without a queue sleeps at once. While a worker sleeps here, another worker may run in its place.
/// A task that completes units by hand, but carries neither the group nor its tag, counts as unrelated: the
/// wait does not run it. If every worker of a pool waits for such a task in this way, the task does not run.
/// @param pool  the pool of the tasks; NULL = inside a task the pool of that task, whichever thread runs it;
///              outside a task the thread only waits
/// @threads   any thread, several at once; a task may wait for tasks that it pushed. Each nested wait takes
///            about 750 bytes of stack (x86-64, optimised) on top of the task's own: 8 MiB of stack hold
///            about 11,000 nested waits of small tasks. A thread that exhausts its stack crashes
/// @ordering  [edge GROUP_DONE] the caller sees what the tasks wrote
/// @progress  blocks in futex. While other threads are quicker it calls sched_yield. It wakes workers as
///            ws_pool_push() does, and may allocate memory if its tasks lie below unrelated ones in the
///            caller's queue.
///            The wait returns when the group is complete, and the task that the caller runs at that
///            moment has returned, or the fiber that it runs has stopped. Each task that the wait may run,
///            and that lies in the caller's own queue or one that all threads share, is begun after a bounded
///            number of others, whatever those push and however often fibers yield: one search in 61 is for a
///            task that others have kept waiting.
void ws_group_wait(ws_group_t *group, struct ws_pool_s *pool);

/// @brief As ws_group_wait(), but at most until @p deadline_ns.
/// When the deadline has passed the wait begins no further task. It returns late by the rest of the task that
/// the caller runs then, by the delay of the kernel's timer (by default 50 us for threads of normal class),
/// and by the time that the thread waits for a CPU.
/// The caller runs no tasks from the queues of other threads, because these could be left in its own queue.
/// Nor does it run what other threads have pushed to queues that all threads share, unless it has no queue.
/// After -ETIMEDOUT the group must stay valid until it is complete. The caller may wait for it again, with or
/// without a deadline. Tasks of the group that are still in the caller's queue run on workers, or in the
/// later wait. Tasks that those have pushed run on workers: do not let every worker of a pool wait again for
/// a group whose fibers wait for such tasks.
/// A fiber parks until then (ws_fiber.h). A cancel token does not end the wait.
/// @param deadline_ns  CLOCK_MONOTONIC; UINT64_MAX = none. If it is in the past, the wait runs nothing, and
///                     returns 0 if every unit is complete
/// @return 0 = every unit is complete; -ETIMEDOUT
/// Otherwise as ws_group_wait().
int ws_group_wait_until(ws_group_t *group, struct ws_pool_s *pool, uint64_t deadline_ns);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif
#pragma GCC visibility pop
#endif
