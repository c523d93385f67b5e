// SPDX-License-Identifier: BSD-3-Clause
/// @file test_clock.c
/// The rate of the rings' clock, when a thread is preempted in any of the reads that give it.
#include "../../../record/ws_clock.h"
#include "../../support/ws_seam.h"

static uint32_t reads, preempted_at;

static uint64_t ws_os_now_ns_seam(void)
{
  if (++reads == preempted_at)
    test_sleep_ms(4);
  return __real_ws_os_now_ns();
}

static double rate(uint32_t at)
{
  reads = 0;
  preempted_at = at;
  ws_clock_begin();
  return ws_clock.ns_a_tick;
}

TEST_CASE(a_preemption_does_not_change_the_rate)
{
  const double usual = rate(0);
  TEST_SKIP_IF(usual == 0, "the CPU's counter is not used here");
  const uint32_t last = reads;
  for (uint32_t at = 1; at <= last; at++) {
    const double other = rate(at) / usual; // two pairs of 20 us each at most, in 4 ms
    CU_ASSERT_TRUE(other > 0.98 && other < 1.02);
  }
}

TEST_MAIN_SEAMS("clock", SEAM(ws_os_now_ns))
