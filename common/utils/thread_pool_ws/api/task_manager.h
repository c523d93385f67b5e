// SPDX-License-Identifier: BSD-3-Clause
/// @file task_manager.h
/// The interface of the work-stealing pool that slides proposed for OAI, on this pool: a manager, tasks
/// without a handle, and one wait for all of them.
///
/// @code
///   task_manager_t man;
///   init_task_manager(&man, 4);
///   for (uint32_t i = 0; i < n; i++)
///     async_task_manager(&man, (task_t){.args = &segment[i], .func = decode});
///   wait_all_task_manager(&man);   // helps, then sleeps
///   free_task_manager(&man, NULL);
/// @endcode
///
/// Queues grow and shrink. Pre-wake and the report are set by the environment: TPOOL_WS_SPIN and the other
/// variables of ws_settings_environment().
/// The functions return nothing, as in the original. So invalid use ends the process (abort) with a message
/// on stderr that names the function and the argument. The same holds for a push and a wait in the child of a
/// fork, for a manager of the parent; there free_task_manager() returns without freeing its pool.
#ifndef TASK_MANAGER_H
#define TASK_MANAGER_H

#include <pthread.h>
#include <stdint.h> // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct ws_pool_s;

/// One task: @c func(@c args) is called once, on any worker or on a thread that waits. @c args must stay
/// valid until then.
typedef struct {
  void *args;
  void (*func)(void *args);
} task_t;

/// A manager. The caller owns the memory; it must stay where it is. All fields are private but @c pool.
typedef struct {
  struct ws_pool_s *pool; ///< for calls of the core's interface (ws_pool.h); NULL after free_task_manager()
  pthread_mutex_t cleaning;
  void (*clean)(void *args);
} task_manager_t;

/// @brief Create the workers. Returns when all have started.
/// @param man          not NULL
/// @param num_threads  1 .. 1024. Any other number, and too little memory for the pool, end the process
///                     with a message
/// @threads   any; no other thread may use @p man before this returns
/// @progress  blocks; allocates
void init_task_manager(task_manager_t *man, uint32_t num_threads);

/// @brief End the workers and free the manager's memory. Tasks that run end first. Queued tasks do not run;
/// to have them run, call wait_all_task_manager() before.
/// @param man    from init_task_manager(), and not freed yet. NULL and a freed manager end the process with a
///               message, as does a call inside a task of @p man
/// @param clean  called with the @c args of each task that did not run; its calls follow one another, on any
///               thread. It must return, and must not use @p man. NULL: such tasks are dropped
/// @threads   one caller; no other thread may use @p man any more
/// @ordering  the caller sees what tasks and @p clean wrote
/// @progress  blocks until the running tasks have ended
void free_task_manager(task_manager_t *man, void (*clean)(void *args));

/// @brief Push one task.
/// @param man   a live manager, else the process ends with a message
/// @param task  copied. If its func is NULL, the process ends with a message
/// @threads   any thread, any number at once, tasks included; not from a signal handler
/// @ordering  [edge DEQ_PUBLISH] writes before the call are visible to the task
/// @progress  as ws_pool_push(); a full queue grows
void async_task_manager(task_manager_t *man, task_t task);

/// @brief Block until every task pushed so far, and every task that those push, has run. The caller runs some
/// of them meanwhile.
/// @param man  a live manager, else the process ends with a message, as in a call inside a task of @p man
/// @threads   any thread but a task of @p man; several at once
/// @ordering  [edge POOL_IDLE] the caller sees what the tasks wrote
void wait_all_task_manager(task_manager_t *man);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
