// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_speed.h
/// Which CPUs are slow: on machines with unlike cores (Arm big.LITTLE, Intel's E cores, AMD's dense cores).
/// Fast CPUs are used first: workers near the producer are those on fast ones (ws_near.h), floating workers
/// sleep there (ws_place.h), and pin_step takes them first. Where all CPUs are alike nothing changes.
#ifndef WS_SPEED_H
#define WS_SPEED_H

#include "ws_types.h"

/// @brief Read from the system which CPUs of @p mask have less than 80 % of the speed of the fastest one. If
/// unknown, none has.
/// @source cpu_capacity, else cpufreq's highest frequency, else, where CPUs have no frequency, ACPI's highest
///         performance: the first that every CPU has and that differs. Else Intel's list of E cores
void ws_speed_read(const ws_cpuset_t *mask, ws_speed_t *speed);

static inline bool ws_speed_is_slow(const ws_speed_t *speed, int32_t cpu)
{
  return speed->fast > 0 && cpu >= 0 && cpu < (int32_t)WS_CPUS_MAX
         && ((speed->slow[(uint32_t)cpu / WS_SPEED_BITS] >> ((uint32_t)cpu % WS_SPEED_BITS)) & 1);
}

#endif
