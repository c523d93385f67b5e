// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_start.c
/// ws_setup.h: make the workers' threads. If the system refuses a thread, a CPU or a class, there is one
/// warning for each cause, and the pool works without it.
#define _GNU_SOURCE
#include "../sleep/ws_helper.h"
#include "ws_setup.h"

#include <sched.h>
#include <signal.h>

#include "../core/ws_run.h"
#include "../pool/ws_callback.h"
#include "../pool/ws_process.h"
#include "../sleep/ws_affinity.h"
#include "../sleep/ws_guard.h"
#include "../sleep/ws_idle.h"

/// [ws_class_t]
static const struct {
  const char *name;
  int policy;
} classes[] = {{"INHERIT", 0}, {"OTHER", SCHED_OTHER}, {"RR", SCHED_RR}, {"FIFO", SCHED_FIFO}};

/// Set name, signals, class and CPU of the calling worker. Its start has the errors of the last two. With
/// settings.thread_create the host sets these.
static void set_thread(ws_worker_t *worker, const ws_settings_t *settings)
{
  const int policy = classes[settings->sched_class].policy;
  const struct sched_param param = {.sched_priority = policy == SCHED_OTHER ? 0 : settings->sched_priority};
  pthread_setname_np(worker->thread, worker->name); // here: the observer finds the name, and may change it
  pthread_sigmask(SIG_SETMASK, &worker->pool->signals, NULL);
  if (settings->sched_class != WS_CLASS_INHERIT)
    worker->start.class_error = pthread_setschedparam(worker->thread, policy, &param);
  if (worker->cpu >= 0) // now: it may need the class to get that CPU
    worker->start.pin_error = ws_os_pin(0, (uint32_t)worker->cpu);
}

static void read_class(ws_worker_t *worker, int32_t tid)
{
  worker->start.priority = ws_os_priority(tid);
  worker->realtime = worker->start.priority > 0;
}

/// Runs on the worker's thread, before its first task.
static void set_up_worker(ws_worker_t *worker)
{
  ws_self_t *self = ws_self();
  self->worker = worker;
  self->runs_in = worker->pool;
  ws_hint_store(&worker->tid, (uint32_t)ws_os_tid());
  worker->thread = pthread_self();
  if (!worker->pool->settings.thread_create)
    set_thread(worker, &worker->pool->settings);
  ws_idle_prepare(worker);
  worker->start.slack_ns = ws_os_timer_slack(1);
  read_class(worker, 0);
  ws_deque_touch(&worker->queue.deque);
  ws_hint_store(&worker->seen_cpu, (uint32_t)(ws_os_cpu() + 1));
}

/// From its begin to its end. A worker that was left behind joins the pool here.
static void *worker_thread(void *worker_arg)
{
  ws_worker_t *worker = worker_arg;
  set_up_worker(worker);
  ws_observe(worker, WS_OBSERVED_START);
  // [edge START acq_rel] what set_up_worker wrote
  if (ws_xchg_acq_rel(&worker->start.state, WS_START_DONE) == WS_START_BEHIND) {
    ws_worker_goes_on(worker->pool);
    ws_affinity_begin(worker);
  }
  ws_add_release(&worker->pool->started, 1); // [edge START release] for the end of the thread
  ws_os_futex_wake(&worker->pool->started, WS_SLEEPERS_ALL);
  ws_started_wait(worker->pool, WS_STARTED_ALL, WS_STARTED_ALL, 0);
  ws_worker_loop(worker);
  ws_observe(worker, WS_OBSERVED_STOP);
  return NULL;
}

/// @param patience_ns  as ws_os_thread_create(); a host's function is called once
/// @return 0 or an error number
static int create_thread(ws_worker_t *worker, uint64_t patience_ns)
{
  const ws_settings_t *settings = &worker->pool->settings;
  if (settings->thread_create)
    return settings->thread_create(settings->create_arg, worker->index, worker->cpu, worker_thread, worker);
  pthread_t thread; // not the worker's field, which its own thread writes
  return ws_os_thread_create(&thread, settings->stack_bytes, patience_ns, worker_thread, worker);
}

/// Make the workers without a thread, until the system refuses one. On the guard's thread, which has its
/// creator's class and CPUs as long as it calls this. A pool that is being stopped makes none; the end of the
/// guard comes before that of the workers. @return whether any were missing before the call
static bool make_missing(struct ws_pool_s *pool)
{
  const uint32_t had = ws_hint_load(&pool->obtained);
  for (uint32_t next = had; next < pool->workers && ws_hint_load(&pool->state) == WS_RUNNING
                            && create_thread(pool->worker[next], 0) == 0;)
    ws_hint_store(&pool->obtained, ++next);
  return had < pool->workers;
}

static void warn_behind(const ws_worker_t *worker)
{
  ws_warn(&worker->pool->settings,
          "worker %u (on CPU %d, -1 = any) has got no CPU for %u ms: the pool works without it until then. A"
          " real-time thread may hold it (ps -eLo tid,psr,cls,rtprio,comm)",
          worker->index, worker->cpu, (unsigned)(WS_START_NS_MAX / 1000000));
}

