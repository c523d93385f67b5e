// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_bursts.c
/// sim_bursts.h. What the benchmark's threads do besides the pool's own code is done here, too: they read
/// the clock as work goes on, and each task has a cache line that the producer writes and the task reads.
#include "sim_bursts.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../../include/ws_pool.h"
#include "sim_libc.h"
#include "sim_memory.h"
#include "sim_random.h"
#include "sim_seam_points.h"
#include "sim_thread.h"

#define PRIORITY 50
#define HOST_PRIORITY 99 ///< above all classes

typedef struct producer_s producer_t;

typedef struct {
  _Alignas(64) uint64_t line;
  producer_t *producer;
  sim_ps_t work_ps;
  sim_noise_t waits; ///< so, before it works
} item_t;

struct producer_s {
  void *pool;
  sim_thread_t *thread;
  item_t *item;
  bench_task_t *task;
  uint32_t started; ///< tasks of this phase
  uint32_t at_once; ///< of those
  uint32_t first; ///< of its slots, among all
  slot_arrivals_t arrivals;
  sim_ps_t began_ps; ///< its last slot
  sim_ps_t pushed_ps, on_worker_ps, running_ps;
};

static struct {
  const sim_bursts_t *wanted;
  sim_series_t *series;
  producer_t producer[SIM_PRODUCERS_MAX];
  uint32_t ready; ///< producers whose next slot is the first that is measured
  uint32_t over;
  sim_ps_t busy_before_ps, busy_ps, begun_ps, ended_ps;
  uint64_t wakes_before;
  double preempted_before;
  ws_ledger_t ledger_before;
  ws_pool_t *other; ///< that some tasks wait for
  producer_t second; ///< SIM_SECOND_PRODUCER, SIM_POOL_BESIDE
  pthread_mutex_t lock; ///< SIM_MUTEX: of a thread outside the pool
  uint32_t asked, answered, served; ///< the same thread, and SIM_READ
} run;

static sim_ps_t of_ns(uint64_t ns)
{
  return (sim_ps_t)ns * SIM_PS_PER_NS;
}

static uint32_t threads_that_run(void)
{
  const uint32_t threads = run.wanted->workers + run.wanted->pool->waiter_helps * run.wanted->producers;
  return threads < sim_machine.cpus ? threads : sim_machine.cpus;
}

/// As busy_work() of the benchmark: one look at the clock, then looks until the work is done.
static void busy(sim_ps_t ps)
{
  const sim_ps_t look_ps = sim_ps(sim_machine.clock_ns);
  if (ps <= 0)
    return;
  sim_work(look_ps > 0 ? look_ps + (ps + look_ps - 1) / look_ps * look_ps : ps);
}

static void started(producer_t *self)
{
  if (self->on_worker_ps < 0 && sim_self != self->thread)
    self->on_worker_ps = sim_self->now_ps;
  if (++self->started == self->at_once)
    self->running_ps = sim_self->now_ps;
}

static void work_elsewhere(void *unused)
{
  busy(sim_ps(run.wanted->noise_us * 1000));
}

static sim_ps_t noise_ends_ps(void)
{
  return sim_self->now_ps + sim_ps(run.wanted->noise_us * 1000);
}

/// Has the lock until a while after a task has asked for it.
static void *keep(void *unused)
{
  for (uint32_t asked = 0;; asked++) {
    pthread_mutex_lock(&run.lock);
    while (run.asked == asked)
      sim_futex_wait(&run.asked, asked, 0);
    sim_sleep_until(noise_ends_ps());
    pthread_mutex_unlock(&run.lock);
    run.answered++;
    sim_futex_wake(&run.answered, 1);
    while (run.served == asked)
      sim_sleep_until(sim_self->now_ps + 100 * SIM_PS_PER_US);
  }
  return unused;
}

static void wait_so(sim_noise_t how)
{
  const uint32_t answered = run.answered;
  if (how == SIM_OTHER_POOL) {
    ws_group_t group;
    ws_group_init(&group, 1);
    ws_pool_push(run.other, (ws_task_t){.func = work_elsewhere, .group = &group});
    ws_group_wait(&group, run.other);
  }
  if (how == SIM_SLEEP)
    sim_sleep_until(noise_ends_ps());
  if (how != SIM_MUTEX && how != SIM_READ)
    return;
  run.asked++;
  sim_futex_wake(&run.asked, 1);
  while (how == SIM_READ && run.answered == answered)
    sim_futex_wait(&run.answered, answered, 0);
  if (how == SIM_MUTEX) {
    pthread_mutex_lock(&run.lock);
    pthread_mutex_unlock(&run.lock);
  }
  run.served++;
}

