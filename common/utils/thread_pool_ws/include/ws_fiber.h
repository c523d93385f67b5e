// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber.h
/// Fibers: tasks with a stack of their own, which can stop in the middle and continue later on any worker.
/// In a library of its own, thread_pool_ws_fiber, which needs Boost.Context's C functions.
///
/// @code
///   ws_group_t group;
///   ws_group_init(&group, 2);
///   ws_fiber_push(pool, read_frames, &input, &group, NULL);
///   ws_fiber_push(pool, decode_frames, &input, &group, NULL);
///   ws_group_wait(&group, pool);
/// @endcode
///
/// In a fiber these calls let the worker run other tasks meanwhile: ws_yield(), ws_yield_sometimes(),
/// ws_group_wait(), the waits of ws_sync.h and ws_fd.h, and a ws_mutex_trylock() or ws_sem_trywait() that
/// fails. Any other call that blocks, also a pthread mutex, blocks the worker. In
/// ws_pool_await() a fiber runs no tasks: it calls the event's sleep() until the event is ready.
///
/// A fiber may continue on another thread after each of these calls. So across such a call its code
/// - must not keep the address of thread-local data, nor of errno. The value of errno is kept;
/// - must not hold a pthread mutex, nor be between ws_blocking_begin() and ws_blocking_end().
/// Compilers may keep the address of thread-local data within a function: read such data in a function of its
/// own, which is not inlined. The same holds for pthread_self(): glibc declares it const, so a function that
/// calls it before and after a move may get the number of the thread before. ws_fiber_self() and
/// ws_caller_id() name the fiber instead; ws_local.h has data that belongs to a fiber.
///
/// In ws_pool_wait() and ws_pool_stop() of another pool a fiber does not park: it runs that pool's tasks and
/// fibers on its own stack, which must be large enough for them, and blocks the worker when it finds none.
///
/// A plain task, or a thread, that waits for a group with fibers helps to run them, but a fiber may need
/// tasks that the wait must not run. So wait in fibers, or have at least one worker more than tasks that
/// wait in this way. A fiber that yields in such a wait may let an unrelated fiber run there, until that
/// one stops: the wait looks at its group each time that a fiber stops.
/// In a loop or a reduction (ws_for.h, ws_reduce.h) each worker may wait in this way for a piece of another
/// one. So no number of workers suffices for pieces that wait for fibers: push tasks, or use ws_scan().
///
/// A C++ exception may be thrown and caught in a fiber, and a fiber may wait in a catch block. An exception
/// that leaves the fiber's function ends the process (std::terminate). pthread_exit(), thread cancellation,
/// and longjmp out of the fiber's function are not supported.
///
/// What else runs on a fiber's stack, and needs room there:
/// - in a fiber that calls ws_pool_wait(), ws_pool_stop() or ws_pool_destroy() of another pool: tasks of that
///   pool, which the call runs meanwhile. Wait in a plain task, or give the fiber the stack of a thread;
/// - in a fiber that pushes: the task itself where the push runs the task (a pool without workers,
///   WS_FULL_INLINE), and in ws_reduce() and ws_scan() the program's functions;
/// - handlers of signals without SA_ONSTACK, if a worker, or a thread that helps, has the signal unblocked.
///   Those with SA_ONSTACK run on the thread's alternate stack: 32 KiB, unless the program has set one.
///
/// Below each stack lie WS_FIBER_GUARD_BYTES without access. A fiber that overflows its stack ends there, as
/// long as no frame is larger than the guard: compile functions with larger frames, and functions with arrays
/// of variable length, with -fstack-clash-protection. Otherwise such a frame may reach another stack unseen.
/// From the first push of a fiber on, the process handles SIGSEGV: if a fiber has overflowed its stack, a
/// message on stderr names the fiber. Then, and for a SIGSEGV of any other cause, the handler runs that the
/// program had installed before. A handler that the program installs later replaces this one.
/// Once this library is used, dlclose() does not unload the plugin that contains it: its threads run as long
/// as the process. These, ws_alarm for time limits and ws_reactor of ws_fd.h, have a real-time priority one
/// above that of the highest real-time pool whose fibers have waited for them, but 99 at most. Without such a
/// pool they have the normal class. If the system refuses (RLIMIT_RTPRIO), they take the pool's own priority,
/// and settings.warn of the pool is called once for each. Then, and with a priority of 99, fibers that yield
/// without end delay the time limits of others on the CPU that both use.
///
/// A fiber counts as a task of its pool until its function returns: ws_pool_wait() and WS_STOP_DRAIN wait for
/// it, also while it waits. WS_STOP_ABORT drops the fibers that have not begun: they count as skipped,
/// settings.skipped is called with their function, argument and group, or their record is settled
/// (ws_record.h), and their groups are completed. The others run to their end. Their waits that can be
/// cancelled return -ECANCELED from then on.
#ifndef WS_FIBER_H
#define WS_FIBER_H

#include <stdbool.h> // IWYU pragma: export
#include <stddef.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "ws_pool.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// Bounds and default of ws_fiber_options_t.stack_bytes.
#define WS_FIBER_STACK_BYTES_MIN 16384u
#define WS_FIBER_STACK_BYTES 131072u
#define WS_FIBER_STACK_BYTES_MAX (64u << 20)
/// Addresses without access below each stack, unless there are too many mappings (stacks_unguarded below).
#define WS_FIBER_GUARD_BYTES 262144u
/// Characters of a fiber's name that are kept.
#define WS_FIBER_NAME_MAX 31

