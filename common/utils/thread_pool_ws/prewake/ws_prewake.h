// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake.h
/// Life of a task, step 9, before the next burst: pre-wake has workers awake when it comes. Before:
/// ws_idle.h; after: ws_push.c. A plug-in: the other rooms call the events below and use nothing else of it.
/// ws_prewake_null.c links in its place. docs/prewake.md explains the method.
///
///   a push after a pause     ws_prewake_arrived       notes when the burst came
///   a hint after a pause     ws_prewake_announced     does so in the push's place
///   a worker out of work     ws_prewake_out_of_work   teaches the predictor, learns how late the worker was
///   a worker that parks      ws_prewake_plan          returns the time of its timer wake
///   a worker that is awake   ws_prewake_woken         learns how long that took
///
/// No wake depends on pre-wake: a push wakes a worker where none is awake, whatever was predicted.
#ifndef WS_PREWAKE_H
#define WS_PREWAKE_H

#include "../pool/ws_types.h"

/// Size of the state that pre-wake keeps for a pool (pool->prewake) and for a worker (worker->prewake). The
/// creator of the pool provides the memory, zeroed.
extern const size_t ws_prewake_pool_bytes, ws_prewake_worker_bytes;

/// @brief Work has come at @p now_ns (0 = read the clock). If pool->quiet is set, clear it; and unless a hint
/// has announced the work, or it belongs to the burst before, note that time as the burst's arrival.
/// @threads  any
void ws_prewake_arrived(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief A hint has announced a burst that may come at once. If pool->quiet is not set, nothing happens.
/// Else the hint, or an earlier one of that burst, counts as the arrival, because it wakes workers. The next
/// push until @p until_ns belongs to the same burst.
/// @threads  any
void ws_prewake_announced(struct ws_pool_s *pool, uint64_t now_ns, uint64_t until_ns);

/// @brief A worker has been idle for some time. If that is a pause of the pool, set pool->quiet: the next
/// push is the first after it. Else a push would read the clock without effect: a burst has just come, and is
/// handed to other workers.
/// @return when to call again; UINT64_MAX = not again in this spin
uint64_t ws_prewake_idle(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief The worker has found work at @p now_ns, or will wait for a dispatcher: learn how long it was
/// without work. After more than spin_ns_max it is a taker of a new burst, maybe the first one.
/// @param called_ns  when another thread has called it since it ran out of work; 0 = it found its task when
/// that came
void ws_prewake_found(ws_worker_t *worker, uint64_t now_ns, uint64_t called_ns);

/// @brief The worker comes from a task, and has taken another one that had to wait for it.
/// @threads  the worker
void ws_prewake_took_more(ws_worker_t *worker);

/// @brief The worker, which has run tasks, is out of work at @p now_ns. Learn from the last burst, if it is
/// new. @return until when it should spin
uint64_t ws_prewake_out_of_work(ws_worker_t *worker, uint64_t now_ns);

/// @brief The worker goes to sleep at @p slept_ns: learn from the last burst, if that was not done, and plan
/// a timer wake. With a timer it counts as armed until that is disarmed. Sets pool->quiet: the next push
/// looks whether it is the first after a pause.
/// @return when the timer is to fire; 0 = no timer
uint64_t ws_prewake_plan(ws_worker_t *worker, uint64_t slept_ns);

/// @brief The worker does not use its timer any more: another worker may.
void ws_prewake_disarm(ws_worker_t *worker);

/// @brief The worker is awake at @p rose_ns: it does not use its timer any more.
/// @param by  WS_WAKE_TIMER, or WS_WAKE_PUSH for all else
/// @param called_ns  when another thread called it; 0 = none did: without a timer no wake time is learnt
/// @return until when it should spin
uint64_t ws_prewake_woken(ws_worker_t *worker, ws_wake_by_t by, uint64_t rose_ns, uint64_t called_ns);

/// @brief A hint has announced a burst at @p at_ns: workers that park may set a timer for it.
/// @threads  any
void ws_prewake_expect(struct ws_pool_s *pool, uint64_t at_ns);

/// @brief The control group's quota was used up: lower the level by one, at once. The level rises after
/// @p span_ns without trouble. If there was trouble lately, it rises after twice the last such time, at most
/// 16 times @p span_ns.
/// @threads  the guard
void ws_prewake_throttled(struct ws_pool_s *pool, uint64_t span_ns);

/// @return workers with a timer
uint32_t ws_prewake_armed(const struct ws_pool_s *pool);

/// @return time from the call to a worker's first instruction, a median; 0 = not known yet
uint64_t ws_prewake_waking_ns(const struct ws_pool_s *pool);

#endif