static void work(void *arg)
{
  item_t *item = arg;
  started(item->producer);
  wait_so(item->waits);
  if (item->work_ps == 0)
    return;
  sim_load(&item->line);
  busy(item->work_ps);
  sim_store(&item->line);
}

static void fork_once(const item_t *item, uintptr_t depth);

typedef struct {
  const item_t *item;
  uintptr_t depth;
} branch_t;

static void run_branch(void *arg)
{
  const branch_t *branch = arg;
  fork_once(branch->item, branch->depth);
}

static void fork_once(const item_t *item, uintptr_t depth)
{
  if (depth < 2) {
    if (item->work_ps > 0)
      sim_work(item->work_ps);
    return;
  }
  branch_t child = {item, depth - 1}, own = {item, depth - 2};
  const bench_task_t child_task = {run_branch, &child}, own_task = {run_branch, &own};
  run.wanted->pool->fork_join(item->producer->pool, &child_task, &own_task);
}

static void nest(void *arg)
{
  const item_t *item = arg;
  started(item->producer);
  fork_once(item, run.wanted->nested);
}

/// Of all tasks, or of one.
static void make_noisy(producer_t *self, uint32_t count)
{
  const sim_noise_t noise = run.wanted->noise;
  const sim_ps_t more_ps = sim_ps(run.wanted->noise_us * 1000);
  item_t *one = &self->item[sim_random_below(count)];
  one->waits = noise >= SIM_MUTEX && noise <= SIM_OTHER_POOL ? noise : SIM_CALM;
  one->work_ps += noise == SIM_LONG_TASK ? more_ps : 0;
  for (uint32_t i = 0; noise == SIM_ALL_LONGER && i < count; i++)
    self->item[i].work_ps += more_ps;
}

static void run_phase(producer_t *self, const phase_t *phase)
{
  const bool is_noisy =
      run.wanted->noise != SIM_CALM && self != &run.second && sim_random_below(run.wanted->every) == 0;
  const uint32_t count = phase->task_count << (is_noisy && run.wanted->noise == SIM_MORE_TASKS);
  const bench_backend_t *pool = run.wanted->pool;
  busy(of_ns(phase->serial_ns));
  if (phase->task_count == 0)
    return;
  for (uint32_t i = 0; i < count; i++) {
    self->item[i].waits = SIM_CALM;
    self->item[i].work_ps = of_ns(run.wanted->plan.task_ns[phase->first_task + i % phase->task_count]);
    if (self->item[i].work_ps > 0)
      sim_store(&self->item[i].line);
  }
  if (is_noisy)
    make_noisy(self, count);
  const uint32_t most = threads_that_run();
  self->at_once = run.wanted->nested > 0 ? 1 : phase->task_count < most ? phase->task_count : most;
  self->started = 0;
  if (pool->arm)
    pool->arm(self->pool, count);
  self->pushed_ps = self->running_ps = sim_self->now_ps;
  for (uint32_t i = 0; i < count; i++) {
    if (is_noisy && run.wanted->noise == SIM_SERIAL && i == count / 2)
      busy(sim_ps(run.wanted->noise_us * 1000));
    pool->push(self->pool, &self->task[i]);
  }
  pool->wait(self->pool);
}

/// CPU time of all threads but the host's.
static sim_ps_t busy_ps(void)
{
  sim_ps_t sum_ps = 0;
  for (uint32_t i = 0; i < sim_threads; i++)
    sum_ps += sim_thread[i]->priority == HOST_PRIORITY ? 0 : sim_thread[i]->busy_ps;
  return sum_ps;
}

static double preempted(void)
{
  double sum = 0;
  for (uint32_t i = 0; i < run.wanted->producers; i++)
    sum += run.producer[i].thread->preempted;
  return sum;
}

/// Of a pool of the ws backend, which can fork: as in backends/ws.c.
static void read_ledger(ws_ledger_t *ledger)
{
  if (run.wanted->pool->fork_join)
    ws_pool_ledger(*(ws_pool_t **)run.producer[0].pool, ledger);
}

