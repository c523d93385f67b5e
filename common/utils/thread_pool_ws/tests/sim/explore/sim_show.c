// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_show.c
/// A scenario in words.
#include <stdarg.h>
#include <stdio.h>

#include "sim_scenario.h"

/// A text that holds under a condition, mostly with a number.
__attribute__((format(printf, 2, 3))) static void show_if(bool is, const char *format, ...)
{
  va_list list;
  va_start(list, format);
  if (is)
    vprintf(format, list);
  va_end(list);
}

static void show_machine(const sim_machine_t *machine)
{
  printf("machine   %u CPUs, %u a core, %u a node", machine->cpus, machine->smt, machine->node_cpus);
  show_if(machine->quota_cpus > 0, ", quota %.1f CPUs", machine->quota_cpus);
  printf("; modify %.0f ns, line %.0f ns, fence %.0f ns, pause %.0f ns, call %.0f ns, switch %.0f ns, wake "
         "%.1f us\n",
         machine->modify_ns, machine->llc_ns, machine->fence_ns, machine->pause_ns, machine->syscall_ns,
         machine->switch_ns, machine->wake.spread[0].ns[2] / 1000);
}

static void show_share(const char *what, double share)
{
  show_if(share > 0, "; %s %.3f %%", what, share * 100);
}

static void show_fault(const sim_fault_t *fault)
{
  static const char *const orders[] = {"by costs", "random", "unlike speeds (PCT)"};
  printf("order     %s", orders[fault->order]);
  show_if(fault->order == SIM_ORDER_PCT, ", %u changes in %llu steps", fault->changes,
          (unsigned long long)fault->steps);
  show_if(fault->stall_share > 0, "; %.4f %% of steps stop for %.0f to %.0f us", fault->stall_share * 100,
          fault->stall_us_min, fault->stall_us_max);
  show_if(fault->stall_at > 0, "; step %llu stops for %.0f us", (unsigned long long)fault->stall_at,
          fault->starve_us);
  show_share("futex waits that end by themselves", fault->spurious_share);
  show_share("late timers", fault->late_share);
  show_share("threads that cannot be created", fault->create_share);
  show_share("mappings that fail", fault->map_share);
  printf("\n");
}

static const char *const spins[] = {"off", "fixed", "auto", "hot"};

static void show_pool(const sim_pool_plan_t *pool, uint32_t index, bool shimmed)
{
  static const char *const classes[] = {"its maker's class", "class OTHER", "class RR", "class FIFO"};
  static const char *const full[] = {"grows", "runs inline", "fails"};
  printf("pool %u    %u workers, %s, priority %d", index, pool->workers, classes[pool->class],
         pool->priority);
  show_if(pool->confined, ", made by a thread on CPU 0");
  for (uint32_t i = 0; i < pool->workers && pool->pinned; i++)
    printf("%s%d", i == 0 ? ", on CPUs " : " ", pool->core[i]);
  printf("; queues of %u, %u lanes, a full one %s", pool->capacity, pool->lanes, full[pool->full]);
  show_if(pool->fifo, ", oldest first");
  printf("; spin %s (lead %.0f us, looks %.0f us, joins %.0f us)", spins[pool->spin], pool->lead_us,
         pool->spin_us, pool->join_spin_us);
  show_if(pool->host_threads, ", the host's threads");
  show_if(pool->no_guard, ", no guard");
  show_if(pool->aborts, shimmed ? ", aborted by two threads" : ", aborted at its end");
  show_if(pool->late_us > 0, ", made after %.0f us", pool->late_us);
  printf("\n");
}

