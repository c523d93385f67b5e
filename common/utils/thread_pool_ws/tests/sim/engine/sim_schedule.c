// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_schedule.c
/// sim_schedule.h. After Linux: select_task_rq_fair and _rt (where a thread wakes), the wake-up preemption of
/// the fair class, newidle balancing (a CPU that would idle takes a waiting thread).
#include "sim_schedule.h"

#include "sim_random.h"

#define COLD_AFTER_PS (20 * SIM_PS_PER_US) ///< of idling

static void enqueue(sim_cpu_t *cpu, sim_thread_t *thread)
{
  sim_thread_t **last = &cpu->first_ready;
  while (*last)
    last = &(*last)->next_ready;
  thread->next_ready = NULL;
  *last = thread;
}

static void unlink_ready(sim_cpu_t *cpu, const sim_thread_t *thread)
{
  for (sim_thread_t **at = &cpu->first_ready; *at; at = &(*at)->next_ready) {
    if (*at == thread) {
      *at = thread->next_ready;
      return;
    }
  }
}

/// @return whether @p a goes before @p b
static bool goes_first(const sim_thread_t *a, const sim_thread_t *b)
{
  if (a->class == SIM_REALTIME || b->class == SIM_REALTIME)
    return a->class == SIM_REALTIME && (b->class != SIM_REALTIME || a->priority > b->priority);
  return a->weighted_ps < b->weighted_ps;
}

static sim_thread_t *first_of(const sim_cpu_t *cpu, uint32_t allowed_on)
{
  sim_thread_t *first = NULL;
  for (sim_thread_t *thread = cpu->first_ready; thread; thread = thread->next_ready)
    if (sim_may_use(thread, allowed_on) && (!first || goes_first(thread, first)))
      first = thread;
  return first;
}

/// CPU time that the running thread has had in this turn.
static sim_ps_t turn_ps(const sim_cpu_t *cpu, sim_ps_t now_ps)
{
  const sim_ps_t ps = now_ps - cpu->current->taken_ps;
  return ps > 0 ? ps : 0;
}

static void arm_slice(uint32_t index, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = &sim_cpu[index];
  cpu->generation++;
  if (!cpu->first_ready || !cpu->current)
    return;
  sim_ps_t at_ps = cpu->current->taken_ps + (sim_ps_t)(sim_machine.slice_us * 1e6);
  if (at_ps < now_ps)
    at_ps = now_ps;
  sim_event_add((sim_event_t){
      .at_ps = at_ps, .kind = SIM_EVENT_SLICE, .subject = index, .generation = cpu->generation});
}

static void take(uint32_t index, sim_thread_t *thread, sim_ps_t at_ps)
{
  sim_cpu_t *cpu = &sim_cpu[index];
  if (cpu->idle_since_ps >= cpu->busy_since_ps)
    cpu->busy_since_ps = at_ps;
  cpu->current = thread;
  thread->state = SIM_RUNNING;
  thread->taken_ps = at_ps;
  thread->now_ps = at_ps + thread->left_ps;
  thread->left_ps = 0;
  thread->generation++;
  sim_event_add((sim_event_t){.at_ps = thread->now_ps,
                              .kind = SIM_EVENT_RUN,
                              .subject = thread->index,
                              .generation = thread->generation});
  arm_slice(index, at_ps);
}

/// The running thread of a CPU loses it at @p now_ps; what it has charged beyond that is left to do, but not
/// the time for which its group stands still.
static void stop_current(sim_cpu_t *cpu, sim_ps_t now_ps)
{
  sim_thread_t *thread = cpu->current;
  const sim_ps_t from_ps = sim_disturb_goes_on(now_ps > thread->taken_ps ? now_ps : thread->taken_ps);
  thread->left_ps = thread->now_ps > from_ps ? thread->now_ps - from_ps : 0;
  thread->now_ps = now_ps;
  sim_schedule_account(thread, now_ps);
  thread->state = SIM_READY;
  thread->generation++;
  cpu->current = NULL;
}

void sim_schedule_account(sim_thread_t *thread, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = &sim_cpu[thread->cpu];
  thread->weighted_ps += turn_ps(cpu, now_ps);
  if (cpu->weighted_ps < thread->weighted_ps && thread->class != SIM_REALTIME)
    cpu->weighted_ps = thread->weighted_ps;
}

