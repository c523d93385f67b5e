// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sync.h
/// Mutexes, condition variables and other waits. Fibers, tasks and threads may use the same object. Link the
/// library thread_pool_ws_fiber.
///
/// A fiber that waits lets its worker run other tasks. A task that waits keeps its worker: the wait blocks,
/// inside ws_blocking_begin() and ws_blocking_end(). If such tasks block all workers of a pool and wait for
/// fibers of that pool, those fibers do not run. Wait in fibers, or have more workers.
///
/// Waits are served in the order in which they began, by direct hand-over: an unlock gives the mutex to the
/// oldest wait, a post gives its units to the oldest waits. So each wait is bounded by those before it, and
/// each unlock makes one wake. In return a contended mutex is idle while its next owner begins to run.
///
/// @p deadline_ns is a time of CLOCK_MONOTONIC in ns; UINT64_MAX = none. With a deadline in the past the call
/// succeeds if it need not wait, and otherwise ends at once.
/// Waits that return an int return 0, -ETIMEDOUT or -ECANCELED. -ECANCELED: the caller's cancel token was
/// requested (ws_cancel_use()), or the caller is a fiber of a pool that was stopped with WS_STOP_ABORT.
/// Waits that return nothing are not ended by a cancel.
/// Objects are plain data: set to their static initialiser or 0-filled, as noted, and not copied in use. An
/// object must outlive all calls on it, unless noted otherwise. Misuse that would corrupt an object, such as
/// the unlock of a free mutex, ends the process with a message.
/// @threads all functions: any, several at once, unless noted; not from signal handlers
#ifndef WS_SYNC_H
#define WS_SYNC_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define WS_SYNC_NO_DEADLINE UINT64_MAX

/// For objects with a pointer, which C++ does not take from the number 0 without a warning.
#ifdef __cplusplus
#define WS_SYNC_ZEROS                                                                                        \
  {                                                                                                          \
  }
#else
#define WS_SYNC_ZEROS                                                                                        \
  {                                                                                                          \
    0                                                                                                        \
  }
#endif

/// A cancel token: one request ends the present and all later waits of the fibers and threads that use it.
typedef struct ws_cancel_s {
  uint32_t requested;
  uint32_t forks; ///< of the process that has written waiters
  struct ws_waiter_s *waiters;
} ws_cancel_t;
#define WS_CANCEL_INIT WS_SYNC_ZEROS

/// @brief Make a token that is not requested. No wait may use it during the call.
void ws_cancel_init(ws_cancel_t *cancel);

/// @brief End the waits that use the token, and those to come. They return -ECANCELED.
/// @ordering  [edge CANCEL] writes before the call are visible to a thread that sees the request
/// @progress  takes the lock of each wait that uses the token. Meanwhile it holds another one, which waits
///            with this token, and with some others, need to begin and to end. Then it makes a push for each
///            fiber whose wait it has ended, and a futex call for each such thread
void ws_cancel_request(ws_cancel_t *cancel);

/// @return whether it was requested
bool ws_cancel_requested(const ws_cancel_t *cancel);

/// @brief Have @p cancel end the waits of the calling fiber, or of the calling thread outside fibers. A task
/// that sets the thread's token must restore the one from before.
/// @param cancel  NULL = none; must stay valid while it is used
/// @return the token from before
ws_cancel_t *ws_cancel_use(ws_cancel_t *cancel);

/// @return the token that ends the caller's waits, NULL = none
ws_cancel_t *ws_cancel_used(void);

/// A lock that one fiber, task or thread owns. Static initialiser: WS_MUTEX_INIT, or zeros. The owner may
/// lock in a fiber and unlock after the fiber has moved to another thread. Not recursive.
typedef struct {
  uint32_t word;
} ws_mutex_t;
#define WS_MUTEX_INIT                                                                                        \
  {                                                                                                          \
    0                                                                                                        \
  }

/// @brief Lock, and wait until the mutex is given to the caller.
/// @ordering  [edge SYNC] sees what was written before each earlier unlock
void ws_mutex_lock(ws_mutex_t *mutex);
/// @return false = another owner has it. In a fiber such a call may yield: ws_yield_sometimes()
bool ws_mutex_trylock(ws_mutex_t *mutex);
/// @brief Lock before the deadline. @return 0; -ETIMEDOUT or -ECANCELED: not locked
int ws_mutex_lock_until(ws_mutex_t *mutex, uint64_t deadline_ns);
/// @brief Unlock, or give the mutex to the oldest wait. After the call the memory may be reused if no other
/// call on the mutex is under way.
void ws_mutex_unlock(ws_mutex_t *mutex);

/// A condition variable. Static initialiser: WS_COND_INIT, or zeros. All waits at one time use one mutex. The
/// memory may be reused when a signal or broadcast that ends the last wait has returned: a wait that has not
/// returned yet uses its mutex only.
typedef struct {
  uint32_t unused, spare;
  ws_mutex_t *mutex;
} ws_cond_t;
#define WS_COND_INIT WS_SYNC_ZEROS