static void show_burst(const sim_burst_t *burst)
{
  static const char *const kinds[] = {
      "computes",      "pushes and joins",        "pushes", "sleeps", "blocks",
      "crosses pools", "waits for the one before"};
  static const char *const ends[] = {"waits for the group", "waits for a tagged group", "awaits an event",
                                     "waits for the pool", "does not wait"};
  static const char *const bys[] = {"push", "batch", "try"};
  static const char *const hints[] = {"", ", prewake", ", prewake_at", ", phase"};
  printf("%u tasks to pool %u (%s), %s%s; one in %u %s, %.1f us", burst->count, burst->pool, bys[burst->by],
         ends[burst->end], hints[burst->hint], burst->every, kinds[burst->kind], burst->work_us);
  show_if(burst->depth > 0, ", depth %u, %u each, the innermost: one %s", burst->depth, burst->fan,
          kinds[burst->leaf]);
  show_if(burst->cover > 0, "; %u tasks without a group on top", burst->cover);
  show_if(burst->earlier > 0, "; it waits for %u pushed before", burst->earlier);
  show_if(burst->repeat > 1, "; %u times, each %.0f us", burst->repeat, burst->period_us);
  printf("\n");
}

static void show_actor(const sim_actor_t *actor, uint32_t index)
{
  printf("thread %u  begins after %.0f us\n", index, actor->start_us);
  for (uint32_t i = 0; i < actor->actions; i++) {
    const sim_action_t *action = &actor->action[i];
    show_if(action->stops_look > 0, "  while the guard is stopped in look %u from here,", action->stops_look);
    printf("  after %.0f us: ", action->pause_us);
    if (action->sets_spin)
      printf("pool %u spins: %s\n", action->burst.pool, spins[action->spin]);
    else
      show_burst(&action->burst);
  }
}

static void show_outside(const sim_outside_t *outside)
{
  printf("outside   at %.0f us: ", outside->at_us);
  if (outside->kind == SIM_EVENT_HOG)
    printf("CPU %u is taken for %.0f us\n", outside->cpu, outside->length_us);
  else if (outside->kind == SIM_EVENT_THROTTLE)
    printf("all CPUs are taken for %.0f us\n", outside->length_us);
  else if (outside->kind == SIM_EVENT_MASK_ONE)
    printf("thread %u may use the CPUs %llx\n", outside->thread, (unsigned long long)outside->mask);
  else
    printf("all threads may use the CPUs %llx\n", (unsigned long long)outside->mask);
}

void sim_scenario_show(const sim_scenario_t *scenario)
{
  static const char *const shapes[] = {"", ", the shim of shape A", ", the shim of shape B1",
                                       ", the shim of shape B2"};
  printf("seed      %llu%s\n", (unsigned long long)scenario->seed, shapes[scenario->shape]);
  show_machine(&scenario->machine);
  show_fault(&scenario->fault);
  for (uint32_t i = 0; i < scenario->pools; i++)
    show_pool(&scenario->pool[i], i, scenario->shape != SIM_SHAPE_CORE);
  for (uint32_t i = 0; i < scenario->actors; i++)
    show_actor(&scenario->actor[i], i);
  for (uint32_t i = 0; i < scenario->outsides; i++)
    show_outside(&scenario->outside[i]);
  const char *left = scenario->shape == SIM_SHAPE_CORE ? "destroyed without a stop" : "never stopped";
  printf("end       %s", scenario->destroys ? left : "stopped");
  show_if(scenario->stops_early, " while threads push, after %.0f us", scenario->stop_us);
  show_if(scenario->stops_backwards, ", last pool first");
  show_if(scenario->looks_quiet, ", looked at when quiet");
  show_if(scenario->prioritized, "; tasks of all priorities");
  show_if(scenario->hinted, "; hints for nodes");
  show_if(scenario->limits, "; waits have time limits, and are repeated");
  show_if(scenario->yields, "; some tasks yield until the one before them has begun");
  show_share("calls that stop in the middle", scenario->call_stalls);
  show_share("handovers that stop in the middle", scenario->hand_stalls);
  show_share("pushes before which a worker that spins loses its CPU", scenario->push_starves);
  show_if(scenario->guard_slow_us > 0, "; each step of a guard takes %.0f us longer",
          scenario->guard_slow_us);
  show_if(scenario->generations > 1, "; the first half of the threads ends before the second begins");
  show_if(scenario->actors_realtime, "; threads are real-time");
  show_if(scenario->rounds > 1, "; all of it twice");
  printf("\n");
}
