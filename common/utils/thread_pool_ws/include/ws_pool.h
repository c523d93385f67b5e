// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_pool.h
/// A work-stealing thread pool for bursts of short tasks under a deadline.
///
/// @code
///   ws_settings_t settings;
///   ws_settings_default(&settings);
///   settings.workers = 4;
///   ws_pool_t *pool = NULL;
///   if (ws_pool_create(&pool, &settings) < 0) ...
///   ws_group_t group;
///   ws_group_init(&group, n);
///   for (uint32_t i = 0; i < n; i++)
///     ws_pool_push(pool, (ws_task_t){.func = decode, .arg = &segment[i], .group = &group});
///   ws_group_wait(&group, pool);   // helps, then sleeps
///   ws_pool_destroy(pool);
/// @endcode
///
/// Any number of pools may exist at once; any thread may push to any of them. After fork() the child may not
/// use the library before it has called exec.
/// A function that returns an error code returns -EINVAL when the pool, or a pointer that it needs, is NULL.
/// Functions without an error code require a pool.
///
/// The pool's threads block all signals but those that their own instructions cause, and workers have a timer
/// slack of 1 ns. Where the host creates the threads (thread_create) it decides on their signals. A program
/// that a task starts with fork() and exec gets the signal mask of the pool's creator, and the timer slack
/// that the thread had before. With posix_spawn(), system(), popen() or vfork() it inherits the worker's: set
/// POSIX_SPAWN_SETSIGMASK, or start programs from a thread of your own.
/// No worker keeps an affinity of its own making: taskset and cpusets hold for it as for any other thread.
///
/// "The process's mask" below is the CPU affinity of the thread that creates the pool.
/// Time is read with clock_gettime, which is no system call where the kernel's clock source has a vDSO.
#ifndef WS_POOL_H
#define WS_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "ws_group.h"
#include "ws_stats.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ws_pool_s ws_pool_t;

/// One task. Copied by a push; @c arg must stay valid until the task has run.
/// A task should return. If its function ends the thread (pthread_exit), or the thread is cancelled at a
/// cancellation point in it, the task counts as run, and its group is completed. A worker then goes on, and
/// reports that by settings.warn, once a pool. A thread that runs the task while it waits for a group ends
/// when that group is done; in any other wait of the library, or in a push, it ends at once; in
/// ws_pool_stop() when the pool has stopped. Asynchronous cancellation (PTHREAD_CANCEL_ASYNCHRONOUS), and
/// longjmp out of a task, are not supported.
typedef struct {
  void (*func)(void *arg);
  void *arg;
  ws_group_t *group; ///< one unit of it is completed after func returns; NULL = none; see ws_group_tag()
} ws_task_t;

/// What a push does when the caller's queue is full.
typedef enum {
  WS_FULL_GROW,   ///< take more memory from the kernel (mmap); if there is none, run the task inline. Default
  WS_FULL_INLINE, ///< run the task in the push
  WS_FULL_FAIL,   ///< return -EAGAIN
} ws_full_t;

/// What a worker does that finds nothing to run. In every mode it first looks for a while (spin_ns_max).
typedef enum {
  WS_SPIN_OFF,   ///< it sleeps until a push wakes it
  WS_SPIN_FIXED, ///< as WS_SPIN_AUTO, but it gets up spin_lead_ns before the burst, whether that pays or not
  WS_SPIN_AUTO,  ///< it learns when bursts come and how long this machine takes to wake it, and gets up by
                 ///< its own timer so that it is awake when the burst comes, where that pays. Default
  /// It busy-polls and does not sleep, as long as the awake workers of the process leave a CPU to each thread
  /// that helps, and to one at least. The surplus sleeps and tries again: the sleeping workers of a pool
  /// together 250 times a second. A real-time worker sleeps for 0.1 ms in each millisecond, so that threads
  /// of normal class on its CPU run.
  WS_SPIN_HOT,
} ws_spin_t;

/// Scheduling class of the workers.
typedef enum {
  WS_CLASS_INHERIT, ///< the class of the thread that creates the pool. Default
  WS_CLASS_OTHER,
  WS_CLASS_RR,
  WS_CLASS_FIFO,
} ws_class_t;

