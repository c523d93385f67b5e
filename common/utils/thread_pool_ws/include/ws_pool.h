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
/// Any number of pools may exist at once; any thread may push to any of them.
/// A function with an error code returns -EINVAL when the pool, or a pointer that it needs, is NULL.
/// A function without one does nothing then, unless its text names another meaning of NULL.
///
/// After fork() the child may create pools of its own, and may call exit(). Handlers of pthread_atfork() may
/// use pools, unless they were registered before the library was loaded. The pools of the parent have no
/// threads in the child (ws_pool_is_lost()): there a push, a wait for the pool, a cancel that waits and a
/// stop return -ESRCH, ws_pool_stats() returns the counts at the fork, hints do nothing, and
/// ws_pool_destroy() returns without freeing the pool. A wait in such a pool for a group that is not complete
/// ends the process with a message; such a wait without a pool does not end. Groups, keys, and the objects of
/// ws_sync.h are as at the fork: what a thread of the parent would complete, unlock or arrive at stays open
/// in the child, which sets such objects up anew. A child that a task forks must not return from the task. At
/// a fork no other thread of the program may be inside dlopen() or dlsym(): the C library leaves its lock
/// taken in the child, where the creation of a pool may need it.
///
/// Workers take their signal mask from the thread that creates the pool, as all threads do, and programs that
/// a task starts take it from the worker. So a handler of the program may run on a worker, in the middle of a
/// task. To keep handlers off the workers, block their signals in the creator while it creates the pool. If
/// the host creates the threads (thread_create), the host sets their masks. The library's other threads run
/// no code of the program, and block all signals but those that their own instructions cause (SIGSEGV and the
/// like).
/// Workers have a timer slack of 1 ns. A program that a task starts with posix_spawn(), system(), popen() or
/// vfork() inherits it; the child of a fork() gets the slack that the thread had before.
/// The library does not keep a floating worker on a CPU: taskset and cpusets apply to it as to any thread.
///
/// Below, "the process's mask" is the CPU affinity of the thread that creates the pool. Where the kernel
/// refuses to name it (a seccomp filter), it means the online CPUs, pin_step has no effect, and the creation
/// of a pool gives a warning.
/// A pool counts its CPUs when it is created. If the mask or the quota grows later, a burst of short tasks
/// still wakes workers for as many CPUs as there were then.
/// Time is read with clock_gettime, which is no system call where the kernel's clock source has a vDSO.
#ifndef WS_POOL_H
#define WS_POOL_H

#include <stdbool.h> // IWYU pragma: export
#include <stddef.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "ws_group.h" // IWYU pragma: export
#include "ws_stats.h" // IWYU pragma: export
#include "ws_version.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct ws_pool_s ws_pool_t;

/// A thread that looks for a task takes the highest priority first. All threads share one queue for high
/// priority, and one for low priority, whose tasks start in the order of their pushes. Each 61st search of a
/// thread serves the queues of all priorities and threads in turn, and takes the oldest task there. So each
/// task runs, even if tasks of higher priority come without end. A thread that waits for a group reaches the
/// group's tasks whatever their priority.
/// WS_PRIORITY_NORMAL is 0, so a task without a priority is normal. Do not compare the values by size.
typedef enum { WS_PRIORITY_NORMAL, WS_PRIORITY_HIGH, WS_PRIORITY_LOW } ws_priority_t;

/// A task without a hint for a NUMA node; see ws_task_t.node.
#define WS_NODE_ANY 0u

