// SPDX-License-Identifier: BSD-3-Clause
/// @file fiber_clock.h
/// The machine's clock, with jumps by an hour. For programs linked with --wrap=ws_os_now_ns and
/// --wrap=ws_os_futex_wait_until.
#ifndef FIBER_CLOCK_H
#define FIBER_CLOCK_H

#include <errno.h>

#include "../../support/ws_seam.h"
#include "fiber_jump.h"

static _Thread_local bool looks_often; ///< this thread's sleeps notice a jump, too

static uint64_t ws_os_now_ns_seam(void)
{
  return __real_ws_os_now_ns() + ws_load_acquire(&jumped_ns);
}

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  const uint64_t jumped = ws_load_acquire(&jumped_ns);
  if (deadline_ns == 0)
    return __real_ws_os_futex_wait_until(word, expected, 0);
  if (deadline_ns <= jumped)
    return -ETIMEDOUT;
  if (!looks_often)
    return __real_ws_os_futex_wait_until(word, expected, deadline_ns - jumped);
  __real_ws_os_futex_wait_until(word, expected, __real_ws_os_now_ns() + 1000000);
  return ws_os_now_ns_seam() >= deadline_ns ? -ETIMEDOUT : 0;
}

static inline void clock_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
}

#endif
