// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_burst.h
/// The function that takes events for the rings, and sees bursts and phases begin and end.
///
/// A burst (docs/glossary.md) begins with the first push of a thread that is in no task and no phase. It ends
/// when the thread has waited for the group that it pushed last, or for the pool.
#ifndef WS_BURST_H
#define WS_BURST_H

#include <stdint.h>

#include "../trace/ws_probe.h"

/// @brief ws_provider_t.note
void ws_burst_note(const struct ws_pool_s *pool, ws_note_t kind, uint32_t small, uint64_t address,
                   uintptr_t func);

#endif
