// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_lead.h
/// Some places in OAI's code are always passed a while before a push. PUSCH channel estimation arms an answer
/// and, with a single antenna, computes itself; symbol processing pushes its tasks 30 us later. Patched code
/// gives a hint before a slot (ws_tpool_hooks.h). The shim learns which of these places come early enough to
/// wake a worker, but not so early that the worker would mostly spin without work.
#ifndef WS_TPOOL_LEAD_H
#define WS_TPOOL_LEAD_H

#include <stdint.h>

#include "ws_tpool.h" // IWYU pragma: export

/// @brief The calling thread is at this code address. If its pushes used to follow at the right time,
/// wake @p workers in the pool to which they went, unless that pool's pre-wake is off.
void ws_tpool_lead_arm(const void *address, uint32_t workers);

/// @brief The calling thread pushes to @p tpool: the sites where it was since its last push have led to this.
void ws_tpool_lead_push(ws_tpool_t *tpool);

#endif
