// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_work.c
/// sim_work.h.
#include "sim_work.h"

#include "sim_libc.h"

/// @return whether another CPU of the core is busy
static bool shares_core(void)
{
  const uint32_t smt = sim_machine.smt, first = sim_self->cpu / smt * smt;
  for (uint32_t cpu = first; cpu < first + smt && cpu < sim_machine.cpus; cpu++)
    if (cpu != sim_self->cpu && sim_cpu[cpu].current)
      return true;
  return false;
}

void sim_work(sim_ps_t ps)
{
  if (sim_machine.smt > 1 && shares_core())
    ps = (sim_ps_t)((double)ps * sim_machine.smt_slowdown);
  sim_step(ps);
}

void sim_sleep_until(sim_ps_t until_ps)
{
  static const uint32_t never = 0;
  while (sim_self->now_ps < until_ps)
    sim_futex_wait(&never, 0, until_ps);
}
