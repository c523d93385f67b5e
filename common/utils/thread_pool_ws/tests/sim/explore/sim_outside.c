// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_outside.c
/// What other programs and the operator do meanwhile.
#include "sim_libc.h"
#include "sim_mask.h"
#include "sim_play.h"
#include "sim_strand.h"

static void set_mask(sim_thread_t *thread, uint64_t mask, sim_ps_t now_ps)
{
  if (sim_is_hog(thread) || thread->state == SIM_ENDED)
    return;
  sim_mask_tell(thread, mask);
  thread->allowed[0] = mask;
  sim_thread_settle(thread, now_ps);
}

static void change_masks(void *outside_arg, sim_ps_t now_ps)
{
  const sim_outside_t *outside = outside_arg;
  if (outside->kind == SIM_EVENT_MASK_ONE) {
    set_mask(sim_thread[outside->thread % sim_threads], outside->mask, now_ps);
    return;
  }
  for (uint32_t i = 0; i < sim_threads; i++)
    set_mask(sim_thread[i], outside->mask, now_ps);
}

static void count_throttled(void *unused, sim_ps_t now_ps)
{
  (void)unused;
  (void)now_ps;
  sim_throttled++;
}

static void begin(const sim_outside_t *outside)
{
  const sim_ps_t at_ps = SIM_PS_PER_S + (sim_ps_t)(outside->at_us * 1e6);
  const sim_ps_t length_ps = (sim_ps_t)(outside->length_us * 1e6);
  if (outside->kind == SIM_EVENT_HOG)
    sim_fault_hog(outside->cpu, at_ps, length_ps);
  for (uint32_t cpu = 0; cpu < sim_machine.cpus && outside->kind == SIM_EVENT_THROTTLE; cpu++)
    sim_fault_hog(cpu, at_ps, length_ps);
  if (outside->kind != SIM_EVENT_HOG)
    sim_event_add((sim_event_t){.at_ps = at_ps,
                                .kind = SIM_EVENT_CALL,
                                .call = outside->kind == SIM_EVENT_THROTTLE ? count_throttled : change_masks,
                                .arg = (void *)(uintptr_t)outside});
}

void sim_outside_begin(void)
{
  for (uint32_t i = 0; i < sim_scene->outsides; i++)
    begin(&sim_scene->outside[i]);
}