/// The fair class compares threads of one CPU: what a thread is ahead or behind there goes with it.
static void change_cpu(sim_thread_t *thread, uint32_t to)
{
  const sim_ps_t slice_ps = (sim_ps_t)(sim_machine.slice_us * 1e6);
  sim_ps_t ahead_ps = thread->weighted_ps - sim_cpu[thread->cpu].weighted_ps;
  ahead_ps = ahead_ps > slice_ps ? slice_ps : ahead_ps < -slice_ps / 2 ? -slice_ps / 2 : ahead_ps;
  thread->weighted_ps = sim_cpu[to].weighted_ps + ahead_ps;
  thread->cpu = to;
}

static bool is_stolen(uint32_t cpu)
{
  return sim_cpu[cpu].current && sim_cpu[cpu].current->steals;
}

/// @return the CPU whose ready threads have waited longest for it, of those that @p cpu could take
static sim_thread_t *find_to_pull(uint32_t cpu)
{
  sim_thread_t *best = NULL;
  for (uint32_t i = 0; i < sim_machine.cpus; i++) {
    const bool gives = sim_cpu[i].first_ready && !is_stolen(i);
    sim_thread_t *thread = gives ? first_of(&sim_cpu[i], cpu) : NULL;
    if (thread && (!best || goes_first(thread, best)))
      best = thread;
  }
  return best;
}

void sim_schedule_next(uint32_t index, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = &sim_cpu[index];
  sim_ps_t at_ps = now_ps + sim_ps(sim_machine.switch_ns);
  sim_thread_t *next = first_of(cpu, index);
  if (!next) {
    next = find_to_pull(index);
    at_ps += sim_ps(sim_machine.migrate_ns);
  }
  if (!next) {
    cpu->idle_since_ps = now_ps;
    return;
  }
  unlink_ready(&sim_cpu[next->cpu], next);
  if (at_ps < next->now_ps)
    at_ps = next->now_ps;
  change_cpu(next, index);
  take(index, next, at_ps);
}

void sim_schedule_remove(sim_thread_t *thread, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = &sim_cpu[thread->cpu];
  if (thread->state == SIM_READY) {
    unlink_ready(cpu, thread);
    return;
  }
  stop_current(cpu, now_ps);
  sim_schedule_next(thread->cpu, now_ps);
}

static bool core_is_idle(uint32_t cpu)
{
  const uint32_t first = cpu / sim_machine.smt * sim_machine.smt;
  for (uint32_t i = first; i < first + sim_machine.smt; i++)
    if (!sim_cpu_is_idle(i))
      return false;
  return true;
}

/// As select_idle_sibling(): the last CPU, then an idle core of that last-level cache, then an idle CPU of
/// it, then one elsewhere. @return an idle CPU that the thread may use; SIM_CPUS_MAX = none
static uint32_t idle_cpu_for(const sim_thread_t *thread)
{
  const uint32_t cpus = sim_machine.cpus, llc = sim_machine.llc_cpus;
  uint32_t near = SIM_CPUS_MAX, elsewhere = SIM_CPUS_MAX;
  for (uint32_t step = 0; step < cpus; step++) {
    const uint32_t cpu = (thread->cpu + step) % cpus;
    if (!sim_may_use(thread, cpu) || !sim_cpu_is_idle(cpu))
      continue;
    const bool is_near = cpu / llc == thread->cpu / llc;
    if (step == 0 || (is_near && core_is_idle(cpu)))
      return cpu;
    if (is_near && near == SIM_CPUS_MAX)
      near = cpu;
    if (elsewhere == SIM_CPUS_MAX)
      elsewhere = cpu;
  }
  return near < SIM_CPUS_MAX ? near : elsewhere;
}

/// @return whether a fair thread goes where it ran last, busy or not (sim_machine.h)
static bool stays(const sim_thread_t *thread)
{
  const bool is_new = thread->busy_ps == 0;
  return thread->class != SIM_REALTIME && sim_machine.stay_share > 0 && !is_new
         && sim_may_use(thread, thread->cpu) && !sim_cpu_is_idle(thread->cpu)
         && sim_random_unit() < sim_machine.stay_share;
}

static uint32_t ready_count(uint32_t cpu)
{
  uint32_t count = sim_cpu[cpu].current != NULL;
  for (const sim_thread_t *thread = sim_cpu[cpu].first_ready; thread; thread = thread->next_ready)
    count++;
  return count;
}

static bool is_bound(const sim_thread_t *thread)
{
  uint32_t cpus = 0;
  for (uint32_t cpu = 0; cpu < sim_machine.cpus; cpu++)
    cpus += sim_may_use(thread, cpu);
  return cpus == 1;
}