static void begin_measuring(void)
{
  if (++run.ready < run.wanted->producers)
    return;
  read_ledger(&run.ledger_before);
  run.busy_before_ps = busy_ps();
  run.wakes_before = sim_wakes;
  run.preempted_before = preempted();
  run.begun_ps = sim_self->now_ps;
  sim_swaps_reset();
}

static double leaves(uint32_t depth)
{
  return depth < 2 ? 1 : leaves(depth - 1) + leaves(depth - 2);
}

static void add_bounds(const phase_t *phase)
{
  const sim_bursts_t *wanted = run.wanted;
  const double each = wanted->nested > 0 ? leaves(wanted->nested) : 1, cpus = sim_machine.cpus;
  double sum_us = 0, longest_us = 0, shortest_us = HUGE_VAL;
  for (uint32_t i = 0; i < phase->task_count; i++) {
    const double us = (double)wanted->plan.task_ns[phase->first_task + i] / 1e3;
    sum_us += us * each;
    longest_us = fmax(us, longest_us);
    shortest_us = fmin(us, shortest_us);
  }
  const double serial_us = (double)phase->serial_ns / 1e3, threads = threads_that_run();
  run.series->work_us += serial_us + sum_us;
  run.series->bound_us += serial_us + fmax(longest_us, sum_us / cpus);
  if (phase->task_count > 0 && shortest_us < longest_us) // then whole tasks bound nothing
    run.series->whole_us += serial_us + fmax(longest_us, sum_us / threads);
  else
    run.series->whole_us += serial_us + ceil(phase->task_count * each / threads) * longest_us;
  run.series->tasks += phase->task_count * each;
}

/// @return the first phase of the slot behind the one that begins at @p phase; 0 after the last
static uint32_t next_slot(const slot_plan_t *plan, uint32_t phase)
{
  uint32_t next = phase + 1;
  while (next < plan->phase_count && plan->phases[next].slot == plan->phases[phase].slot)
    next++;
  return next < plan->phase_count ? next : 0;
}

/// @param number  of the slot among those that are measured; < 0: it is not
/// @return the first phase of the next slot
static uint32_t run_slot(producer_t *self, uint32_t first_phase, int64_t number)
{
  const slot_plan_t *plan = &run.wanted->plan;
  const uint32_t next = next_slot(plan, first_phase);
  const sim_ps_t begin_ps = sim_self->now_ps;
  sim_ps_t start_ps = -1;
  for (uint32_t phase = first_phase; phase < (next > 0 ? next : plan->phase_count); phase++) {
    self->on_worker_ps = -1;
    phase_t now = plan->phases[phase];
    now.task_count = arrivals_size(&self->arrivals, now.task_count);
    run_phase(self, &now);
    if (number >= 0)
      add_bounds(&now);
    if (start_ps < 0 && self->on_worker_ps >= 0)
      start_ps = self->on_worker_ps - self->pushed_ps;
  }
  const sim_ps_t gap_ps = begin_ps - self->began_ps;
  self->began_ps = begin_ps;
  if (number < 0)
    return next;
  const uint32_t at = self->first + (uint32_t)number;
  run.series->makespan_us[at] = (double)(sim_self->now_ps - begin_ps) / 1e6;
  run.series->gap_us[at] = (double)gap_ps / 1e6;
  run.series->start_us[at] = (double)start_ps / 1e6;
  run.series->full_us[at] = (double)(self->running_ps - self->pushed_ps) / 1e6;
  return next;
}

/// Balancing moves a fair thread while it does not wait, to wherever the kernel likes.
static void move_to(uint32_t cpu)
{
  uint64_t allowed[SIM_CPU_WORDS];
  memcpy(allowed, sim_self->allowed, sizeof(allowed));
  memset(sim_self->allowed, 0, sizeof(sim_self->allowed));
  sim_self->allowed[cpu / 64] = UINT64_C(1) << (cpu % 64);
  sim_thread_settle(sim_self, sim_self->now_ps);
  sim_step(0);
  memcpy(sim_self->allowed, allowed, sizeof(allowed));
}