/// One task. Copied by a push; @c arg must stay valid until the task has run.
/// A task must return. If its function ends the thread (pthread_exit), the process ends, wherever the task
/// runs: a line on stderr names the function, then abort() is called. A C++ exception that leaves a task ends
/// the process in the same way, by std::terminate(). Both hold for the functions of loops (ws_reduce.h), for
/// settings.skipped, and outside fibers for those of ws_event_t, too. Neither is seen on processors other
/// than x86-64 and 64-bit ARM, nor pthread_exit with another C library than glibc: what happens then is
/// undefined, as after longjmp out of a task.
/// Threads run tasks with cancellation disabled (pthread_setcancelstate): a worker all its life, another
/// thread during its wait, its stop, its loop (ws_reduce.h), its ws_pool_cancel_wait(), or a push that runs a
/// task. A request acts at the thread's next cancellation point after that: no push or wait is one, nor the
/// creation or the end of a pool, but a thread in ws_pool_await() can be cancelled, or call pthread_exit(),
/// in the event's sleep, outside tasks, loops and scans. A task that enables cancellation must not be
/// cancelled.
typedef struct {
  void (*func)(void *arg);
  void *arg;
  ws_group_t *group; ///< one unit of it is completed after func returns; NULL = none; see ws_group_tag()
  ws_priority_t priority; ///< default (0) WS_PRIORITY_NORMAL
  /// Where the task's data lies: WS_NODE_ANY (0, default), or ws_node_hint() of a NUMA node (ws_node.h).
  /// Workers on a CPU of that node take the task first; if they are busy, others take it. So a wrong hint
  /// costs time, and nothing else. The hint has no effect if the node's number is unknown, if the task is
  /// not of normal priority, or if all workers' CPUs belong to one node. A node without a
  /// worker's CPU is served by the nearest node with one.
  uint32_t node;
} ws_task_t;

/// What a push does if the queue for its task is full.
typedef enum {
  WS_FULL_GROW, ///< map more memory (mmap); if that fails, run the task inline. Default
  WS_FULL_INLINE, ///< run the task in the push
  WS_FULL_FAIL, ///< return -EAGAIN
} ws_full_t;