typedef enum {
  WS_STOP_DRAIN, ///< run what is queued, then stop
  WS_STOP_ABORT, ///< finish what runs, skip what is queued (its groups are completed)
} ws_stop_t;

/// Creates the thread of worker @p index, joinable, which runs @p func(@p arg); names it, and gives it its
/// class and its CPU (@p cpu, -1 = none) if it can. @return 0 or an error number
typedef int (*ws_thread_create_t)(void *create_arg, uint32_t index, int32_t cpu, void *(*func)(void *arg),
                                  void *arg);

/// Everything that can be set, fixed at creation. Fill with ws_settings_default() first.
typedef struct {
  /// Workers are called "<name><index>", the name cut to fit 15 characters. Default "ws". The guard, a
  /// further thread of class BATCH wherever there is more than one CPU, is called "ws_guard".
  const char *name;
  /// Threads; 0 = every push runs its task inline. Default: the CPUs of the process's mask.
  uint32_t workers;
  /// cores[i] = CPU of worker i, -1 = float; workers beyond core_count float. Default NULL: see pin_step.
  const int32_t *cores;
  uint32_t core_count;
  /// Without cores: worker i is pinned to CPU number (i * pin_step) of the process's mask, round again at its
  /// end, and one further whenever that is back at the first; 0 = float, the default. 2 skips SMT siblings
  /// where they are numbered in pairs.
  uint32_t pin_step;
  /// Scheduling class of the workers; sched_priority is 1..99 for WS_CLASS_RR and WS_CLASS_FIFO, else
  /// ignored.
  ws_class_t sched_class;
  int32_t sched_priority;
  /// Tasks in one thread's queue before it is full; rounded up to a power of two, 2 .. 2^20. Default 1024.
  uint32_t queue_capacity;
  /// Pushing threads (not workers) that get a queue of their own; more of them share one. Default 32.
  uint32_t lanes;
  ws_full_t full;
  ws_spin_t spin;       ///< default WS_SPIN_AUTO; see also ws_pool_set_spin()
  uint64_t spin_lead_ns; ///< WS_SPIN_FIXED: time from getting up to the expected burst; 0 .. 10,000,000
  /// Share of one core, in percent, that each worker may spend on looking for work, over any few
  /// milliseconds; 0 .. 100. Default 10. Does not hold for WS_SPIN_HOT.
  uint32_t spin_cpu_max_percent;
  /// WS_SPIN_AUTO: what a microsecond of lateness is worth in microseconds of CPU time; 1 .. 100. Default 9.
  uint32_t spin_price;
  /// Bound on how long a worker looks that has run out of work; less, where it has learnt that nothing
  /// follows. 0 = not at all. What comes later is a new burst, which pre-wake tries to foresee: it must be
  /// shorter than the time between slots. 0 .. 10,000,000. Default 40,000
  uint64_t spin_ns_max;
  uint64_t join_spin_ns_max; ///< bound on one spin of a thread that waits. Default 200,000
  /// Order in which a worker runs the tasks of its own queue, outside joins. true: oldest first. false, the
  /// default: newest first, which keeps the queue short when tasks push tasks. Other threads steal the
  /// oldest.
  bool fifo;
  bool report; ///< when the pool stops, print a page of statistics on stderr (ws_pool_report). Default false
  /// The host's own way to create threads; it then decides on name, class and pinning, and the settings for
  /// name and class are not looked at. Default NULL: pthread_create.
  ws_thread_create_t thread_create;
  void *create_arg;
  /// Told what could not be had, one line, once per cause. Default: a line on stderr.
  void (*warn)(void *warn_arg, const char *message);
  void *warn_arg;
} ws_settings_t;

/// @brief Fill @p settings with the defaults named above. NULL: nothing happens.
void ws_settings_default(ws_settings_t *settings);