/// @brief Unlock @p mutex, wait for a signal, lock @p mutex again. May return without a signal: check the
/// condition in a loop.
/// @return 0; -ECANCELED: the mutex is locked all the same
int ws_cond_wait(ws_cond_t *cond, ws_mutex_t *mutex);
/// @return 0, -ETIMEDOUT, -ECANCELED; the mutex is locked in each case
int ws_cond_wait_until(ws_cond_t *cond, ws_mutex_t *mutex, uint64_t deadline_ns);
/// @brief Wake one wait. If its mutex is locked, it waits for the mutex without running in between.
void ws_cond_signal(ws_cond_t *cond);
/// @brief Wake all waits. One of them gets the mutex, the others wait for it in their order.
void ws_cond_broadcast(ws_cond_t *cond);

/// A counting semaphore. Static initialiser: WS_SEM_INIT(units).
typedef struct {
  uint32_t word;
} ws_sem_t;
#define WS_SEM_UNITS_MAX ((1u << 30) - 1)
#define WS_SEM_INIT(units)                                                                                   \
  {                                                                                                          \
    (uint32_t)(units) * 2u                                                                                   \
  }

/// @param units  0 .. WS_SEM_UNITS_MAX. A larger number ends the process with a message
void ws_sem_init(ws_sem_t *sem, uint32_t units);
/// @brief Take a unit. @return 0, -ECANCELED
int ws_sem_wait(ws_sem_t *sem);
/// @return 0, -ETIMEDOUT, -ECANCELED: no unit was taken
int ws_sem_wait_until(ws_sem_t *sem, uint64_t deadline_ns);
/// @return false = there is no unit. In a fiber such a call may yield: ws_yield_sometimes()
bool ws_sem_trywait(ws_sem_t *sem);
/// @brief Give @p units: first to the oldest waits. More than WS_SEM_UNITS_MAX in all end the process with a
/// message.
/// @ordering  [edge SYNC] a wait that takes a unit sees what was written before
void ws_sem_post(ws_sem_t *sem, uint32_t units);

/// A latch: a counter that waits for zero once. Static initialiser: WS_LATCH_INIT(count).
typedef struct {
  uint32_t word;
} ws_latch_t;
#define WS_LATCH_INIT(count)                                                                                 \
  {                                                                                                          \
    (uint32_t)(count)                                                                                        \
  }

void ws_latch_init(ws_latch_t *latch, uint32_t count);
/// @brief Subtract @p count. The call that reaches zero wakes all waits. The latch's memory may be reused
/// when all waits have returned: from then on this function uses its address only. A count above what is
/// left ends the process with a message.
void ws_latch_count_down(ws_latch_t *latch, uint32_t count);
/// @return whether the count is zero
bool ws_latch_try(const ws_latch_t *latch);
/// @return 0, -ECANCELED
int ws_latch_wait(ws_latch_t *latch);
/// @return 0, -ETIMEDOUT, -ECANCELED
int ws_latch_wait_until(ws_latch_t *latch, uint64_t deadline_ns);

/// A barrier for @p parties, used any number of times. Static initialiser: WS_BARRIER_INIT(parties).
typedef struct {
  uint64_t word;
  uint32_t parties;
  uint32_t unused;
} ws_barrier_t;
#define WS_BARRIER_INIT(parties)                                                                             \
  {                                                                                                          \
    0, (parties), 0                                                                                          \
  }

/// @param parties  1 .. 2^31 - 1. Another number ends the process with a message
void ws_barrier_init(ws_barrier_t *barrier, uint32_t parties);
/// @brief Wait until @p parties callers have arrived.
/// @return 1 for the last of them, 0 for the others; -ECANCELED: the caller's arrival is withdrawn
int ws_barrier_wait(ws_barrier_t *barrier);
/// @return as ws_barrier_wait(); -ETIMEDOUT: the caller's arrival is withdrawn
int ws_barrier_wait_until(ws_barrier_t *barrier, uint64_t deadline_ns);

/// A gate: an event that stays as it was set. Static initialiser: WS_GATE_INIT, or zeros: closed.
typedef struct {
  uint32_t word;
} ws_gate_t;
#define WS_GATE_INIT                                                                                         \
  {                                                                                                          \
    0                                                                                                        \
  }

/// @brief Let all waits pass, the present ones and later ones. The gate's memory may be reused when all waits
/// have returned: from then on this function uses its address only.
void ws_gate_open(ws_gate_t *gate);
/// @brief Close the gate: later waits block until it opens again.
void ws_gate_close(ws_gate_t *gate);
bool ws_gate_is_open(const ws_gate_t *gate);
/// @brief Wait until the gate is open, or has been open at some time during the call. @return 0, -ECANCELED
int ws_gate_wait(ws_gate_t *gate);
/// @return 0, -ETIMEDOUT, -ECANCELED
int ws_gate_wait_until(ws_gate_t *gate, uint64_t deadline_ns);

/// @brief Wait for @p ns nanoseconds. @return 0 when they are over; -ECANCELED
int ws_sleep_ns(uint64_t ns);
/// @brief Wait until @p at_ns of CLOCK_MONOTONIC. @return as ws_sleep_ns()
int ws_sleep_until(uint64_t at_ns);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