/// How an idle worker waits. In every mode it first spins for a while (spin_ns_max).
typedef enum {
  WS_SPIN_OFF, ///< the worker sleeps until a push wakes it
  WS_SPIN_FIXED, ///< as WS_SPIN_AUTO, but the timer fires spin_lead_ns before the burst
  /// The worker learns when bursts come and how long this machine takes to wake it. Where it saves more than
  /// it costs, a timer wakes the worker before the burst. Default
  WS_SPIN_AUTO,
  /// The worker busy-polls and does not sleep, as long as the awake workers of the process leave one CPU to
  /// each thread that helps, and at least one CPU in all. Surplus workers sleep and try again, those of one
  /// pool together 250 times a second. A real-time worker sleeps for 0.1 ms in each millisecond, so that
  /// threads of normal class on its CPU run.
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

/// Creates the thread of worker @p index: joinable, running @p func(@p arg). The function also sets the
/// thread's name, scheduling class and CPU (@p cpu, -1 = float), if it can. @return 0 or an error number
typedef int (*ws_thread_create_t)(void *create_arg, uint32_t index, int32_t cpu, void *(*func)(void *arg),
                                  void *arg);

/// What an observer is called for.
typedef enum {
  WS_OBSERVED_START, ///< the worker's thread has been set up; no task has run on it yet
  WS_OBSERVED_STOP, ///< the worker runs no task any more
  WS_OBSERVED_PARK, ///< the worker is about to sleep, because it has found no task
  WS_OBSERVED_UNPARK, ///< the worker has been woken, and looks for a task next
} ws_observed_t;

/// One call of an observer.
typedef struct {
  ws_observed_t what;
  uint32_t worker; ///< its index
  int32_t cpu; ///< CPU that it runs on right now; -1 = not known
  int32_t node; ///< NUMA node of that CPU; -1 = not known
} ws_observation_t;

/// Called on the worker's own thread. It may change what belongs to the thread (CPU affinity, floating-point
/// mode, name, thread-local data), and count. It must not push, wait, stop or destroy a pool: a build without
/// NDEBUG ends the process with a message then. It should be short: after UNPARK a task waits for the worker.
typedef void (*ws_observer_t)(void *observer_arg, const ws_observation_t *observation);

/// A deadline that is learnt.
#define WS_DEADLINE_AUTO UINT64_MAX
/// Bytes of a folder's name, with the 0 at its end.
#define WS_RECORD_PATH_MAX 256
#define WS_RECORD_MB 64u ///< settings.record_mb, if nothing else is asked for
#define WS_RECORD_MB_MAX 65536u

/// All settings, fixed at creation. Call ws_settings_default() first.
typedef struct {
  /// Bytes of the structure as the caller was compiled, set by ws_settings_default(). A later version may
  /// have more fields; those that a caller does not have get their defaults.
  uint32_t size;
  /// Workers are called "<name><index>", cut to 15 characters. Default "ws". A pool with workers also has the
  /// watchdog thread "ws_guard", of class BATCH. As long as workers are missing (ws_pool_create), it has the
  /// class of the thread that creates the pool.
  const char *name;
  /// Number of worker threads, 0 .. 1024; 0 = every push runs its task inline. Default: the CPUs of the
  /// process's mask, whatever the quota.
  uint32_t workers;
  /// cores[i] = CPU of worker i, -1 = float; workers beyond core_count float. Default NULL: see pin_step.
  const int32_t *cores;
  uint32_t core_count;
  /// If cores is NULL: worker i is pinned to CPU number (i * pin_step) of the process's mask, modulo its
  /// size, and one further after each full round. Default 0: workers float. 2 skips SMT siblings where they
  /// are numbered in pairs. See also pin_first.
  uint32_t pin_step;
  /// Scheduling class of the workers; sched_priority is 1..99 for WS_CLASS_RR and WS_CLASS_FIFO, else
  /// ignored.
  ws_class_t sched_class;
  int32_t sched_priority;
  /// Tasks that one thread's queue holds, or one that all threads share; rounded up to a power of two, from
  /// 2 to 2^20. Default 1024.
  uint32_t queue_capacity;
  /// Number of pushing threads (not workers) with a queue each, 0 .. 1024; further threads share one. Default
  /// 32.
  uint32_t lanes;
  ws_full_t full;
  ws_spin_t spin; ///< default WS_SPIN_AUTO; see also ws_pool_set_spin()
  uint64_t spin_lead_ns; ///< WS_SPIN_FIXED: time from the timer to the expected burst; 0 .. 10,000,000
  /// Share of one core, in percent, that each worker may spend on spinning, over any few milliseconds;
  /// 0 .. 100. Default 10. WS_SPIN_HOT ignores it. If a spin finds work, the CPU time of the wake that it has
  /// saved does not count, but a third of the spin counts at least. So a worker spins three times this share
  /// at most.
  uint32_t spin_cpu_max_percent;
  /// WS_SPIN_AUTO: CPU time, in microseconds, that is worth one microsecond less of lateness; 1 .. 100.
  /// Default 9.
  uint32_t spin_price;
  /// Bound on the time that a worker spins after it has run out of work. It spins for less where it has
  /// learnt that nothing follows. 0 = it sleeps at once. Must be shorter than the time between slots: a task
  /// that comes later counts as a new burst, for which pre-wake sets a timer. 0 .. 10,000,000. Default 40,000
  uint64_t spin_ns_max;
  /// Bound on one spin of a thread that waits in the pool and is not one of its workers; a worker that waits
  /// has spin_ns_max. Default 200,000
  uint64_t join_spin_ns_max;
  /// Order in which a worker runs the tasks of its own queue, except in a wait. true: oldest first. Default
  /// false: newest first, which keeps the queue short when tasks push tasks. Other threads steal the
  /// oldest. Each 61st search of a worker serves all queues in turn, the oldest task first: those of threads
  /// outside, of other workers, and its own. So no task waits without end. If true, a task without a group,
  /// or with a tag, that a task of the same function pushes is queued behind those of all threads: the task
  /// has pushed itself again.
  bool fifo;
  /// Map at creation the queues for high and low priority and for each node. With WS_FULL_FAIL or
  /// WS_FULL_INLINE no push allocates or maps memory then. Default false: each is mapped at the first push of
  /// such a task.
  bool reserve;
  /// For a program whose tasks all have one function, which calls another: @return the address of that one.
  /// For fifo. Called by pushes. Default NULL: task->func.
  uintptr_t (*func_of)(const ws_task_t *task);
  bool report; ///< print a page of statistics on stderr when the pool stops (ws_pool_report). Default false
  /// The host's function to create threads. It decides on name, class and pinning; the settings for name and
  /// class are ignored. Default NULL: pthread_create.
  ws_thread_create_t thread_create;
  void *create_arg;
  /// Called at the events of each worker. START is called before the worker's first task; and before
  /// ws_pool_create() returns, unless that does not wait for the worker. STOP is called on each worker that
  /// had a START, before ws_pool_stop() and ws_pool_destroy() return, unless a task of the pool destroys it.
  /// Default NULL.
  ws_observer_t observer;
  void *observer_arg;
  /// Called for each task that an abort skips, on the thread that skips it, before the
  /// task's group is completed. It must return. Not called for tasks with a key, which have on_cancel, and
  /// for tasks with a record (ws_record.h; all tasks of the C++ headers). Default NULL.
  void (*skipped)(void *skipped_arg, const ws_task_t *task);
  void *skipped_arg;
  /// Called with a one-line message, once per cause, when a resource (thread, CPU, class) could not be
  /// obtained or a setting is invalid. Default: print the line on stderr.
  void (*warn)(void *warn_arg, const char *message);
  void *warn_arg;
  /// Bytes of a worker's stack, at least 64 KiB plus the libraries' thread-local data. A thread that waits
  /// runs tasks on its own stack: so each thread that waits, a worker or not, needs the stack of its tasks
  /// beside its own. Default 0: as the system gives new threads (ulimit -s). Ignored with thread_create.
  size_t stack_bytes;
  /// true: no worker changes its own CPU affinity after its start. Default false: a worker that floats keeps
  /// itself off a producer's CPU while it sleeps, so as not to stop it when it wakes, if the producer runs
  /// tasks or waits for them here. A real-time worker moves off.
  bool keep_affinity;
  /// Show the pool to the command tpool-ws, which may also change spin, spin_cpu_max_percent, deadline_ns
  /// and the number of awake workers: by a file below /dev/shm that only this user can open. At most 1024
  /// pools of a process at a time. The watchdog thread then wakes 5 times a second, also in a pool that
  /// rests. Default false.
  bool live;
  /// Bursts and phases that take longer are late, and counted by cause (ws_ledger.h). WS_DEADLINE_AUTO:
  /// those that take longer than 1.25 times the median of their kind. Default 0: as AUTO if report or record
  /// asks for the counts, else none.
  uint64_t deadline_ns;
  /// A folder in which the process keeps the last events of its threads, its late bursts of a day, and
  /// windows of events around some of them, in files that survive it (docs/tracing.md). Of several pools the
  /// first that asks for counts or a record decides. "" = none.
  char record[WS_RECORD_PATH_MAX];
  /// For pin_step: number of the mask's CPU, counted from 0, with which the steps begin; of a smaller mask,
  /// its last CPU. The steps go on through the CPUs after it. Those before it are used when each of these has
  /// a worker. Default 0. 1 leaves out the first CPU, as long as there are fewer workers than CPUs.
  uint32_t pin_first;
  /// MiB, 1 to 65536, for all files of this program and user in the folder of settings.record: the oldest of
  /// processes that are gone go first, then windows of this one. Default 64.
  uint32_t record_mb;
} ws_settings_t;

/// @brief ws_settings_default() for @p bytes of settings. For callers that do not compile this header.
void ws_settings_init(ws_settings_t *settings, size_t bytes);

/// @brief Fill @p settings with the defaults named above. Ignores NULL.
static inline void ws_settings_default(ws_settings_t *settings)
{
  ws_settings_init(settings, sizeof(*settings));
}

/// A thread that is not a worker can be pinned beside the workers: to the CPU of index workers.
/// @param index  of a worker, or larger
/// @return the CPU that the worker of this index is pinned to in a pool that the calling thread creates with
///         @p settings; -1 if it floats, if @p settings is NULL or a setting is out of its range, or if the
///         kernel refuses to name the process's mask
int32_t ws_settings_cpu(const ws_settings_t *settings, uint32_t index);

/// @brief Set what a user has written as text. Upper or lower case, but for a folder; blanks around @p text
/// are ignored.
/// @verbatim
///   name          text                                              sets
///   spin          off, auto, hot, or fixed:<us> with 0 to 10000,    spin, and with fixed spin_lead_ns
///                 for example fixed:12.5
///   spin_cpu_max  a whole number, 0 to 100                          spin_cpu_max_percent
///   report        0 or 1                                            report
///   keep_affinity 0 or 1                                            keep_affinity
///   live          0 or 1                                            live
///   deadline_us   auto, or 0.001 to 10000 us                        deadline_ns
///   record        a folder; in a list without a comma               record
///   record_mb     1 to 65536 MiB                                    record_mb
/// @endverbatim
/// @return 0
///         -EINVAL  the name is unknown, or the text is invalid or NULL; a warning names it. spin is then
///                  WS_SPIN_OFF after an invalid spin or spin_cpu_max, spin_cpu_max_percent 0, report false,
///                  keep_affinity true, live false, deadline_ns 0, record "", record_mb 64
int ws_settings_entry(ws_settings_t *settings, const char *name, const char *text);

/// Called for an entry of a list that is no setting. @p entry has @p length characters, no blanks around it,
/// and no 0 at its end. @param position  its place in the list, from 1
/// @return NULL; or why it is invalid, for a warning: `entry 2 "x"` and the reason
typedef const char *(*ws_settings_other_t)(void *other_arg, uint32_t position, const char *entry,
                                           size_t length);

/// @brief Apply a comma-separated list of entries `name=text`, as ws_settings_entry() does; of several with
/// one name the last. Empty entries are skipped. After an invalid entry that begins with "spin", spin stays
/// WS_SPIN_OFF whatever the rest of the list sets.
/// @param other  called for entries that do not begin with the name of a setting; NULL = they are invalid
/// @return 0; -EINVAL if an entry is invalid, with a warning for each, or if an argument is NULL
int ws_settings_list(ws_settings_t *settings, const char *text, ws_settings_other_t other, void *other_arg);

/// @brief Apply environment variables: TPOOL_WS_SPIN, TPOOL_WS_SPIN_CPU_MAX, TPOOL_WS_REPORT,
/// TPOOL_WS_KEEP_AFFINITY, TPOOL_WS_LIVE, TPOOL_WS_DEADLINE_US, TPOOL_WS_RECORD and TPOOL_WS_RECORD_MB,
/// each as the entry of that name. A variable that is unset or empty changes nothing. An invalid value, and
/// an unknown variable TPOOL_WS_..., give a warning. TPOOL_WS_TRACE (docs/tracing.md) is read by the
/// process's first ws_pool_create(), or call of ws_trace.h. In a program that runs with more rights than
/// its user (AT_SECURE: file capabilities, set-user-ID) neither reads anything: the first variable that is
/// set gives a warning.
/// @threads   any; no thread may change the environment during the call
void ws_settings_environment(ws_settings_t *settings);

/// @brief ws_settings_entry() of spin. @return 0 or -EINVAL
int ws_settings_spin_text(ws_settings_t *settings, const char *text);

/// @brief ws_settings_entry() of spin_cpu_max. @return 0 or -EINVAL
int ws_settings_spin_cpu_max_text(ws_settings_t *settings, const char *text);

/// @brief Create a pool and start its workers. Returns when all have started. When none has started for
/// two seconds, it does not wait any longer for those whose CPUs are held by threads of a higher class: a
/// warning names each, and it works from the moment when it gets its CPU.
/// A resource that cannot be obtained (thread, CPU, class, the process's mask) gives a warning and shows in
/// ws_pool_stats(); the pool works with the rest.
/// If the system refuses a thread for now (EAGAIN), the call tries again: for two seconds with the watchdog
/// thread, which it makes first, and with the first worker, for 0.13 s with the others. Then it returns. The
/// watchdog thread tries to make the missing workers five times a second, until all are there or the pool is
/// stopped; they join the pool. Until the first worker is there, each push runs its task. A pool without the
/// watchdog thread has no workers for good. A settings.thread_create that has failed is not called again.
/// @param out       the pool; NULL on error
/// @param settings  copied: not used after the call
/// @return 0
///         -EINVAL  an argument is NULL; or a setting is out of its range, or one is set that this version of
///                  the library does not have, or the stack of new threads is smaller than 64 KiB plus the
///                  libraries' thread-local data (a warning names which)
///         -ENOMEM
/// @threads   any
int ws_pool_create(ws_pool_t **out, const ws_settings_t *settings);

/// @brief Push one task.
/// A worker of @p pool pushes to its own deque, any other thread to its own lane. Tasks with a priority or a
/// hint, and those of threads beyond settings.lanes, go to queues that all threads share. The task runs
/// exactly once, or an abort skips it: on any worker, on a thread that waits, or inside the push if the queue
/// is full (settings.full), or the pool has no thread.
/// @return 0 = the task will run or has run; -EAGAIN = the queue is full (WS_FULL_FAIL only);
///         -ECANCELED = the pool was stopped; -ESRCH = the pool was made before this process was
///         forked; -EINVAL = @p pool or the task's func is NULL, or its priority is none of the three.
///         On error nothing is queued. The task's group keeps waiting for its unit: call
///         ws_group_complete(), or push again
/// @threads   any thread, any number at once; not from a signal handler
/// @ordering  [edge DEQ_PUBLISH] writes before the call are visible to the task
/// @progress  lock-free, with a futex call for each worker that it wakes, and one for the watchdog thread,
///            unless it runs the task or allocates. Where a worker sleeps on the caller's CPU, two calls more
///            move it off (sched_setaffinity). Allocates in these cases only, and may then take a lock or
///            wait up to 1 ms: a full queue grows; a thread's first push to a pool takes its lane; the first
///            push of a priority, or of a hint for a node, maps its queue, and so does the first one after
///            the queue had grown and was given back. A push to a queue that all threads share locks it for a
///            few stores, with priority inheritance
int ws_pool_push(ws_pool_t *pool, ws_task_t task);

/// @brief Push @p count tasks. For those without priority and hint that fit in the caller's queue, choose
/// only once which worker to wake.
/// @return the number of accepted tasks, from the front: fewer than @p count under WS_FULL_FAIL, or if the
///         pool is stopped during the call; -ECANCELED = the pool was stopped before; -ESRCH as
///         ws_pool_push(); -EINVAL = @p pool, a task's func, or @p tasks with @p count > 0 is NULL, or a
///         priority is none of the three. On error no task is accepted
/// Otherwise as ws_pool_push().
int64_t ws_pool_push_batch(ws_pool_t *pool, const ws_task_t *tasks, uint32_t count);

/// @brief Push one task; return -EAGAIN if the task's queue is full, for any settings.full.
/// @return 0, -EAGAIN, -ECANCELED, -ESRCH, -EINVAL. Otherwise as ws_pool_push().
int ws_pool_try_push(ws_pool_t *pool, ws_task_t task);

/// @brief Block until every task that was pushed, by any thread and also during the call, has run: if there
/// is no such moment, the call does not return. The caller runs any of them meanwhile, on its own stack. If
/// the caller is a fiber (ws_fiber.h), that is the fiber's stack.
/// @return 0; -EDEADLK if called inside a task of @p pool, which would wait for itself; -ESRCH as
///         ws_pool_push()
/// @threads   any thread but the pool's tasks; several at once
/// @ordering  [edge POOL_IDLE] the caller sees what the tasks wrote
int ws_pool_wait(ws_pool_t *pool);

/// @brief As ws_pool_wait(), but at most until @p deadline_ns. The caller runs only tasks of its own queue; a
/// thread beyond settings.lanes runs those of the queues that all threads share. When the deadline has passed
/// the caller begins no further task. It may return as late as ws_group_wait_until(). After -ETIMEDOUT the
/// tasks run on.
/// @param deadline_ns  CLOCK_MONOTONIC; UINT64_MAX = none. If it is in the past, the call runs nothing, and
///                     returns 0 if the pool is idle
/// @return 0; -ETIMEDOUT; -EDEADLK and -ESRCH as ws_pool_wait()
int ws_pool_wait_until(ws_pool_t *pool, uint64_t deadline_ns);

/// A number of workers for a hint: as many as the calling thread can wake until the first one runs; one until
/// the pool has measured that. The pushes of the burst wake more.
#define WS_AS_MANY_AS_PAY UINT32_MAX

/// @brief Wake workers now, because tasks will come soon. The workers spin until @p within_ns from now and
/// then for spin_ns_max at most, within spin_cpu_max_percent and the CPUs that are free. Wakes no more
/// workers than there are CPUs for, but for those that several threads wake in the same moment. If the tasks
/// come, the time that a sleeping CPU takes to wake is hidden. If they do not, the spinning was wasted. The
/// predictor takes the call for the arrival of the burst, unless the pool is at work, or @p workers is 0.
/// @param workers    number of workers wanted awake, including those that already spin; WS_AS_MANY_AS_PAY
/// @param within_ns  how long the workers may spin without a task; 0 .. 100,000,000, larger values are cut
/// @threads   any
/// @progress  a futex call for each worker it wakes, and two to move one off the caller's CPU
void ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns);