/// @brief Set what the environment says; what it does not name, or leaves empty, stays.
/// TPOOL_WS_SPIN: as ws_settings_spin_text(). TPOOL_WS_SPIN_CPU_MAX: as ws_settings_spin_cpu_max_text().
/// TPOOL_WS_REPORT: 1 or 0, report. A wrong value, and a variable TPOOL_WS_... that does not exist, are
/// warned about. Nothing else in the library reads the environment; a program that runs with more rights than
/// its user does not read it here either.
/// @threads   any, while nobody changes the environment
void ws_settings_environment(ws_settings_t *settings);

/// @brief Set spin, and spin_lead_ns where it applies, from what a user writes: off, auto, or fixed:<us> with
/// 0 to 10000 us, for example fixed:12.5. Case and blanks around it do not matter.
/// @return 0; -EINVAL anything else, NULL too: spin is now WS_SPIN_OFF, and a warning says so
int ws_settings_spin_text(ws_settings_t *settings, const char *text);

/// @brief Set spin_cpu_max_percent: a whole number, 0 to 100. @return as ws_settings_spin_text()
int ws_settings_spin_cpu_max_text(ws_settings_t *settings, const char *text);

/// @brief Create a pool and start its workers; returns when all have started.
/// What cannot be had (threads, a CPU, a class) is warned about and reported by ws_pool_stats; the pool works
/// with the rest.
/// @param pool      out; set to NULL on error
/// @param settings  copied; may die after the call
/// @return 0; -EINVAL a setting is out of its range, or the stack of new threads is smaller than 64 KiB and
///         the libraries' thread-local data (the warning names it), or an argument is NULL; -ENOMEM
/// @threads   any
int ws_pool_create(ws_pool_t **pool, const ws_settings_t *settings);

/// @brief Push one task.
/// A worker of @p pool pushes to its own deque, any other thread to its own lane. The task runs exactly once,
/// on any worker, on a thread that waits for its group, or inline when the queue is full and the settings say
/// so.
/// @return 0 = it will run or has run; -EAGAIN = full (WS_FULL_FAIL only); -ECANCELED = the pool was stopped;
///         -EINVAL = @p pool or the task's func is NULL.
///         With an error nothing was queued, and a group that the task carries still waits for that unit
/// @threads   any thread, any number at once; not from a signal handler
/// @ordering  [edge DEQ_PUBLISH] writes before the call are visible to the task
/// @progress  lock-free unless it runs the task; at most one futex call; never allocates, except that a full
///            queue may grow and that a thread's first push to a pool claims its lane
int ws_pool_push(ws_pool_t *pool, ws_task_t task);

/// @brief Push @p count tasks with one decision whom to wake.
/// @return the number of tasks that were taken, from the front: fewer than @p count under WS_FULL_FAIL, or
///         when the pool is stopped meanwhile; -ECANCELED when the pool was stopped before; -EINVAL when
///         @p pool, @p tasks or a task's func is NULL: none was taken
/// Otherwise as ws_pool_push.
int64_t ws_pool_push_batch(ws_pool_t *pool, const ws_task_t *tasks, uint32_t count);

/// @brief Push one task unless the caller's queue is full, whatever the settings say then.
/// @return 0, -EAGAIN, -ECANCELED, -EINVAL. Otherwise as ws_pool_push.
int ws_pool_try_push(ws_pool_t *pool, ws_task_t task);

/// @brief Wait until every task pushed so far, and every task that those push, has run. The caller helps with
/// any of them.
/// @return 0; -EDEADLK from inside a task of @p pool, which would wait for itself
/// @threads   any thread but the pool's tasks; several at once
/// @ordering  [edge POOL_IDLE] the caller sees what the tasks wrote
int ws_pool_wait(ws_pool_t *pool);

/// @brief Tasks will come soon: wake workers now. They look for tasks until @p within_ns from now and then,
/// as always, for spin_ns_max at most. Wakes no more workers than there are CPUs for. A wrong announcement
/// costs that CPU time. A right one hides the time that a sleeping CPU takes to wake.
/// @param workers    wanted awake; a worker that looks for work already counts
/// @param within_ns  the workers' bound on spinning for nothing; 0 .. 100,000,000, more is cut to that
/// @threads   any
/// @progress  a futex call for each worker it wakes
void ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns);

