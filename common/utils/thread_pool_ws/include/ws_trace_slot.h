// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_trace_slot.h
/// Phases of a slot of OpenAirInterface in a trace. The program marks where a phase begins and ends; the
/// tasks pushed in between belong to it. Used by OAI's interfaces (shim/) and by models of OAI. What any
/// program can record is in ws_trace.h. The first call of ws_trace_phase_begin() reads TPOOL_WS_TRACE, as
/// that of ws_trace_run() does.
#ifndef WS_TRACE_SLOT_H
#define WS_TRACE_SLOT_H

#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// Kind of a phase.
typedef enum {
  WS_TRACE_SYMBOL_PROCESSING, ///< PUSCH inner receiver, one task a symbol: 3GPP TS 38.211, clause 6.3.1
  WS_TRACE_ULSCH_DECODING, ///< LDPC decoding, one task a segment: 3GPP TS 38.212, clauses 5.2.2 and 5.3.2
} ws_trace_phase_t;

/// Number of kinds.
#define WS_TRACE_PHASES 2

/// @brief Begin a phase of the calling thread: event symbol_processing_begin or ulsch_decoding_begin.
/// A thread has one phase of a kind at a time. A second begin before the end is recorded as an event, too:
/// - in the same slot (several transport blocks that are decoded together) the phase goes on;
/// - in another slot a new phase begins: the end of the old one is missing.
/// While a thread waits in a phase, the tasks that it runs must not begin a phase of the same kind.
/// @param phase  one of the above; other values are ignored
/// @param frame  system frame number
/// @param slot   slot in the frame
/// @param id     number of the user or transport block, chosen by the caller
/// @threads   any; a phase begins and ends in one thread
/// @progress  wait-free, but for the first call in the process and in a thread; no system call, about 0.1 us
///            while a session records, else about 1 ns. Once a pool of the process has a deadline, a record
///            or a report: two system calls, about 1 us, in the first begin of a phase outside tasks
void ws_trace_phase_begin(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id);

/// @brief End the phase: event symbol_processing_end or ulsch_decoding_end, with frame, slot and id of the
/// phase's first begin, and the number of tasks that the thread has pushed since then to all pools. Without a
/// begin nothing happens.
/// @threads   @progress   as ws_trace_phase_begin()
void ws_trace_phase_end(ws_trace_phase_t phase);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