/// @brief Have workers awake for a burst that is expected at @p at_ns. A worker that is woken too early
/// sleeps again and sets a timer for shortly before the burst.
/// @param workers  number of workers to wake now, as for ws_pool_prewake(). Any other worker that goes to
///                 sleep before @p at_ns may set a timer, too
/// @param at_ns    CLOCK_MONOTONIC; a time in the past, or more than a second away, means now: the call is
///                 ws_pool_prewake() for a millisecond
/// Otherwise as ws_pool_prewake(). Works in every mode; the predictor learns from it only if it means now.
void ws_pool_prewake_at(ws_pool_t *pool, uint32_t workers, uint64_t at_ns);

/// @brief Begin a phase of bursts that follow each other: wake workers as ws_pool_prewake() does. Until
/// ws_pool_phase_end() a worker that runs out of work spins, within spin_cpu_max_percent and the CPUs that
/// are free. If several phases overlap, they end with the last ws_pool_phase_end().
/// @threads   any
void ws_pool_phase_begin(ws_pool_t *pool, uint32_t workers);

/// @brief End the phase, after its last burst. A worker that runs out of work then spins as outside a phase,
/// for spin_ns_max at most.
/// @threads   any; once for each ws_pool_phase_begin()
void ws_pool_phase_end(ws_pool_t *pool);

