// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_skip.h
/// Tasks that learn when they are skipped: with a key, and those in blocks (ws_block.h). The core runs their
/// functions like others; if it aborts, it looks for what to call in their place in pool->skips.
#ifndef WS_SKIP_H
#define WS_SKIP_H

#include "../pool/ws_types.h"

/// The list of a pool.
extern const ws_skip_t ws_skips;

#endif
