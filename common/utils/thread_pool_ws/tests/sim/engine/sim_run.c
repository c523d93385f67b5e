// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_run.c
/// The machine runs: sim_thread.h.
#include "sim_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_libc.h"
#include "sim_random.h"
#include "sim_schedule.h"

sim_thread_t *sim_thread[SIM_THREADS_MAX];
uint32_t sim_threads;
sim_cpu_t sim_cpu[SIM_CPUS_MAX];
sim_thread_t *sim_self;
uint64_t sim_points;
sim_ps_t sim_ahead_ps;
uint32_t sim_generation;

static void leave_cpu(sim_state_t state)
{
  sim_thread_t *self = sim_self;
  sim_cpu_t *cpu = &sim_cpu[self->cpu];
  sim_schedule_account(self, self->now_ps);
  self->state = state;
  self->generation++;
  cpu->current = NULL;
  cpu->generation++;
  sim_schedule_next(self->cpu, self->now_ps);
}

static void entry(void)
{
  sim_step(0);
  sim_libc_thread_ends(sim_self->func(sim_self->arg));
  leave_cpu(SIM_ENDED);
  sim_fiber_leave();
}

sim_thread_t *sim_thread_new(const sim_thread_t *like, void *(*func)(void *), void *arg, sim_ps_t at_ps)
{
  sim_thread_t *thread = calloc(1, sizeof(*thread));
  if (!thread || sim_threads == SIM_THREADS_MAX) {
    fprintf(stderr, "simulate: more than %u threads, or no memory\n", SIM_THREADS_MAX);
    abort();
  }
  thread->index = sim_threads;
  sim_thread[sim_threads++] = thread;
  memset(thread->allowed, 0xff, sizeof(thread->allowed));
  thread->slack_ns = 50000;
  if (like) {
    memcpy(thread->allowed, like->allowed, sizeof(thread->allowed));
    thread->class = like->class;
    thread->priority = like->priority;
    thread->slack_ns = like->slack_ns;
    thread->cpu = like->cpu;
  }
  thread->func = func;
  thread->arg = arg;
  sim_fiber_make(&thread->fiber, entry);
  thread->state = SIM_ASLEEP;
  sim_event_add((sim_event_t){
      .at_ps = at_ps, .kind = SIM_EVENT_TIMEOUT, .subject = thread->index, .generation = thread->generation});
  return thread;
}

/// The event with which it goes on is the one of the CPU that takes it, or has taken it already.
void sim_await_cpu(void)
{
  sim_thread_t *self = sim_self;
  sim_fiber_leave();
  sim_self = self;
}

void sim_yield(void)
{
  sim_event_add((sim_event_t){.at_ps = sim_self->now_ps,
                              .kind = SIM_EVENT_RUN,
                              .subject = sim_self->index,
                              .generation = sim_self->generation});
  sim_await_cpu();
}

bool sim_sleep(sim_ps_t until_ps)
{
  sim_thread_t *self = sim_self;
  self->timed_out = false;
  self->sleeps++;
  leave_cpu(SIM_ASLEEP);
  if (until_ps > 0)
    sim_event_add((sim_event_t){.at_ps = until_ps > self->now_ps ? until_ps : self->now_ps,
                                .kind = SIM_EVENT_TIMEOUT,
                                .subject = self->index,
                                .generation = self->generation});
  sim_await_cpu();
  return !self->timed_out;
}

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

bool sim_wake(sim_thread_t *thread, uint32_t cpu, sim_ps_t from_ps, sim_ps_t latency_ps)
{
  thread->waits_on = NULL;
  thread->generation++;
  thread->busy_ps += sim_ps(sim_machine.sleep_cpu_ns);
  return sim_schedule_ready(thread, cpu, from_ps, latency_ps);
}

void sim_thread_settle(sim_thread_t *thread, sim_ps_t now_ps)
{
  if (sim_may_use(thread, thread->cpu) || thread->state == SIM_ASLEEP || thread->state == SIM_ENDED)
    return;
  sim_schedule_remove(thread, now_ps);
  sim_schedule_ready(thread, sim_schedule_place(thread, now_ps), now_ps,
                     sim_ps(sim_machine.switch_ns + sim_machine.migrate_ns));
}

/// When a timer's thread runs: its slack comes to what the machine takes.
static void time_out(sim_thread_t *thread, sim_ps_t at_ps)
{
  thread->timed_out = true;
  sim_libc_stop_waiting(thread);
  const uint32_t cpu = sim_schedule_place(thread, at_ps);
  sim_wake(thread, cpu, at_ps, sim_wake_draw(&sim_machine.timer, sim_idle_ps(cpu, at_ps), sim_random_unit()));
}

static void run(sim_thread_t *thread, sim_ps_t at_ps)
{
  if (at_ps != thread->now_ps)
    sim_finding("engine: thread %u is at another time than its event", thread->index + 1);
  sim_self = thread;
  sim_generation = thread->generation;
  sim_disturb_begins();
  sim_fiber_run(&thread->fiber);
  sim_self = NULL;
  if (thread->state == SIM_ENDED)
    sim_fiber_free(&thread->fiber);
}

static void happen(const sim_event_t *event)
{
  if (event->kind == SIM_EVENT_CALL) {
    event->call(event->arg, event->at_ps);
  } else if (event->kind == SIM_EVENT_SLICE) {
    if (sim_cpu[event->subject].generation == event->generation)
      sim_schedule_slice(event->subject, event->at_ps);
  } else if (sim_thread[event->subject]->generation == event->generation) {
    if (event->kind == SIM_EVENT_TIMEOUT)
      time_out(sim_thread[event->subject], event->at_ps);
    else
      run(sim_thread[event->subject], event->at_ps);
  }
}

bool sim_run(bool (*done)(void), sim_ps_t until_ps)
{
  sim_event_t event;
  while (!done()) {
    if (!sim_event_next(&event) || event.at_ps > until_ps)
      return false;
    happen(&event);
  }
  return true;
}
