// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_hooks.h
/// Calls that the patches put into OAI's code (openair1_patches): a phase of the uplink begins or ends, tasks
/// come soon. Plain C without any other header. The compiler includes it before the first line of a patched
/// file; after a system header the file's own definition of _GNU_SOURCE would come too late.
#ifndef WS_TPOOL_HOOKS_H
#define WS_TPOOL_HOOKS_H

#ifdef __cplusplus
extern "C" {
#endif

/// Phases, as in ws_trace_slot.h.
enum { WS_OAI_SYMBOLS, WS_OAI_DECODING };

/// @brief The calling thread begins a phase: ws_trace_phase_begin(). Until its end further begins in the same
/// slot are events, not phases of their own.
/// @param id  of the user, as OAI counts them
/// @threads   any; a phase begins and ends in one thread
/// @progress  as ws_trace_phase_begin()
void ws_oai_phase_begin(int phase, unsigned frame, unsigned slot, unsigned id);

/// @brief End the phase: ws_trace_phase_end(). Without a begin nothing happens.
/// @threads   @progress  as ws_oai_phase_begin()
void ws_oai_phase_end(int phase);

/// @brief The calling thread is about to push to a pool: have workers awake by then.
/// Nothing happens if the pool has no threads or is closed, if the user has switched pre-wake off, or unless
/// the thread's next push used to come 2 to 100 us after this place (ws_tpool_lead.h). If the push comes
/// later, the worker would spin without work for too long. If it comes sooner, the push can wake the worker
/// itself. In a slot without traffic there is no push, and the place must be learnt anew.
/// @param tpool    points to OAI's tpool_t, which may not be initialised yet if it is zero; NULL = nothing
/// @param workers  wanted awake
/// @threads   any
/// @progress  lock-free; a futex call for each worker that it wakes
void ws_oai_prewake(void *tpool, unsigned workers);

#ifdef __cplusplus
}
#endif
#endif
