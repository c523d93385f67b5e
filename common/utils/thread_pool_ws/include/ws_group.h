// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_group.h
/// A join group: a counter of unfinished tasks that a thread can wait for (a fork/join latch).
///
/// Life: init(n) or init(0) and add(n) -> tasks run and complete it -> wait returns -> the memory may be
/// reused. A group may live on the stack of the thread that waits: the thread that completes it last touches
/// nothing of it but the address of its word, and only in the kernel's hash of waiters.
///
/// Word:  bits 1..31 = units not yet completed, bit 0 = "somebody sleeps on this word".
///   ARMED(n) --complete--> ARMED(n-1) ... --last complete--> DONE(0); a waiter sets bit 0, nobody clears it
///   Legal: bit 0 set although nobody sleeps any more (one futex call too many).
///   Illegal: bit 0 clear while a thread sleeps (it would sleep for ever).
#ifndef WS_GROUP_H
#define WS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct ws_pool_s;

/// Largest number of units that a group can hold at once.
#define WS_GROUP_UNITS_MAX ((1u << 30) - 1)

/// Opaque by convention: read and written by the functions below only. 4 bytes, any alignment of uint32_t.
typedef struct ws_group_s {
  uint32_t word;
} ws_group_t;

/// @brief Arm a group with @p units.
/// @param units  0 .. WS_GROUP_UNITS_MAX tasks or manual completions to wait for. More: ends the process with
///               a message
/// @threads   nobody else may use the group yet
void ws_group_init(ws_group_t *group, uint32_t units);

/// @brief Arm @p units more. The group must not be done yet unless nobody waits for it: call it before the
/// first push, or from a task of the group.
/// @param units  the group holds at most WS_GROUP_UNITS_MAX then. More: ends the process with a message
/// @threads   any
/// @progress  wait-free
void ws_group_add(ws_group_t *group, uint32_t units);

/// @brief Complete @p units of the group by hand (the pool does it for a task that carries the group).
/// @param units  at most those that the group still waits for. More: ends the process with a message
/// @threads   any; the caller must own the units, that is nobody else completes the same ones
/// @ordering  [edge GROUP_DONE] writes before the call are visible to a thread that returns from
/// ws_group_wait
/// @progress  lock-free; one futex call if it is the last and somebody sleeps
void ws_group_complete(ws_group_t *group, uint32_t units);

/// @brief A tag instead of a group: the pool completes nothing for a task that carries one, but a thread that
/// waits for @p id, a group or anything else with an address, helps with the task. For tasks that complete
/// their group themselves before they return, so that the group may be gone by then, and for what is no
/// group at all (ws_pool_await).
/// @param id  never read; a multiple of 4
static inline ws_group_t *ws_group_tag(const void *id)
{
  return (ws_group_t *)((uintptr_t)id | 1u);
}

/// @brief A tag for a task that probably belongs to @p id, but may turn out a stranger's, which perhaps waits
/// for the very thread that waits for @p id. A thread outside leaves it to the workers. A thread in a task,
/// worker or not, that waits for @p id runs it, for it may be the only one that can.
static inline ws_group_t *ws_group_weak_tag(const void *id)
{
  return (ws_group_t *)((uintptr_t)id | 3u);
}

/// @return true when every unit is complete; the caller then sees what the tasks wrote ([edge GROUP_DONE])
bool ws_group_done(const ws_group_t *group);

/// @brief Wait until every unit is complete. The memory may be reused when all waits for the group have
/// returned. While it waits the caller runs tasks of this group, and tasks that those have pushed, never a
/// stranger's: first its own queue in @p pool, then what a thread that runs a task of this group has pushed.
/// It spins for a bounded time, then sleeps; a worker that sleeps here hands its place to another worker.
/// A task that completes units by hand but carries neither the group nor its tag counts as a stranger's: it
/// is not helped with, and a pool whose every worker waits like this for such a task does not run it.
/// @param pool  where the tasks were pushed; NULL = a worker helps in its own pool, others only wait
/// @threads   any thread, several at once; a task may wait for tasks that it pushed. Each wait inside another
///            takes about 750 bytes of stack (x86-64, optimised) beside the task's own. 8 MiB of stack hold
///            about 11,000 waits of small tasks inside each other. Beyond its stack a thread crashes
/// @ordering  [edge GROUP_DONE] the caller sees what the tasks wrote
/// @progress  blocks; no system call but futex; never allocates
void ws_group_wait(ws_group_t *group, struct ws_pool_s *pool);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