/// As select_task_rq_rt(): a real-time thread wakes where it ran last, if it goes before the thread that runs
/// there, and that is no real-time thread that can use no other CPU. A CPU that is waking up for another
/// thread still looks idle.
static bool realtime_stays(const sim_thread_t *thread, sim_ps_t now_ps)
{
  const sim_thread_t *there = sim_cpu[thread->cpu].current;
  return thread->class == SIM_REALTIME && sim_may_use(thread, thread->cpu)
         && (!there || there->taken_ps > now_ps
             || (goes_first(thread, there) && !(there->class == SIM_REALTIME && is_bound(there))));
}

/// As find_lowest_rq(): a real-time thread that goes away goes to the waker's CPU if a normal thread runs
/// there, also if others are idle.
static bool realtime_goes_to_waker(const sim_thread_t *thread)
{
  return thread->class == SIM_REALTIME && sim_self && sim_self->class != SIM_REALTIME
         && sim_may_use(thread, sim_self->cpu);
}

uint32_t sim_schedule_place(const sim_thread_t *thread, sim_ps_t now_ps)
{
  if (realtime_stays(thread, now_ps))
    return thread->cpu;
  if (realtime_goes_to_waker(thread))
    return sim_self->cpu;
  if (stays(thread) || (is_stolen(thread->cpu) && !sim_cpu[thread->cpu].first_ready)) // it looks idle
    return thread->cpu;
  const uint32_t idle = idle_cpu_for(thread);
  if (idle < SIM_CPUS_MAX)
    return idle;
  uint32_t best = SIM_CPUS_MAX;
  for (uint32_t step = 0; step < sim_machine.cpus; step++) {
    const uint32_t cpu = (thread->cpu + step) % sim_machine.cpus;
    if (!sim_may_use(thread, cpu))
      continue;
    const sim_thread_t *current = sim_cpu[cpu].current;
    if (thread->class == SIM_REALTIME && (!current || goes_first(thread, current)))
      return cpu;
    if (best == SIM_CPUS_MAX || ready_count(cpu) < ready_count(best))
      best = cpu;
  }
  return best < SIM_CPUS_MAX ? best : thread->cpu;
}

/// @return whether a thread that has just become ready takes the CPU from the one that runs
static bool preempts(const sim_thread_t *thread, const sim_cpu_t *cpu, sim_ps_t now_ps)
{
  const sim_thread_t *current = cpu->current;
  if (thread->class == SIM_REALTIME || current->class == SIM_REALTIME)
    return goes_first(thread, current);
  const sim_ps_t granularity_ps = (sim_ps_t)(sim_machine.granularity_us * 1e6);
  return thread->class == SIM_FAIR
         && thread->weighted_ps + granularity_ps < current->weighted_ps + turn_ps(cpu, now_ps);
}

/// The code that the thread runs, and what it reads, has left the caches of a CPU that was idle.
static void cool_down(sim_thread_t *thread, sim_ps_t idle_ps)
{
  if (idle_ps >= COLD_AFTER_PS && sim_machine.cold.count > 0)
    thread->cold_ps = sim_wake_draw(&sim_machine.cold, idle_ps, sim_random_unit());
}

/// @return an idle CPU that a ready thread of @p cpu may use; SIM_CPUS_MAX = none
static uint32_t idle_cpu_for_one_of(const sim_cpu_t *cpu)
{
  uint32_t found = SIM_CPUS_MAX;
  const bool gives = !is_stolen((uint32_t)(cpu - sim_cpu));
  for (const sim_thread_t *at = cpu->first_ready; gives && at && found == SIM_CPUS_MAX; at = at->next_ready)
    found = idle_cpu_for(at);
  return found;
}

static void arm_balance(uint32_t index, sim_ps_t now_ps);

static void balance(void *arg, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = arg;
  cpu->balances = false;
  const uint32_t idle = idle_cpu_for_one_of(cpu);
  if (idle < SIM_CPUS_MAX)
    sim_schedule_next(idle, now_ps);
  arm_balance((uint32_t)(cpu - sim_cpu), now_ps);
}

/// A thread waits though a CPU is idle: that one learns of it at the next tick.
static void arm_balance(uint32_t index, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = &sim_cpu[index];
  if (sim_machine.tick_us <= 0 || cpu->balances || idle_cpu_for_one_of(cpu) == SIM_CPUS_MAX)
    return;
  const sim_ps_t tick_ps = (sim_ps_t)(sim_machine.tick_us * 1e6);
  cpu->balances = true;
  sim_event_add((sim_event_t){
      .at_ps = (now_ps / tick_ps + 1) * tick_ps, .kind = SIM_EVENT_CALL, .call = balance, .arg = cpu});
}

