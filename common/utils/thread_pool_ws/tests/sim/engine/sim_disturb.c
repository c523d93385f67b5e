// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_disturb.c
/// What takes time from running threads: sim_thread.h.
#include <math.h>
#include <stdbool.h>

#include "sim_libc.h"
#include "sim_random.h"

#define PERIOD_PS (100 * SIM_PS_PER_MS)

sim_ps_t sim_detour_at_ps = INT64_MAX;
sim_ps_t sim_quota_left_ps = INT64_MAX;

static struct {
  sim_ps_t detour_at_ps[SIM_CPUS_MAX];
  sim_ps_t period_ends_ps;
  sim_ps_t throttled_until_ps; ///< all of the group stand still until then
} now;

static sim_ps_t quota_ps(void)
{
  return sim_machine.quota_cpus > 0 ? (sim_ps_t)(sim_machine.quota_cpus * (double)PERIOD_PS) : INT64_MAX;
}

void sim_disturb_reset(void)
{
  for (uint32_t cpu = 0; cpu < SIM_CPUS_MAX; cpu++)
    now.detour_at_ps[cpu] = sim_machine.detours_per_s > 0 ? 0 : INT64_MAX;
  now.period_ends_ps = now.throttled_until_ps = 0;
  sim_quota_left_ps = quota_ps();
}

void sim_disturb_set_quota(double cpus)
{
  sim_machine.quota_cpus = cpus;
  sim_quota_left_ps = quota_ps();
}

/// Each thread wakes for it, and after it.
void sim_disturb_stop(sim_ps_t length_ps)
{
  now.throttled_until_ps = sim_self->now_ps + length_ps;
  for (uint32_t i = 0; i < sim_threads; i++)
    sim_thread[i]->sleeps += 1 + (sim_thread[i]->state == SIM_ASLEEP);
}

/// They come by chance: how long ago the last one was does not matter.
static sim_ps_t next_after(sim_ps_t ps)
{
  return ps + (sim_ps_t)(-log(1 - sim_random_unit()) * 1e12 / sim_machine.detours_per_s);
}

/// Those of the time in which no thread of the group had the CPU.
static void skip_detours(sim_ps_t *at_ps)
{
  if (*at_ps < sim_self->now_ps)
    *at_ps = next_after(sim_self->now_ps);
}

static void begin_period(void)
{
  now.period_ends_ps = (sim_self->now_ps / PERIOD_PS + 1) * PERIOD_PS;
  sim_quota_left_ps = quota_ps();
}

void sim_disturb_begins(void)
{
  sim_ps_t *at_ps = &now.detour_at_ps[sim_self->cpu];
  if (sim_self->now_ps < now.throttled_until_ps)
    sim_self->now_ps = now.throttled_until_ps;
  if (sim_machine.quota_cpus > 0 && sim_self->now_ps >= now.period_ends_ps)
    begin_period();
  skip_detours(at_ps);
  sim_detour_at_ps = sim_self->cold_ps > 0 ? 0 : *at_ps;
}

static void throttle(void)
{
  if (sim_self->now_ps < now.period_ends_ps) {
    sim_throttled++;
    sim_self->now_ps = now.throttled_until_ps = now.period_ends_ps;
  }
  begin_period();
}

void sim_disturb(void)
{
  sim_ps_t *at_ps = &now.detour_at_ps[sim_self->cpu];
  if (sim_quota_left_ps <= 0) {
    throttle();
    skip_detours(at_ps);
  }
  sim_charge(sim_self->cold_ps);
  sim_self->cold_ps = 0;
  while (sim_self->now_ps >= *at_ps) {
    const sim_ps_t length_ps = sim_spread_draw(&sim_machine.detour);
    sim_charge(length_ps);
    *at_ps = next_after(*at_ps + length_ps);
  }
  sim_detour_at_ps = *at_ps;
}

bool sim_disturb_throttles(sim_ps_t now_ps)
{
  return now_ps < now.throttled_until_ps;
}

sim_ps_t sim_disturb_goes_on(sim_ps_t now_ps)
{
  return sim_disturb_throttles(now_ps) ? now.throttled_until_ps : now_ps;
}
