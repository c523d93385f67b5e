// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_spin.h
/// How long an idle worker looks for work before it sleeps.
#ifndef WS_SPIN_H
#define WS_SPIN_H

#include "../pool/ws_types.h"

/// @brief The worker has run out of work, @p ran = it had some. Look for more, for a bounded time.
/// @return whether there is some
bool ws_spin(ws_worker_t *worker, bool ran);

/// @brief The worker has found work after a search: learn how long it was without.
void ws_spin_found(ws_worker_t *worker);

#endif