/// @brief Change the mode, from the next burst on; WS_SPIN_HOT wakes all workers at once. The predictor keeps
/// what it has learnt.
/// @param lead_ns  for WS_SPIN_FIXED, as spin_lead_ns; must be in range in every mode
/// @return 0; -EINVAL if @p pool is NULL or a value is out of range: nothing changes
/// @threads   any
int ws_pool_set_spin(ws_pool_t *pool, ws_spin_t spin, uint64_t lead_ns);

/// @brief Change spin_cpu_max_percent. @return 0; -EINVAL if @p pool is NULL or @p percent is above 100
/// @threads   any
int ws_pool_set_spin_cpu_max(ws_pool_t *pool, uint32_t percent);

/// An event other than a group that a thread can wait for.
typedef struct {
  bool (*ready)(void *arg); ///< called often, by the waiting thread: must be cheap and take no lock
  void (*sleep)(void *arg); ///< blocks until the event may be ready
  void *arg;
} ws_event_t;

/// @brief Block until the event is ready. As in ws_group_wait() the caller runs tasks that carry @p tag, from
/// its own queue and those that all threads share, then spins for a bounded time, then sleeps. Unlike
/// ws_group_wait(), it does not run the tasks that those tasks push, unless they carry @p tag. If several
/// threads wait, the event may no longer be ready on return.
/// @param event  ready and sleep are required; NULL ends the process with a message
/// @param pool   the pool of the tasks; NULL = inside a task the pool of that task, whichever thread runs it;
///               outside a task the thread only waits
/// @param tag    from ws_group_tag(). With NULL the caller runs tasks that carry no group
/// @threads   any thread, several at once
/// @ordering  none beyond that of ready() and sleep()
void ws_pool_await(ws_pool_t *pool, const ws_group_t *tag, const ws_event_t *event);