struct ws_cancel_s;

/// A fiber. Opaque: only its address means something, until its function has returned.
typedef struct ws_fiber_s ws_fiber_t;

/// Call ws_fiber_options_default() first.
typedef struct {
  const char *name; ///< copied, cut to WS_FIBER_NAME_MAX characters; NULL (default) = "fiber"
  /// Bytes of stack. Rounded up to a power of two, to a page, and to four times what the kernel puts on a
  /// stack for a signal (AT_MINSIGSTKSZ). A little less is left for the function. Default 128 KiB.
  uint32_t stack_bytes;
  ws_priority_t priority; ///< as of a task, each time that the fiber is queued
  uint32_t node; ///< as of a task
  /// If the group is NULL: from ws_group_tag(id), a thread that waits for id may run the fiber. Default NULL.
  ws_group_t *tag;
  /// Ends the fiber's waits (ws_sync.h). Must stay valid until the fiber has ended. Default NULL.
  struct ws_cancel_s *cancel;
  uint64_t spare[4]; ///< 0: room for options of later versions
} ws_fiber_options_t;

/// @brief Fill @p options with the defaults named above. Ignores NULL.
void ws_fiber_options_default(ws_fiber_options_t *options);

/// @brief Push a fiber that runs @p func(@p arg).
/// @param group    one unit is completed when @p func has returned; NULL = none. A thread that waits for the
///                 group runs the fiber, too
/// @param options  NULL = defaults. Not used after the call
/// @return 0 = the fiber will run
///         -EINVAL     @p pool or @p func is NULL; @p group is a tag, or options->tag is not one; an option
///                     is out of its range, or its spare is not 0; the pool has no worker, or none yet; or
///                     settings.full is not WS_FULL_GROW, without which a fiber that continues could be lost
///         -ENOMEM     no memory for a stack, or for a larger queue
///         -ECANCELED  the pool was stopped
///         -ESRCH      the pool was made before this process was forked
///         On error the group keeps waiting for the unit
/// @threads   any thread, as ws_pool_push()
/// @ordering  [edge DEQ_PUBLISH] writes before the call are visible to the fiber
/// @progress  takes a lock when the calling thread keeps no stack, and maps memory when none is free
int ws_fiber_push(ws_pool_t *pool, void (*func)(void *arg), void *arg, ws_group_t *group,
                  const ws_fiber_options_t *options);

/// @brief Let other tasks run: the calling fiber goes to the end of the worker's queue, behind plain tasks,
/// too. Each task runs even while fibers do nothing but yield. In a full queue that cannot grow for want of
/// memory, the fiber changes places with the oldest task there; if then all fibers of the only worker yield
/// without end, tasks of other threads wait until there is memory.
/// @return true; false outside a fiber: nothing happened
/// @threads   any
/// @progress  a worker on which fibers yield or wait without end looks for tasks of other threads after
///            about 50 us, or after one run of a fiber that took longer; later if each run is longer than the
///            last. If it finds one it looks again after one switch. Each look serves one queue, all in turn
bool ws_yield(void);

/// @brief For loops that poll: of the calls of one fiber each sixteenth is a ws_yield().
/// @return whether it was
/// @threads   any; outside a fiber nothing happens
bool ws_yield_sometimes(void);

/// @return the fiber that calls; NULL outside a fiber, and in a task that runs on a fiber's stack
ws_fiber_t *ws_fiber_self(void);

/// @return an address that no other fiber or thread has while this one lasts: of the fiber that calls, or of
/// the thread outside fibers. Compare it only
const void *ws_caller_id(void);

/// @return name of the fiber that calls; NULL outside a fiber, and in a task that runs on a fiber's stack
const char *ws_fiber_name(void);

/// Sums over the process since its start, unless noted otherwise.
typedef struct {
  uint64_t begun; ///< fibers whose function was called
  uint64_t ended; ///< fibers whose function has returned
  uint64_t dropped; ///< fibers that an abort dropped before they began
  uint64_t parked; ///< fibers that wait right now
  uint64_t stacks; ///< stacks that exist right now; one that is free for a second is unmapped
  uint64_t stacks_free; ///< of these, not in use; threads may keep a few more
  uint64_t stacks_unguarded; ///< of these, without a guard: too many mappings (vm.max_map_count)
  uint64_t stack_bytes_used_max; ///< most memory that one stack has used, in whole pages
} ws_fiber_stats_t;

/// @brief ws_fiber_stats() into @p bytes. For callers that do not compile this header.
void ws_fiber_stats_sized(ws_fiber_stats_t *stats, size_t bytes);

/// @brief Fill @p stats. Ignores NULL. Sizes as in ws_stats.h.
/// @threads   any
/// @progress  makes a system call for each 4 MiB of stacks and guards, and holds no lock meanwhile. With
///            thousands of fibers it takes milliseconds: not for a hot path
static inline void ws_fiber_stats(ws_fiber_stats_t *stats)
{
  ws_fiber_stats_sized(stats, sizeof(*stats));
}

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