static void slots(void *arg)
{
  producer_t *self = arg;
  const sim_bursts_t *wanted = run.wanted;
  sim_ps_t next_ps = self->began_ps = sim_self->now_ps;
  uint32_t phase = 0;
  for (uint32_t i = 0; i < wanted->warm + wanted->bursts; i++) {
    next_ps += (sim_ps_t)(arrivals_gap(&self->arrivals) * wanted->period_us * 1e6);
    if (next_ps < sim_self->now_ps)
      next_ps = sim_self->now_ps;
    if (wanted->period_us > 0)
      sim_sleep_until(next_ps);
    if (i == wanted->warm)
      begin_measuring();
    if (i == wanted->warm / 2 && wanted->quota_later > 0)
      sim_disturb_set_quota(wanted->quota_later);
    if (wanted->roam > 0 && i % wanted->roam == 0)
      move_to(i / wanted->roam % sim_machine.cpus);
    phase = run_slot(self, phase, (int64_t)i - wanted->warm);
  }
  run.ended_ps = sim_self->now_ps;
  run.busy_ps = busy_ps();
}

static bool prepare(producer_t *self)
{
  const uint32_t most = 1 + 2 * run.wanted->plan.tasks_max; // SIM_MORE_TASKS
  self->thread = sim_self;
  self->item = aligned_alloc(64, most * sizeof(item_t));
  self->task = calloc(most, sizeof(bench_task_t));
  if (!self->item || !self->task)
    return false;
  for (uint32_t i = 0; i < most; i++) {
    self->item[i] = (item_t){.producer = self};
    self->task[i] = (bench_task_t){run.wanted->nested > 0 ? nest : work, &self->item[i]};
  }
  return true;
}

static void *produce(void *arg)
{
  producer_t *self = arg;
  if (!prepare(self))
    sim_finding("no memory for the tasks of a producer");
  if (run.wanted->pool->run)
    run.wanted->pool->run(self->pool, slots, self);
  else
    slots(self);
  sim_sleep_until(sim_self->now_ps + 100 * SIM_PS_PER_MS); // counts by cause follow the bursts
  read_ledger(&run.series->ledger);
  run.over++;
  sim_sleep(0);
  return NULL;
}

/// As the sample clock of a simulated radio: it sleeps for a microsecond, and looks again.
static void *poll(void *unused)
{
  for (;;) {
    sim_sleep_until(sim_self->now_ps + SIM_PS_PER_US);
    busy(SIM_PS_PER_US);
  }
  return unused;
}

/// The benchmark's handle of a ws pool holds one group, so each further producer gets a handle of its own.
static void *share(void *pool)
{
  struct { // as in backends/ws.c
    ws_pool_t *pool;
    ws_settings_t settings;
    ws_group_t group;
  } *handle = calloc(1, sizeof(*handle));
  if (handle)
    handle->pool = *(ws_pool_t **)pool;
  return handle;
}

static sim_ps_t exponential_ps(double mean_us)
{
  return (sim_ps_t)(-log(1 - sim_random_unit()) * mean_us * 1e6);
}

/// A host takes a CPU away: a thread above all classes has it.
static void *take_cpu(void *unused)
{
  for (;;) {
    sim_sleep_until(sim_self->now_ps + exponential_ps(run.wanted->host_off_us));
    busy(exponential_ps(run.wanted->host_on_us));
  }
  return unused;
}

static void *stop_all(void *unused)
{
  for (;;) {
    sim_sleep_until(sim_self->now_ps + exponential_ps(run.wanted->every * run.wanted->period_us));
    sim_disturb_stop(sim_ps(run.wanted->noise_us * 1000));
  }
  return unused;
}

/// Bursts of another thread.
static void *push_too(void *arg)
{
  producer_t *self = arg;
  if (!prepare(self))
    sim_finding("no memory for the tasks of a producer");
  for (;;) {
    sim_sleep_until(sim_self->now_ps + exponential_ps(run.wanted->every * run.wanted->period_us));
    run_phase(self, &run.wanted->plan.phases[0]);
  }
  return NULL;
}

static void begin_noise(sim_thread_t like)
{
  const sim_noise_t noise = run.wanted->noise;
  if (noise == SIM_MUTEX || noise == SIM_READ)
    sim_thread_new(&like, keep, NULL, SIM_PS_PER_S);
  like.class = SIM_REALTIME;
  like.priority = HOST_PRIORITY;
  if (noise == SIM_STOPS)
    sim_thread_new(&like, stop_all, NULL, SIM_PS_PER_S);
}

static void begin_host(sim_thread_t like)
{
  like.class = SIM_REALTIME;
  like.priority = HOST_PRIORITY;
  memset(like.allowed, 0, sizeof(like.allowed));
  for (uint32_t cpu = 0; cpu < sim_machine.cpus; cpu++) {
    like.allowed[cpu / 64] = UINT64_C(1) << (cpu % 64);
    sim_thread_new(&like, take_cpu, NULL, SIM_PS_PER_S)->steals = run.wanted->stolen;
    like.allowed[cpu / 64] = 0;
  }
}