/// @brief Begin a section in which the calling thread may block in a way that the library cannot see (a lock,
/// a device). If the thread is a worker, or waits in a pool or runs a task there inline, another worker may
/// run in its place at once, in every pool where the thread counts as running. Otherwise nothing happens.
/// Without this call a task queued behind the blocked thread starts after about a millisecond, when the
/// watchdog thread has noticed. Sections may nest.
/// @threads   any
void ws_blocking_begin(void);

/// @brief End the section that the calling thread began last. Without a section nothing happens.
void ws_blocking_end(void);

/// @return the task that the calling thread runs, NULL = none; of nested tasks the innermost. Valid until
/// that task's function returns. In a fiber (ws_fiber.h): its function, argument, group, priority and node as
/// they were pushed. The pointer stays the same, also when the fiber continues on another thread
/// @threads   any
const ws_task_t *ws_current_task(void);

/// @return the calling thread's index as a worker of any pool, 0 .. workers - 1; -1 = it is not a worker.
///         Workers of two pools may have the same index: see ws_pool_worker_index(), and ws_for.h
/// @threads   any
int32_t ws_worker_index(void);

/// @return the calling thread's index as a worker of @p pool; -1 = it is not one
/// @threads   any
int32_t ws_pool_worker_index(const ws_pool_t *pool);