/// @brief A burst is expected at @p at_ns: have workers awake by then. A worker woken too early sleeps again
/// and sets a timer for shortly before the burst.
/// @param workers  to wake and tell, as for ws_pool_prewake(); others that fall asleep before may come, too
/// @param at_ns    CLOCK_MONOTONIC; a time that has passed or is more than a second away = now
/// Otherwise as ws_pool_prewake(). It holds in every mode, and is not learnt from.
void ws_pool_prewake_at(ws_pool_t *pool, uint32_t workers, uint64_t at_ns);

/// @brief Bursts follow each other from now on: have @p workers workers awake. A worker that runs out of work
/// looks for more until ws_pool_phase_end(), within spin_cpu_max_percent and the CPUs there are. Of several
/// phases at once the last to end counts.
/// @threads   any
void ws_pool_phase_begin(ws_pool_t *pool, uint32_t workers);

/// @brief The last burst of the phase is done: a worker that finds no work sleeps at once.
/// @threads   any; once for each ws_pool_phase_begin()
void ws_pool_phase_end(ws_pool_t *pool);

/// @brief Change the mode, from the next burst on. What was learnt stays.
/// @param lead_ns  WS_SPIN_FIXED only, as spin_lead_ns
/// @return 0; -EINVAL out of range, and nothing has changed
/// @threads   any
int ws_pool_set_spin(ws_pool_t *pool, ws_spin_t spin, uint64_t lead_ns);

/// @brief Change spin_cpu_max_percent. @return 0 or -EINVAL
/// @threads   any
int ws_pool_set_spin_cpu_max(ws_pool_t *pool, uint32_t percent);

/// What a thread waits for that is no group.
typedef struct {
  bool (*ready)(void *arg); ///< asked over and over, from the waiting thread: cheap, and takes no lock
  void (*sleep)(void *arg); ///< blocks until it may be ready
  void *arg;
} ws_event_t;

/// @brief Wait until the event is ready, as ws_group_wait waits for a group: run tasks that carry @p tag,
/// from the caller's own queue, then spin for a bounded time, then sleep. What those tasks push is left to
/// others. When several threads wait, it may no longer be ready on return.
/// @param event  without ready or sleep: ends the process with a message
/// @param pool   where the tasks were pushed; NULL = a worker helps in its own pool, others only sleep
/// @param tag    from ws_group_tag()
/// @threads   any thread, several at once
/// @ordering  none of its own: what ready() or sleep() see
void ws_pool_await(ws_pool_t *pool, const ws_group_t *tag, const ws_event_t *event);

/// @brief The calling thread is about to block for something that the library does not see (a lock, a
/// device). If it is a worker, or runs a task while it waits in a join, it hands its place to another worker
/// at once, in every pool in which it has one; otherwise nothing happens. Without the call a task queued
/// behind it starts too, but only when the guard has noticed (about a millisecond). Sections may nest.
/// @threads   any
void ws_blocking_begin(void);

/// @brief The calling thread goes on: ends the section that it began last. Without one nothing happens.
void ws_blocking_end(void);

/// @return the task that the calling thread runs, the innermost if it helps inside one; NULL = none. Valid
/// until that task's function returns
/// @threads   any
const ws_task_t *ws_current_task(void);

/// @return the index of the worker that the calling thread is, 0 .. workers - 1; -1 = it is none
/// @threads   any
int32_t ws_worker_index(void);

/// @brief Stop the pool: no further push is taken, queued tasks are run or skipped, the workers end.
/// A push that comes at the same moment is either refused or dealt with as @p how says.
/// @return the number of tasks skipped (0 for WS_STOP_DRAIN); -EALREADY stopped before; -EDEADLK from inside
/// a task of it; -EINVAL @p how is neither
/// @threads   one caller
int64_t ws_pool_stop(ws_pool_t *pool, ws_stop_t how);

/// @brief Free the pool, after a drain stop if it still runs. NULL is allowed. From inside a task of it: ends
/// the process with a message.
/// @threads   one caller; no other thread may use @p pool any more, nor wait in it
void ws_pool_destroy(ws_pool_t *pool);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
