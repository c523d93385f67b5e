// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_trace.h
/// Phases of a slot in a trace: the caller of the pool tells what the tasks between two moments are for.
///
/// The pool traces what it does itself (docs/tracing.md lists all events); these calls add what it cannot
/// know. Without tracing compiled in they do next to nothing.
#ifndef WS_TRACE_H
#define WS_TRACE_H

#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// What a phase is.
typedef enum {
  WS_TRACE_SYMBOL_PROCESSING, ///< PUSCH inner receiver, one task a symbol: 3GPP TS 38.211, clause 6.3.1
  WS_TRACE_ULSCH_DECODING,    ///< LDPC decoding, one task a segment: 3GPP TS 38.212, clauses 5.2.2 and 5.3.2
} ws_trace_phase_t;

/// Number of different phases.
#define WS_TRACE_PHASES 2

/// @brief The calling thread begins a phase: event symbol_processing_begin or ulsch_decoding_begin.
/// A second begin before the end (several transport blocks that are decoded together) is an event too, but
/// the phase has begun with the first. In another slot it begins a new one: the old has lost its end.
/// A thread has one phase of a kind at a time; so a task that it runs while it waits in one must not tell
/// another.
/// @param phase  one of the above; any other value: nothing happens
/// @param frame  system frame number
/// @param slot   slot in the frame
/// @param id     of the user or transport block, as the caller counts them
/// @threads   any; a phase begins and ends in one thread
/// @progress  wait-free, no system call; about 0.1 us while a session records, else about 1 ns
void ws_trace_phase_begin(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id);

/// @brief It ends: event symbol_processing_end or ulsch_decoding_end, with frame, slot and id of its first
/// begin and the number of tasks that the thread has pushed since then, to all pools. Without a begin
/// nothing happens.
/// @threads   @progress   as ws_trace_phase_begin()
void ws_trace_phase_end(ws_trace_phase_t phase);

/// @brief Call func(arg), with the events of a task that is pushed and run at once, by no pool: pool 0.
/// Without a function nothing happens.
/// For a program without a pool, or with a closed one, that runs the tasks itself.
/// @threads   any
/// @progress  func's; beside it as ws_trace_phase_begin(), three events
void ws_trace_run(void (*func)(void *arg), void *arg);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