/// @return the number of workers, also of those whose threads the system has not granted yet; 0 if @p pool is
///         NULL. It does not change, so an index below it can be used for arrays
/// @threads   any
uint32_t ws_pool_size(const ws_pool_t *pool);

/// @return whether the pool was made before this process was forked, so that it has no threads here: see
/// "After fork()" above. false if @p pool is NULL
/// @threads   any
/// @progress  wait-free, no system call
bool ws_pool_is_lost(const ws_pool_t *pool);

/// @brief Stop the pool: refuse further pushes but those of its tasks, run or skip the queued tasks, end the
/// workers.
/// Blocks until all tasks have ended, and the workers' threads with them; the caller runs tasks meanwhile.
/// The task of a push at the same moment is refused, or handled as @p how requires: maybe by that push, after
/// the stop has returned.
/// @return the number of tasks skipped until then (0 for WS_STOP_DRAIN). ws_stats_t.skipped_tasks counts all
///         -EALREADY  the pool was stopped before, or another thread stops it now
///         -ESRCH     the pool was made before this process was forked
///         -EDEADLK   called inside a task of the pool
///         -EINVAL    @p how is neither of the two
/// @threads   one caller
int64_t ws_pool_stop(ws_pool_t *pool, ws_stop_t how);

/// @brief Free the pool. If it still runs, stop it first with WS_STOP_DRAIN. Ignores NULL.
/// Inside a task or a fiber of the pool the call returns at once. When that task and all others have run, a
/// thread of the library ("ws_end") ends the workers and frees the pool; it may run tasks. What the tasks and
/// the functions of the settings use must live until then. If the task calls exit(), that end does not come,
/// and the process ends with the program's status while other tasks run. If the task runs on a thread that is
/// no worker, in a wait or in a push, the pool ends but its memory stays. The push of the task may not have
/// returned on its thread: the end waits until it has. If the thread ws_end cannot be
/// created, the pool stays, with a warning. If another thread is in ws_pool_stop() when the task calls, the
/// call does nothing: that thread destroys the pool. Outside the pool's tasks a call during another thread's
/// ws_pool_stop() ends the process with a message.
/// @threads   one caller, once; no other thread may use @p pool any more, nor wait in it
void ws_pool_destroy(ws_pool_t *pool);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