static void preempt(uint32_t index, sim_thread_t *thread, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = &sim_cpu[index];
  sim_thread_t *current = cpu->current;
  current->preempted++;
  stop_current(cpu, now_ps);
  enqueue(cpu, current);
  take(index, thread, now_ps + sim_ps(sim_machine.switch_ns));
  arm_balance(index, now_ps);
}

/// The interrupt of a wake reaches a busy CPU.
static void kick(void *arg, sim_ps_t now_ps)
{
  const uint32_t index = (uint32_t)((sim_cpu_t *)arg - sim_cpu);
  sim_thread_t *first = first_of(arg, index);
  if (!first || !sim_cpu[index].current || !preempts(first, arg, now_ps))
    return;
  unlink_ready(arg, first);
  preempt(index, first, now_ps);
}

/// As push_rt_tasks(): a real-time thread that has to wait goes where it need not.
static void push_away(void *arg, sim_ps_t now_ps)
{
  const uint32_t index = (uint32_t)((sim_cpu_t *)arg - sim_cpu);
  sim_thread_t *first = first_of(arg, index);
  if (!first || first->class != SIM_REALTIME)
    return;
  const uint32_t target = sim_schedule_place(first, now_ps);
  if (target == index)
    return;
  unlink_ready(arg, first);
  sim_schedule_ready(first, target, now_ps,
                     sim_wake_draw(&sim_machine.wake, sim_idle_ps(target, now_ps), sim_random_unit()));
}

static void call_at(sim_ps_t at_ps, void (*call)(void *arg, sim_ps_t now_ps), uint32_t index)
{
  sim_event_add((sim_event_t){.at_ps = at_ps, .kind = SIM_EVENT_CALL, .call = call, .arg = &sim_cpu[index]});
}

/// @return whether a busy CPU is interrupted from another one
static bool queue_up(sim_thread_t *thread, uint32_t index, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = &sim_cpu[index];
  const bool first = cpu->current && preempts(thread, cpu, now_ps);
  const bool is_remote = sim_machine.kick.count > 0 && sim_self && sim_self->cpu != index;
  if (first && !is_remote) {
    preempt(index, thread, now_ps);
    return false;
  }
  enqueue(cpu, thread);
  arm_balance(index, now_ps);
  if (!cpu->current)
    sim_schedule_next(index, now_ps);
  else if (first)
    call_at(now_ps + sim_wake_draw(&sim_machine.kick, 0, sim_random_unit()), kick, index);
  else if (thread->class == SIM_REALTIME && cpu->current->taken_ps > now_ps)
    call_at(cpu->current->taken_ps, push_away, index);
  else
    arm_slice(index, now_ps);
  return first;
}

bool sim_schedule_ready(sim_thread_t *thread, uint32_t index, sim_ps_t now_ps, sim_ps_t latency_ps)
{
  change_cpu(thread, index);
  if (sim_cpu_is_idle(index)) {
    cool_down(thread, sim_idle_ps(index, now_ps));
    take(index, thread, now_ps + latency_ps);
    return false;
  }
  thread->state = SIM_READY;
  thread->now_ps = now_ps;
  thread->generation++;
  return queue_up(thread, index, now_ps);
}

/// The running thread goes behind all that are ready.
static void take_turns(uint32_t index, sim_ps_t now_ps)
{
  sim_cpu_t *cpu = &sim_cpu[index];
  sim_thread_t *current = cpu->current;
  stop_current(cpu, now_ps);
  enqueue(cpu, current);
  sim_thread_t *next = first_of(cpu, index);
  unlink_ready(cpu, next);
  take(index, next, now_ps + (next == current ? 0 : sim_ps(sim_machine.switch_ns)));
}

void sim_schedule_yield(uint32_t index, sim_ps_t now_ps)
{
  const sim_cpu_t *cpu = &sim_cpu[index];
  const sim_thread_t *next = first_of(cpu, index);
  if (cpu->current->class == SIM_REALTIME && next && !goes_first(cpu->current, next))
    take_turns(index, now_ps);
}

void sim_schedule_slice(uint32_t index, sim_ps_t now_ps)
{
  const sim_cpu_t *cpu = &sim_cpu[index];
  if (cpu->current && cpu->current->class != SIM_REALTIME && first_of(cpu, index))
    take_turns(index, now_ps);
}
