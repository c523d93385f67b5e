// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"
#include "cpus.h"
#include "session.h"
#include "threads.h"

/// In the middle of the range: above normal threads, below the kernel's own.
#define RT_PRIORITY 50
/// A pool that has not started all its threads after this starts them on demand only.
#define START_NS_MAX 30000000u

static bool set_class(session_t *session, bool realtime)
{
  const struct sched_param param = {.sched_priority = realtime ? RT_PRIORITY : 0};
  const int32_t of_realtime = session->request->sched_class == CLASS_FIFO ? SCHED_FIFO : SCHED_RR;
  if (sched_setscheduler(0, realtime ? of_realtime : SCHED_OTHER, &param) == 0)
    return true;
  report_error(session->report, "cannot set the scheduling class of the producer: %s", strerror(errno));
  return false;
}

/// Tasks that hold their threads until all have arrived, so that each thread of the pool gets one.
typedef struct {
  _Atomic uint32_t arrived;
  uint32_t wanted;
  uint64_t deadline_ns;
} start_line_t;

static void run_start(void *arg)
{
  start_line_t *const line = arg;
  thread_count_task();
  atomic_fetch_add(&line->arrived, 1);
  while (atomic_load(&line->arrived) < line->wanted && clock_now_ns() < line->deadline_ns)
    usleep(50); // sleeps, because a real-time thread that spins here could keep the others from starting
}

/// Many pools start their threads on the first tasks, and those must inherit the class that holds right now.
static bool start_threads(session_t *session)
{
  const bench_backend_t *const backend = session->backend;
  start_line_t line = {
      .wanted = session->request->workers + (backend->waiter_helps ? 1 : 0),
      .deadline_ns = clock_now_ns() + START_NS_MAX,
  };
  const bench_task_t task = {.func = run_start, .arg = &line};
  session_arm(session, line.wanted);
  for (uint32_t i = 0; i < line.wanted; i++)
    backend->push(session->pool, &task);
  backend->wait(session->pool);
  return session_check_tasks(session, line.wanted);
}

static bool check_worker_class(session_t *session)
{
  uint32_t realtime;
  const uint32_t workers = threads_workers_seen(&realtime);
  const uint32_t wanted = session->request->sched_class == CLASS_OTHER ? 0 : workers;
  if (realtime == wanted)
    return true;
  report_error(session->report, "%u of %u workers are in a real-time class, %u expected", realtime, workers,
               wanted);
  return false;
}

/// @return whether what is asked for is what the tasks do before the wait
static bool looks_before_wait(bench_t bench)
{
  return bench == BENCH_STREAM || bench == BENCH_WAKE;
}

/// Runs where the backend lets us push.
static void measure(void *arg)
{
  session_t *const session = arg;
  threads_set_producer();
  if (session->backend->has_workers && !(start_threads(session) && check_worker_class(session)))
    return;
  if (session->request->sched_class == CLASS_RR && !set_class(session, false))
    return;
  if (session->backend->batches && looks_before_wait(session->request->bench)) {
    report_error(session->report, "n/a: the tasks of this pool start in its wait");
    return;
  }
  switch (session->request->bench) {
    case BENCH_SLOT:
    case BENCH_REPLAY:
      measure_slots(session);
      break;
    case BENCH_STREAM:
      measure_stream(session);
      break;
    case BENCH_COLISEUM:
      measure_coliseum(session);
      break;
    case BENCH_WAKE:
      measure_wake(session);
      break;
    default:
      measure_idle(session);
  }
}

static void report_info(session_t *session)
{
  const bench_backend_t *const backend = session->backend;
  report_text(session->report, "version", backend->version);
  report_bool(session->report, "waiter_helps", backend->waiter_helps);
  report_bool(session->report, "has_workers", backend->has_workers);
  report_bool(session->report, "nests", backend->fork_join != NULL);
  report_bool(session->report, "nested_push", backend->nested_push);
}

/// Most tasks that the request pushes between two waits.
static uint32_t tasks_max(const request_t *request)
{
  const uint32_t floor = request->bench == BENCH_IDLE ? IDLE_BURST_TASKS : 1;
  uint32_t most = request->workers + 1 > floor ? request->workers + 1 : floor;
  for (uint32_t i = 0; i < request->burst_count; i++)
    most = request->bursts[i].tasks > most ? request->bursts[i].tasks : most;
  if (request->bench == BENCH_STREAM && session_stream_tasks(request) > most)
    most = session_stream_tasks(request);
  return request->tasks > most ? request->tasks : most;
}

/// @return the table of the module beside this program; NULL after report_error()
static const bench_backend_t *load_backend(const char *name, report_t *report)
{
  char folder[PATH_MAX], path[PATH_MAX + 64];
  const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  folder[length > 0 ? length : 0] = '\0';
  char *const end = strrchr(folder, '/');
  if (end)
    *end = '\0';
  snprintf(path, sizeof path, "%s/libbench_%s.so", folder, name);
  void *const module = strchr(name, '/') ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const void *const found = module ? dlsym(module, "bench_backend") : NULL;
  if (!found)
    report_error(report, "backend '%s': %s", name, strchr(name, '/') ? "not a name" : dlerror());
  return found;
}

void serve(session_t *session, const request_t *request, report_t *report)
{
  *session = (session_t){.request = request, .report = report, .cores = cpus_count()};
  for (uint32_t i = 0; i < request->env_count; i++)
    putenv((char *)request->env[i]);
  session->backend = load_backend(request->backend, report);
  if (!session->backend)
    return;
  if (request->bench == BENCH_INFO) {
    report_info(session);
    return;
  }
  prctl(PR_SET_TIMERSLACK, 1);
  const bool realtime_workers = request->sched_class != CLASS_OTHER;
  if (!set_class(session,
                 request->sched_class >= CLASS_RRALL || (realtime_workers && !session->backend->sets_class)))
    return;
  const bench_settings_t settings = {
      .workers = request->workers,
      .hot = request->mode == MODE_HOT,
      .pin_first = request->pin_first,
      .pin_step = request->mode == MODE_PINNED ? request->pin_step : 0,
      .rt_priority = realtime_workers ? RT_PRIORITY : 0,
      .fifo = request->sched_class == CLASS_FIFO,
      .tasks_max = tasks_max(request),
  };
  if (request->mode == MODE_PINNED && !session->backend->pinned_cpu) {
    report_error(report, "n/a: this pool does not pin its workers");
    return;
  }
  if (request->bench == BENCH_COLISEUM)
    counters_open(&session->counters); // before the threads, which they follow from their creation on
  session->pool = session->backend->create(&settings);
  if (session->pool && request->mode == MODE_PINNED)
    cpus_pin(0, (uint32_t)session->backend->pinned_cpu(session->pool, request->workers));
  if (!session->pool)
    report_error(report, "backend '%s' cannot create a pool of %u workers", request->backend,
                 request->workers);
  else if (request->bench == BENCH_PI)
    measure_pi(session); // outside of a parallel region
  else if (session->backend->run)
    session->backend->run(session->pool, measure, session);
  else
    measure(session);
}
