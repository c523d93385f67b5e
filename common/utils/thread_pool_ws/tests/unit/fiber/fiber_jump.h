// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_jump.h
/// A clock of the test's own jumps by an hour, and the thread for time limits notices the jump.
#ifndef FIBER_JUMP_H
#define FIBER_JUMP_H

#include "../../../fiber/ws_fiber_process.h"
#include "../../../os/ws_os.h"

#define HOUR_NS UINT64_C(3600000000000)

static ws_au64_t jumped_ns; ///< the sum of all jumps

/// An hour passes.
static inline void jump(void)
{
  ws_add_acq_rel(&jumped_ns, HOUR_NS);
  ws_add_relaxed(&ws_fiber_process.alarm_changed, 1);
  ws_os_futex_wake(&ws_fiber_process.alarm_changed, 1);
}

#endif
