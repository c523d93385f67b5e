// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_key.h
/// Cancel queued tasks: a task that carries a key does not run if the key was cancelled after its push and
/// before its start. A cancel takes the same time, however many tasks are queued.
///
///   pushed --start--> started --> ended            a cancel has no effect any more
///   pushed --cancel--> cancelled --a thread takes it--> skipped: on_cancel, then its group is completed
///
/// Races. Of a cancel and a start at the same moment one comes first: the task runs to its end, or is
/// skipped, and the cancel's result agrees with that. A push at the same moment comes before or after the
/// cancel. ws_pool_wait(), a drain and an abort treat a skipped task as one that has run. An abort skips
/// tasks with a key as well, and calls on_cancel.
#ifndef WS_KEY_H
#define WS_KEY_H

#include "ws_pool.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// Cancels of one key whose tasks may be queued at the same time. ws_pool_cancel_wait() after further cancels
/// may wait for tasks that are pushed later as well, and may then return too small a number.
#define WS_KEY_EPOCHS 16

/// Opaque by convention. Must live until no task that carries it is queued, and no thread waits for it.
typedef struct {
  uint64_t live; ///< number of cancels << 32 | tasks that a cancel would skip
  ws_group_t queued[WS_KEY_EPOCHS]; ///< [epoch % WS_KEY_EPOCHS] tasks that have not started
  uint64_t cancelled[WS_KEY_EPOCHS]; ///< [epoch % WS_KEY_EPOCHS] epoch << 32 | its tasks that were skipped
} ws_key_t;

/// A task with a key. It is not copied: it must live until func or on_cancel is called. Both may free it.
typedef struct {
  ws_key_t *key;
  void (*func)(void *arg);
  /// Called in place of func if the task is skipped, and like func inside a task. It must return. NULL =
  /// nothing.
  void (*on_cancel)(void *arg);
  void *arg;
  ws_group_t *group; ///< as in ws_task_t; completed also if the task is skipped
  ws_priority_t priority; ///< as in ws_task_t
  // Set by the push.
  ws_pool_t *pool;
  uint64_t state;
} ws_keyed_t;

/// @brief Set up a key. @param key  not NULL
/// @threads   the caller only: no other thread may use it before this returns
void ws_key_init(ws_key_t *key);

/// @brief Push a task that carries a key. ws_current_task() in it has the address of @p task as its arg.
/// @return as ws_pool_push(); -EINVAL also if @p task, its key or its func is NULL. On error neither func nor
///         on_cancel is called
/// @threads   as ws_pool_push()
int ws_pool_push_keyed(ws_pool_t *pool, ws_keyed_t *task);

/// @brief Cancel the tasks that carry @p key and have not started. Later pushes may use the key again.
/// @return the number of tasks that this call has cancelled: they will be skipped. A push at the same moment
///         that its pool then refuses may count, too. -EINVAL if an argument is NULL
/// @threads   any; several at once
/// @ordering  [edge KEY_EPOCH] writes before the call are visible to on_cancel
/// @progress  lock-free: tries again if a task of the key is pushed, or starts, at the same moment
int64_t ws_pool_cancel(ws_pool_t *pool, ws_key_t *key);

/// @brief Cancel one task, unless it has started.
/// @param task  that was pushed with success. It must be valid during the call
/// @return 0          this call has cancelled it: it will be skipped
///         -EBUSY     it has started, or has ended, or a thread is skipping it
///         -EALREADY  it was cancelled before, by this function, or with its key and is not skipped yet
///         -EINVAL    an argument is NULL
/// Otherwise as ws_pool_cancel().
int ws_pool_cancel_task(ws_pool_t *pool, ws_keyed_t *task);

/// @brief Cancel as ws_pool_cancel() does, then wait until each task of the key that was pushed before the
/// call has started or has been skipped, by this or an earlier cancel. Tasks that have started may still run.
/// The caller skips those in its own queue and in the queues of @p pool that all threads share: those that
/// have a priority, and those of threads without a queue. Other threads skip the others.
/// @return the number of tasks that were pushed since the cancel before and have been skipped, by this
///         cancel, by ws_pool_cancel_task() or by an abort; -EINVAL if an argument is NULL; -EDEADLK inside a
///         task, which may occupy the thread that would skip them: nothing is cancelled then; -ESRCH as
///         ws_pool_push()
/// @threads   any thread outside a task; several at once
int64_t ws_pool_cancel_wait(ws_pool_t *pool, ws_key_t *key);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
