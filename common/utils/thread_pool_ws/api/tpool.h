// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool.h
/// The interface of a textbook's thread pool, on this pool: some threads, a buffer of a fixed number of jobs,
/// an add that blocks while the buffer is full, and an end in an orderly way or at once. Programs for
/// aatbip/tpool ("the original" below) compile and run with this header, unchanged.
///
/// @code
///   tpool *pool = tpool_create(4, 50);
///   for (int i = 0; i < n; i++)
///     tpool_add(pool, decode, &segment[i]);   // blocks while 50 jobs are queued
///   tpool_wait(pool);                         // helps, then sleeps
///   tpool_destroy(pool);
/// @endcode
///
/// A job is a function and its argument. It is queued from its add until it begins. The buffer bounds the
/// queued jobs; jobs that run are not in the buffer.
///
/// A job that adds to a full buffer runs the new job itself, inside tpool_add(). So a job may add jobs, at
/// any depth, with one thread and a buffer of one: no job waits for room that only a job can make. Two things
/// follow.
/// - At each level the stack grows by the frames of the new job and by about 100 bytes (x86-64, optimised).
/// - A job that adds itself again and again must use tpool_try_add(): while the buffer is full, each
///   tpool_add() would begin one more level, without end.
///
/// Jobs that one thread adds begin in the order in which it added them, as far as threads are free; jobs of
/// several threads begin in any order. A job that runs inside tpool_add() overtakes all queued ones.
///
/// The rules for tasks in ws_pool.h (threads that end in a task, signals) apply to jobs. In the child of a
/// fork a pool of the parent has no threads: there tpool_add(), tpool_try_add(), tpool_wait(),
/// tpool_shutdown_now() and tpool_count_working_threads() return -ESRCH, and tpool_destroy() returns without
/// freeing the pool.
/// Pre-wake and the report are set by the environment: TPOOL_WS_SPIN and the other variables of
/// ws_settings_environment().
#ifndef TPOOL_H
#define TPOOL_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define TPOOL_THREADS_MAX 1024
#define TPOOL_BUFFER_MAX (1 << 20)

typedef struct tpool_s tpool;

/// @brief Create the threads and the buffer. Returns when all threads have started.
/// @param thread_count  1 .. TPOOL_THREADS_MAX. If the system refuses some of them, a warning on stderr
///                      names the number, and the pool has the others
/// @param buffer_size   1 .. TPOOL_BUFFER_MAX: jobs that may be queued at a time
/// @return the pool; NULL with errno:
///         EINVAL  a number is out of its range
///         ENOMEM
///         EAGAIN  the system refuses all threads
/// @threads   any
/// @progress  blocks; allocates
tpool *tpool_create(int thread_count, int buffer_size);

/// @brief Add a job. While the buffer is full, a thread that is inside a job, or inside a task of any pool of
/// this library, runs the new job before return. Any other thread blocks until a queued job begins.
/// Blocked threads are woken one for each job that begins: the highest real-time priority first, among equal
/// ones the thread that has waited longest. A thread that adds at that moment may take the room before the
/// woken one, which then blocks again.
/// @param func  called once with @p arg, which must stay valid until then
/// @return 0 = the job will run or has run, unless tpool_shutdown_now() drops it
///         -EINVAL     @p pool or @p func is NULL
///         -ECANCELED  the job is not added: tpool_shutdown(), tpool_shutdown_now() or tpool_destroy() had
///                     been called before, or tpool_shutdown_now() was while the thread was blocked. (The
///                     original returns 0 then, and drops the job, too)
/// @threads   any thread, any number at once, jobs included; not from a signal handler
/// @ordering  [edge DEQ_PUBLISH] writes before the call are visible to the job
/// @progress  with room: lock-free, otherwise as ws_pool_push(). Without room: blocks, or runs the job. Not a
///            cancellation point, also when it blocks
int tpool_add(tpool *pool, void (*func)(void *), void *arg);

/// @brief Add a job, unless the buffer is full.
/// @return 0, -EINVAL, -ECANCELED as tpool_add(); -EAGAIN = buffer_size jobs are queued
/// @threads, @ordering as tpool_add()
/// @progress  lock-free, otherwise as ws_pool_push(); does not block, and runs no job
int tpool_try_add(tpool *pool, void (*func)(void *), void *arg);

/// @brief Block until every job added so far, and every job that those add, has run or was dropped. The
/// caller runs some of them meanwhile, before it sleeps.
/// @return 0
///         -EINVAL   @p pool is NULL
///         -EDEADLK  called inside a job of @p pool, which would wait for itself
/// @threads   any thread but the pool's jobs; several at once. A job that another thread is still adding, for
///            example one blocked in tpool_add(), counts from the return of that call on
/// @ordering  [edge POOL_IDLE] the caller sees what the jobs wrote
int tpool_wait(tpool *pool);

/// @brief End the pool in an orderly way: refuse further jobs. Returns at once. The jobs that were added
/// before run, and so do those of threads that are blocked in tpool_add(): wait for them with tpool_wait() or
/// tpool_destroy(). Further calls have no effect.
/// @return 0; -EINVAL = @p pool is NULL
/// @threads   any, jobs included, while others add and wait. An add that is not over when this function is
///            called may be refused or not
/// @ordering  an add that follows the return of this function is refused
/// @progress  wait-free
int tpool_shutdown(tpool *pool);

/// @brief End the pool at once: refuse further jobs, drop queued ones, ask running jobs to end early
/// (tpool_is_stopping()), and wait for those. Threads blocked in tpool_add() return -ECANCELED. May follow a
/// tpool_shutdown(). A job that a task of another pool runs inside tpool_add() is a part of that task: this
/// function does not wait for it.
/// @param dropped      called with the @p func and @p arg of each job that did not run, before this function
///                     returns, on any thread; its calls follow one another. It must return and must not use
///                     @p pool. NULL: the jobs are dropped without a call
/// @param dropped_arg  passed to each call of @p dropped
/// @return the number of jobs that were dropped. Each job that was added has run or is one of them
///         -EINVAL    @p pool is NULL
///         -EDEADLK   called inside a job of @p pool; nothing changes
///         -EALREADY  the function has been called before; that call may not be over yet
/// @threads   any thread but the pool's jobs, while others add and wait
/// @ordering  the caller sees what the jobs wrote
/// @progress  blocks until the running jobs have ended, and adds that are under way have added their job or
///            dropped it
int64_t tpool_shutdown_now(tpool *pool, void (*dropped)(void *dropped_arg, void (*func)(void *), void *arg),
                           void *dropped_arg);

/// @return true from the begin of tpool_shutdown_now() on: a long job should end early. false for NULL
/// @threads   any; meant for jobs
/// @progress  wait-free
bool tpool_is_stopping(const tpool *pool);

/// @return the number of threads that run a job of @p pool right now, helping threads included; -EINVAL =
/// @p pool is NULL. A thread counts once, however many jobs it runs inside each other
/// @threads   any
/// @progress  blocks while another thread enters or leaves tpool_wait(), or a tpool_add() that finds the
///            buffer full: a few instructions
int tpool_count_working_threads(tpool *pool);

/// @brief Refuse further jobs, as tpool_shutdown(), wait until those that were added have run, and free the
/// pool. A job that adds others until it is refused ends so. To have the jobs run that jobs add, call
/// tpool_wait() before. A call inside a job of @p pool ends the process with a message.
/// @return 0. Ignores NULL
/// @threads   one caller. Threads that are blocked in tpool_add() add their job before the memory is freed.
///            No other thread may use @p pool any more
/// @progress  blocks until the jobs have ended
int tpool_destroy(tpool *pool);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
