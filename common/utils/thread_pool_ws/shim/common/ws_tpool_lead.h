// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_lead.h
/// Some places in OAI announce tasks, knowingly or not, a while before they push. PUSCH channel estimation
/// arms an answer, with a single antenna computes itself, and symbol processing pushes its tasks 30 us later;
/// patched code says that a slot comes (ws_tpool_hooks.h). Which places do so early enough to wake a worker,
/// and not so early that it would look in vain for most of its time, is learnt.
#ifndef WS_TPOOL_LEAD_H
#define WS_TPOOL_LEAD_H

#include "ws_tpool.h"

/// @brief The calling thread is at @p site, a code address: wake @p workers if its pushes used to follow soon
/// enough for that, in the pool where they went, unless its pre-wake is off.
void ws_tpool_lead_arm(const void *site, uint32_t workers);

/// @brief The calling thread pushes to @p tpool: the sites where it was since its last push have led to this.
void ws_tpool_lead_push(ws_tpool_t *tpool);

#endif
