// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sched.h
/// A scheduler whose capacity is fixed at its start. All memory is obtained then: a later call never
/// allocates, and never fails for lack of memory. Tasks belong to the caller, and can be posted again when
/// they are done. A task has no return value: its function stores results where its @c args point.
///
/// @code
///   ws_sched_t *sched = sched_init(4, 64);   // 4 workers, at most 64 tasks posted and not done
///   ws_sched_task_t task[2];
///   for (uint32_t i = 0; i < 2; i++) {
///     sched_task_init(&task[i], sort_half, &half[i], WS_PRIORITY_NORMAL);
///     sched_post(sched, &task[i]);           // workers begin at once
///   }
///   sched_execute(sched);                    // helps until both are done
///   sched_task_init(&task[0], merge, &halves, WS_PRIORITY_NORMAL);
///   sched_post(sched, &task[0]);
///   sched_execute(sched);
///   sched_fini(sched);
/// @endcode
///
/// In the child of a fork a scheduler of the parent has no threads: there sched_post() and sched_execute()
/// return -ESRCH, and sched_fini() frees only what is not its pool's. Its tasks that were posted stay in use.
///
/// No function of this header has the name of one of the system's <sched.h>. A program may include both.
/// Memory is obtained as address space; the kernel may provide a page at its first use. For pages that are
/// present from the start call mlockall(MCL_CURRENT | MCL_FUTURE) before sched_init().
#ifndef WS_SCHED_H
#define WS_SCHED_H

#include <stdint.h> // IWYU pragma: export

#include "ws_pool.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ws_sched_s ws_sched_t;

/// Largest capacity of a scheduler.
#define WS_SCHED_CAPACITY_MAX (1u << 20)

/// Number of threads (not workers) that have a queue of their own in a scheduler. The first such threads to
/// post get one, each until it ends. See sched_post() for further threads.
#define WS_SCHED_LANES 8u

/// One task. The caller owns the memory. It must stay valid, and where it is, while the task is posted or
/// runs. All fields are private: set by sched_task_init() only. A copy of a task is no task: posting it is
/// -EINVAL.
typedef struct {
  void (*func)(void *args);
  void *args;
  ws_sched_t *sched;
  uint64_t state;
  ws_priority_t priority;
  char unused[28]; ///< fills a cache line: threads that use neighbours in an array do not share one
} ws_sched_task_t;

/// @brief Obtain all memory and start the workers. Returns when all have started.
/// Pre-wake and the report are set by the environment: TPOOL_WS_SPIN and the other variables of
/// ws_settings_environment().
/// @param workers   number of worker threads, 1 .. 1024
/// @param capacity  most tasks that are posted and not done at one time, 1 .. WS_SCHED_CAPACITY_MAX. The
///                  memory is 32 bytes of capacity for each worker and each of the WS_SCHED_LANES, and 192
///                  bytes more, with the capacity rounded up to a power of two; where workers' CPUs belong to
///                  several NUMA nodes, 64 bytes more for each
/// @return NULL on error, with errno set:
///         EINVAL  @p workers or @p capacity is out of its range
///         ENOMEM  there is not enough memory for the capacity
///         EAGAIN  a worker's thread could not be created
/// @threads   any
/// @progress  blocks; allocates
ws_sched_t *sched_init(uint32_t workers, uint32_t capacity);

/// @brief Prepare a task. A post of it calls @p func(@p args) once.
/// @param task      not NULL; new memory, or a task that is not in use
/// @param func      not NULL. It must return, as every task (ws_pool.h)
/// @param priority  of all posts of the task; what it means: ws_priority_t
/// @return 0; -EINVAL = @p task or @p func is NULL, or @p priority is none of the three;
///         -EBUSY = the task is posted or runs. On error the task is as before
/// @threads   any; no other thread may use @p task before this returns
/// @progress  wait-free
int sched_task_init(ws_sched_task_t *task, void (*func)(void *args), void *args, ws_priority_t priority);

/// @brief Post a task. A worker may run it at once; sched_execute() waits for it.
/// The task is in use from now until its function has returned. A task of @p sched may post other tasks. It
/// may not post itself: it is in use until its end.
/// @return 0       the task will run once
///         -EINVAL @p sched or @p task is NULL, or @p task was not prepared by sched_task_init()
///         -EBUSY  the task is in use: posted or running
///         -EAGAIN the capacity is used up. On error nothing is posted
/// As many tasks as the capacity can be posted and not done. When sched_is_complete() has returned 1 for a
/// task, or sched_execute() has returned, the place of the task is free. Threads beyond the WS_SCHED_LANES
/// that have queues of their own share a queue with each other.
/// @threads   any thread, any number at once, tasks included; not from a signal handler
/// @ordering  [edge SCHED_DONE] writes before the call are visible to the task
/// @progress  lock-free, at most two futex calls; never allocates. A thread's first post locks a mutex, and
///            touches each page of its queue. A post with a priority, or by a further thread, locks a queue
///            that all threads share for a few stores, with priority inheritance
int sched_post(ws_sched_t *sched, ws_sched_task_t *task);

/// @brief Block until all tasks posted so far, and all tasks that those post, are done. The caller runs some
/// of them meanwhile.
/// @return 0; -EINVAL = @p sched is NULL; -EDEADLK = called inside a task of @p sched
/// @threads   any thread but a task of @p sched; several at once
/// @ordering  the caller sees what the tasks wrote
/// @progress  blocks; no system call but futex; never allocates
int sched_execute(ws_sched_t *sched);

/// @return 1 = the task is not in use: its last run is over, or it has never been posted; 0 = it is posted or
///         runs; -EINVAL = @p task is NULL or was not prepared by sched_task_init()
/// @threads   any
/// @ordering  [edge SCHED_DONE] after 1 the caller sees what the task wrote
/// @progress  wait-free
int sched_is_complete(const ws_sched_task_t *task);

/// @brief Run all posted tasks, and those that they post, then end the workers and free the memory.
/// @return 0; -EINVAL = @p sched is NULL; -EDEADLK = called inside a task of @p sched. On error nothing
///         happens
/// @threads   one caller; no other thread may use @p sched any more, except its own tasks
/// @ordering  the caller sees what the tasks wrote
/// @progress  blocks until the tasks are done; the caller helps
int sched_fini(ws_sched_t *sched);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