/// The first producer makes the pool, in the class that workers may inherit.
static void *begin(void *arg)
{
  const sim_bursts_t *wanted = run.wanted;
  const bench_settings_t settings = {.workers = wanted->workers,
                                     .pin_step = wanted->pinned,
                                     .rt_priority = wanted->classes != SIM_OTHER ? PRIORITY : 0,
                                     .tasks_max = 2 * wanted->plan.tasks_max};
  if (wanted->classes != SIM_OTHER && !wanted->pool->sets_class)
    sim_self->class = SIM_REALTIME;
  producer_t *first = arg;
  first->pool = wanted->pool->create(&settings);
  if (!first->pool)
    sim_finding("the pool could not be made");
  if (wanted->classes == SIM_RR)
    sim_self->class = SIM_FAIR;
  if (wanted->noise == SIM_OTHER_POOL) {
    ws_settings_t other;
    ws_settings_default(&other);
    other.workers = 1;
    ws_pool_create(&run.other, &other);
  }
  if (wanted->noise == SIM_SECOND_PRODUCER || wanted->noise == SIM_POOL_BESIDE) {
    const bool is_same = wanted->noise == SIM_SECOND_PRODUCER;
    run.second = (producer_t){.pool = is_same ? share(first->pool) : wanted->pool->create(&settings),
                              .arrivals = wanted->arrivals};
    sim_thread_new(sim_self, push_too, &run.second, sim_self->now_ps + SIM_PS_PER_US);
  }
  for (uint32_t i = 1; i < wanted->producers; i++) {
    run.producer[i].pool = share(first->pool);
    sim_thread_new(sim_self, produce, &run.producer[i], sim_self->now_ps + SIM_PS_PER_US * i);
  }
  return produce(first);
}

static bool is_over(void)
{
  return run.over == run.wanted->producers;
}

static bool prepare_series(const sim_bursts_t *wanted, sim_series_t *series)
{
  *series = (sim_series_t){.slots = wanted->bursts * wanted->producers};
  series->makespan_us = calloc(series->slots, sizeof(double));
  series->start_us = calloc(series->slots, sizeof(double));
  series->full_us = calloc(series->slots, sizeof(double));
  series->gap_us = calloc(series->slots, sizeof(double));
  return series->makespan_us && series->start_us && series->full_us && series->gap_us;
}

bool sim_bursts_run(const sim_bursts_t *wanted, sim_series_t *series)
{
  run.wanted = wanted;
  run.series = series;
  sim_disturb_reset();
  if (!prepare_series(wanted, series))
    return false;
  for (uint32_t i = 0; i < wanted->producers; i++) {
    run.producer[i].first = i * wanted->bursts;
    run.producer[i].arrivals = wanted->arrivals;
    run.producer[i].arrivals.seed += i;
  }
  // As the benchmark has it: timers as sharp as they get, all real-time threads of one priority.
  sim_thread_t like = {
      .class = wanted->classes == SIM_RR_ALL ? SIM_REALTIME : SIM_FAIR, .priority = PRIORITY, .slack_ns = 1};
  for (uint32_t i = 0; i < SIM_CPU_WORDS; i++)
    like.allowed[i] = UINT64_MAX;
  sim_thread_new(&like, begin, &run.producer[0], SIM_PS_PER_S);
  begin_noise(like);
  like.class = SIM_REALTIME;
  if (wanted->poll)
    sim_thread_new(&like, poll, NULL, SIM_PS_PER_S);
  if (wanted->host_on_us > 0)
    begin_host(like);
  if (!sim_run(is_over, 61 * SIM_PS_PER_S))
    return false;
  series->busy_us = (double)(run.busy_ps - run.busy_before_ps) / 1e6;
  series->wakes = (double)(sim_wakes - run.wakes_before);
  series->preempted = preempted() - run.preempted_before;
  series->wall_us = (double)(run.ended_ps - run.begun_ps) / 1e6;
  series->ledger.bursts -= run.ledger_before.bursts;
  for (uint32_t i = 0; i < WS_CAUSES; i++) { // those that were not examined then may be fewer now
    const uint64_t now = series->ledger.by[i].bursts, before = run.ledger_before.by[i].bursts;
    series->ledger.by[i].bursts = now > before ? now - before : 0;
  }
  return true;
}
