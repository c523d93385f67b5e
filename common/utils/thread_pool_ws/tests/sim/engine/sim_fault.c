// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_fault.c
/// sim_fault.h.
#include "sim_fault.h"

#include <math.h>
#include <string.h>

#include "sim_random.h"

#define CHANGES_MAX 8u

sim_fault_t sim_fault;
uint32_t sim_stalled;
bool sim_fault_on;

static struct {
  uint64_t step;
  uint64_t change_at[CHANGES_MAX];
  uint32_t speeds; ///< handed out
} now;

void sim_fault_begin(const sim_fault_t *fault)
{
  sim_fault = *fault;
  memset(&now, 0, sizeof(now));
  for (uint32_t i = 0; i < fault->changes && i < CHANGES_MAX; i++)
    now.change_at[i] = 1 + sim_random_below(fault->steps);
  sim_stalled = 0;
  sim_fault_on = fault->order != SIM_ORDER_COSTS || fault->stall_share > 0 || fault->stall_at > 0;
}

bool sim_fault_happens(double share)
{
  return share > 0 && sim_random_unit() < share;
}

bool sim_fault_refuses(void)
{
  if (sim_fault.refused > 0 && sim_fault.granted == 0) {
    sim_fault.refused--;
    return true;
  }
  sim_fault.granted -= sim_fault.granted > 0;
  return sim_fault_happens(sim_fault.create_share);
}

/// Mostly a few nanoseconds, now and then as long as a wake takes.
static sim_ps_t random_step_ps(void)
{
  const uint64_t random = sim_random();
  const uint32_t kind = (uint32_t)(random >> 48) & 255;
  const sim_ps_t ps = (sim_ps_t)(random & 0x3fff);
  return kind == 0 ? ps * 1024 : kind < 8 ? ps * 64 : ps;
}

/// The i-th thread is slower than the one before it.
static sim_ps_t speed_ps(void)
{
  static const sim_ps_t steps_ps[] = {0, 20000, 300000, 4000, 1000000, 100000};
  return steps_ps[now.speeds++ % (sizeof(steps_ps) / sizeof(steps_ps[0]))];
}

static sim_ps_t pct_step_ps(void)
{
  if (sim_self->slow_ps == 0)
    sim_self->slow_ps = speed_ps() + 1;
  for (uint32_t i = 0; i < CHANGES_MAX && now.change_at[i]; i++)
    if (now.change_at[i] == now.step)
      sim_self->slow_ps = 2 * SIM_PS_PER_US * (1 + (sim_ps_t)i);
  return sim_self->slow_ps + (sim_ps_t)(sim_random() & 0xfff);
}

static sim_ps_t log_uniform_ps(double us_min, double us_max)
{
  return (sim_ps_t)(us_min * pow(us_max / us_min, sim_random_unit()) * 1e6);
}

/// The thread stands still, and its CPU with it.
static void stall(sim_ps_t ps)
{
  if (sim_self->generation != sim_generation)
    sim_await_cpu();
  sim_self->stalled = true;
  sim_stalled++;
  sim_self->now_ps += ps;
  sim_yield();
  sim_self->stalled = false;
  sim_stalled--;
}

void sim_fault_stall_later(sim_thread_t *thread, uint32_t steps, sim_ps_t ps)
{
  thread->stall_in = steps;
  thread->stall_ps = ps;
  sim_fault_on = true;
}

sim_ps_t sim_fault_draw(void)
{
  now.step++;
  if (sim_self->stall_in > 0 && --sim_self->stall_in == 0)
    stall(sim_self->stall_ps);
  if (now.step == sim_fault.stall_at)
    stall((sim_ps_t)(sim_fault.starve_us * 1e6));
  else if (sim_fault_happens(sim_fault.stall_share))
    stall(log_uniform_ps(sim_fault.stall_us_min, sim_fault.stall_us_max));
  return sim_fault.order == SIM_ORDER_RANDOM ? random_step_ps()
         : sim_fault.order == SIM_ORDER_PCT  ? pct_step_ps()
                                             : 0;
}

static void *burn(void *arg)
{
  const sim_ps_t length_ps = (sim_ps_t)(intptr_t)arg;
  sim_step(length_ps);
  return NULL;
}

/// A thread of the highest priority, that may use that CPU only.
void sim_fault_hog(uint32_t cpu, sim_ps_t at_ps, sim_ps_t length_ps)
{
  sim_thread_t like = {.class = SIM_REALTIME, .priority = 99, .cpu = cpu};
  like.allowed[cpu / 64] = UINT64_C(1) << (cpu % 64);
  sim_thread_new(&like, burn, (void *)(intptr_t)length_ps, at_ps);
}
