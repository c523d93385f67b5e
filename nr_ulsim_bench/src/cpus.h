// SPDX-License-Identifier: BSD-3-Clause
/// @file cpus.h
/// The CPUs that this process may use.
#ifndef BENCH_CPUS_H
#define BENCH_CPUS_H

#include <sched.h> // IWYU pragma: export
#include <stdbool.h>
#include <stdint.h>

/// @return the mask of the calling thread
static inline cpu_set_t cpus_mask(void)
{
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  return mask;
}

static inline uint32_t cpus_count(void)
{
  const cpu_set_t mask = cpus_mask();
  return (uint32_t)CPU_COUNT(&mask);
}

/// @return number @p index of these CPUs, counted from 0, modulo their number
static inline uint32_t cpus_nth(const cpu_set_t *cpus, uint32_t index)
{
  uint32_t left = index % (uint32_t)CPU_COUNT(cpus), cpu = 0;
  while (!CPU_ISSET(cpu, cpus) || left-- > 0)
    cpu++;
  return cpu;
}

/// @brief Pin a thread, 0 = the calling one. @return false with errno set
static inline bool cpus_pin(pid_t thread, uint32_t cpu)
{
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  return sched_setaffinity(thread, sizeof only, &only) == 0;
}

#endif
