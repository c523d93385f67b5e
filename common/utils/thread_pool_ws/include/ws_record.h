// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_record.h
/// Records: objects with a function that is called once for their task, also if an abort skips the task. The
/// tasks of the C++ headers have records. Bindings of other languages can use them, too.
///
/// @code
///   typedef struct { ws_record_t record; ... } job_t;
///   static void settle(ws_record_t *record, int why)   // why: WS_RECORD_RUN or WS_RECORD_SKIPPED
///   job->record.settle = settle;
///   ws_pool_push(pool, (ws_task_t){.func = ws_record_func(), .arg = &job->record});
/// @endcode
#ifndef WS_RECORD_H
#define WS_RECORD_H

#include "ws_pool.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define WS_RECORD_RUN 0 ///< run the task
#define WS_RECORD_SKIPPED (-1) ///< an abort of the pool skips the task

/// The beginning of an object that is the arg of a task. Must live until settle is called.
typedef struct ws_record_s {
  /// Called once for each accepted push, on the thread that runs or skips the task, before the task's group
  /// is completed. It must return; it may free the record.
  void (*settle)(struct ws_record_s *self, int why);
} ws_record_t;

/// @brief The function of a task whose arg is a ws_record_t. The library recognises such tasks by it, so take
/// it from here: functions that are compiled into a program and into its plugins have several addresses.
/// If an abort skips such a task, its record is settled, and settings.skipped is not called.
/// @return the same function for each call in the process
/// @threads   any
void (*ws_record_func(void))(void *record) __attribute__((const));

/// @brief Memory for a record, of any size. A thread uses its blocks again: up to 248 bytes it calls malloc
/// only if more blocks are in use than ever before.
/// @return a block, which lies the size of a pointer behind an address that is aligned as by malloc(); NULL =
///         there is no memory
/// @threads   any
/// @progress  lock-free where it does not call malloc
void *ws_block_take(size_t bytes);

/// @brief Give a block back to the thread that has taken it. If that thread has ended, or the block is larger
/// than 248 bytes, free it.
/// @param block  of ws_block_take(), not NULL
/// @threads   any
/// @ordering  [edge BLOCKS] the caller's use of the block comes before the next one
/// @progress  lock-free
void ws_block_give(void *block);

/// @brief Keep a pool from being freed: ws_pool_stop() and ws_pool_destroy() of other threads block until
/// ws_pool_release(). For a push on behalf of a user who cannot wait for its return: when the task has run,
/// the user may destroy the pool, while the push still reads it.
/// @code
///   ws_pool_hold(pool);           // the pool lives: the task is not pushed yet
///   ws_pool_push(pool, task);
///   ws_pool_release(pool);        // the last access to it
/// @endcode
/// @param pool  NULL: nothing happens
/// @threads   any. Both calls on the same thread, which does not stop or destroy the pool in between
/// @ordering  [edge GROUP_DONE] the end of the pool comes after the release
/// @progress  lock-free; the release with a futex call if an end waits or has waited. On a worker
///            of the pool both do nothing: the end of a pool waits for its workers
void ws_pool_hold(ws_pool_t *pool);
void ws_pool_release(ws_pool_t *pool);

/// @brief For a wait for a task of @p pool that need not keep the pool from being freed.
/// @param pool  not accessed: it may be gone, or NULL
/// @return @p pool if the calling thread is its worker, waits in it, or runs a task of it, and so keeps it
///         from being freed; else NULL
/// @threads   any
ws_pool_t *ws_pool_if_inside(ws_pool_t *pool);

/// @brief Call func(arg), which must return, as a task must (ws_task_t): an exception that leaves it, or
/// the end of its thread, ends the process with a message. Cancellation is disabled meanwhile. For an
/// interface that calls the program's code while what other threads use lies on its stack.
/// @param as  what ws_current_task() returns meanwhile: func is a plain task, and a fiber that calls this
///            stays on its thread. NULL = func is a part of what the caller is
/// @threads   any
void ws_must_return(void (*func)(void *arg), void *arg, const ws_task_t *as);

/// A step: what is called once when something is ready, such as the continuation of a future. Steps that make
/// each other ready run in turn: however many they are, the stack does not grow with them, unless
/// they wait: a wait calls the next ones first.
typedef struct ws_step_s {
  void (*call)(struct ws_step_s *self); ///< it must return; it may free the step
  struct ws_step_s *next; ///< the library's
} ws_step_t;

/// So many steps run inside one another on one stack.
#define WS_STEPS_NESTED_MAX 4

/// @brief Call the step: inside the step that runs on this stack, if there is one, and before this function
/// returns. If WS_STEPS_NESTED_MAX run already, the step is queued: it is called on this stack when the
/// innermost of them has returned, or before that one waits in a function of this library.
/// ws_blocking_begin() is such a function: call it before a wait of another kind that a step could end.
/// @param step  must live until it is called
/// @threads   any; not from signal handlers
/// @progress  allocates nothing; what the steps do
void ws_step_run(ws_step_t *step);

/// @brief As ws_step_run(), but queue the step if any runs on this stack: for a caller that returns at once.
void ws_step_next(ws_step_t *step);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