/// Go on without the worker if it has not started: it counts as blocked until it has. @return whether the
/// pool goes on without it
static bool leave_behind(ws_worker_t *worker)
{
  uint32_t begins = WS_START_BEGINS;
  ws_worker_blocks(worker->pool);
  if (ws_cas_acq_rel(&worker->start.state, &begins, WS_START_BEHIND)) // [edge START acq_rel]
    return true;
  ws_worker_goes_on(worker->pool);
  // [edge START acquire] it has started
  return ws_load_acquire(&worker->start.state) != WS_START_DONE;
}

/// The host's threads get their CPU and class from their creator, maybe after their start: look at what they
/// got. Another CPU is a pin_error.
static void check_host(ws_worker_t *worker)
{
  ws_cpuset_t cpus;
  read_class(worker, ws_tid(worker));
  if (worker->cpu < 0 || ws_os_thread_cpus(ws_tid(worker), &cpus) < 0)
    return; // not pinned; or it cannot be checked
  if (ws_os_cpuset_count(&cpus) != 1 || !ws_os_cpuset_has(&cpus, (uint32_t)worker->cpu))
    worker->start.pin_error = -EPERM;
}

static void warn_pin(const ws_worker_t *worker)
{
  const char *why = worker->start.pin_error == -EINVAL ? "no such CPU, offline, or outside the process's set"
                                                       : strerror(-worker->start.pin_error);
  ws_warn(&worker->pool->settings, "worker %u cannot run on CPU %d (%s): it floats; others are not reported",
          worker->index, worker->cpu, why);
}

static void warn_class(struct ws_pool_s *pool, int error)
{
  const char *why = error == EPERM ? WS_NEEDED_FOR_CLASS : strerror(error);
  ws_warn(&pool->settings, "workers cannot have class %s, priority %d (%s): they keep their creator's class",
          classes[pool->settings.sched_class].name, pool->settings.sched_priority, why);
}

/// Leave behind the workers that have not started. Of the others look at the CPU and class that each got, and
/// warn once about each kind that one did not get: without its CPU a worker floats. Count the pinned ones;
/// of a worker that is left behind it counts whether it is to be pinned.
static void report(struct ws_pool_s *pool, int32_t *cpu)
{
  bool pin_warned = false, class_warned = false;
  for (uint32_t i = 0; i < pool->workers; i++) {
    ws_worker_t *worker = pool->worker[i];
    if (leave_behind(worker)) {
      if (i < ws_hint_load(&pool->obtained))
        warn_behind(worker);
      pool->pinned += worker->cpu >= 0;
      continue;
    }
    if (pool->settings.thread_create)
      check_host(worker);
    if (worker->start.pin_error) {
      if (!pin_warned)
        warn_pin(worker);
      pin_warned = true;
      worker->cpu = cpu[i] = -1;
    }
    if (worker->start.class_error && !class_warned)
      warn_class(pool, worker->start.class_error);
    class_warned |= worker->start.class_error != 0;
    pool->pinned += worker->cpu >= 0;
    ws_affinity_begin(worker);
  }
}

/// Write the thread name "<name><index>" of at most 15 characters: the name is cut, the index never.
static void write_name(char out[16], const char *name, uint32_t index)
{
  const int digits = snprintf(NULL, 0, "%u", index);
  snprintf(out, 16, "%.*s%u", 15 - digits, name, index);
}

void ws_start_workers(struct ws_pool_s *pool, int32_t *cpu)
{
  uint32_t running = 0;
  pthread_sigmask(SIG_SETMASK, NULL, &pool->signals);
  // The guard comes first: it tries on with the others. Without any thread the pool would run its tasks
  // inside the push for life.
  const int guard_error = pool->requested > 0 ? ws_guard_create(pool, WS_START_NS_MAX) : 0;
  int error = guard_error;
  for (uint32_t i = 0; i < pool->requested; i++) {
    ws_worker_t *worker = pool->worker[i];
    worker->cpu = cpu[i];
    worker->index = i;
    worker->pool = pool;
    write_name(worker->name, pool->settings.name, i);
    error = error ? error : create_thread(worker, i == 0 ? WS_START_NS_MAX : WS_PATIENCE_NS);
    running += error == 0;
  }
  ws_init_store(&pool->obtained, running);
  if (error == EAGAIN && !guard_error && !pool->settings.thread_create)
    pool->make_missing = make_missing;
  if (error)
    ws_warn(&pool->settings, "only %u of %u workers could be started%s: %s", running, pool->requested,
            pool->make_missing ? " at once" : "", ws_os_refusal(error));
  pool->workers = pool->make_missing ? pool->requested : running;
  ws_hint_add(&ws_process.awake, pool->workers);
  ws_started_wait(pool, WS_STARTED_WORKERS, running, WS_START_NS_MAX);
  report(pool, cpu);
}
