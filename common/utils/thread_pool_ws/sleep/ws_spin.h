// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_spin.h
/// How long an idle worker spins before it sleeps.
#ifndef WS_SPIN_H
#define WS_SPIN_H

#include "../pool/ws_types.h"

/// @brief Spin for a bounded time until there is work. @p ran = the worker had work before.
/// @return whether there is work
bool ws_spin(ws_worker_t *worker, bool ran);

/// @brief The worker has found work after a search: learn how long it was without work.
void ws_spin_found(ws_worker_t *worker);

#endif
