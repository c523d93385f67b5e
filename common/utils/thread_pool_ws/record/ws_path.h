// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_path.h
/// Why a burst or phase was late. Its critical path is the chain of tasks and waits that ended last, found in
/// the rings. What of it took longer than usual has a cause, and what the path does not explain, too.
/// @threads  the scribe's
#ifndef WS_PATH_H
#define WS_PATH_H

#include "ws_late.h" // IWYU pragma: export

/// @brief Find the causes: sets the scribe's fields of the burst, which are 0 before, but was_stopped and
/// has_quota, which it reads. The sum of the parts is never 0. Takes time in proportion to the events of the
/// burst, and of its threads since their last notes before it (ws_lack.h).
void ws_path_blame(ws_late_burst_t *burst);

#endif
