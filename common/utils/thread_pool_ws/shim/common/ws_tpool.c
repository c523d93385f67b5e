// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool.c
/// ws_tpool.h.
#include "ws_tpool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assertions.h"
#include "common/utils/system.h"
#include "ws_pool.h"
#include "ws_tpool_cores.h"
#include "ws_tpool_log.h"
#include "ws_tpool_report.h"

#ifndef WS_SHIM_SHAPE
#define WS_SHIM_SHAPE "?"
#endif
#ifndef WS_VERSION
#define WS_VERSION "?"
#endif
#ifdef OAI_PRIORITY_RT_MAX
#define WORKER_PRIORITY OAI_PRIORITY_RT_MAX
#else
#define WORKER_PRIORITY OAI_PRIORITY_RT // before v2.1.0
#endif

#define SPIN_SHOWN 64 ///< bytes for a mode in words
#define NAME_SHOWN 64 ///< bytes for a pool's name with its number
#define CORES_SHOWN 100 ///< bytes for a list of cores

/// All objects ever made. A closed one may have no other pointer to it.
static ws_tpool_t *all;

static ws_tpool_t *make(void)
{
  ws_tpool_t *tpool = calloc(1, sizeof(*tpool));
  AssertFatal(tpool != NULL, "thread_pool_ws: out of memory for a thread pool\n");
  tpool->trace_fd = -1;
  tpool->next = __atomic_load_n(&all, __ATOMIC_RELAXED); // relaxed: the list is never read
  // relaxed: the list is never read
  while (!__atomic_compare_exchange_n(&all, &tpool->next, tpool, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
  return tpool;
}

/// Arguments of threadCreate for the workers.
typedef struct {
  const char *name;
  const int32_t *cores;
} threads_t;

static int create_thread(void *threads_arg, uint32_t index, int32_t unused, void *(*func)(void *), void *arg)
{
  (void)unused; // the pool's CPU is -1 if threadCreate will not pin
  const threads_t *threads = threads_arg;
  const int32_t core = threads->cores[index];
  char full_name[64];
  snprintf(full_name, sizeof(full_name), "%.40s%u_%d", threads->name, index, core);
  pthread_t thread;
  threadCreate(&thread, func, arg, full_name, core, WORKER_PRIORITY); // ends the process when it fails
  return 0;
}

/// @param shown    the pool's name, for traces
/// @param threads  must live until the pool is created
static void fill_settings(ws_tpool_params_t *params, const char *shown, threads_t *threads)
{
  ws_settings_t *settings = &params->settings;
  settings->workers = params->count;
  // Without the capability threadCreate pins no thread. warn_of_lost_priority reports that once a process.
  // The pool would report it once more, for each pool.
  settings->cores = ws_tpool_may_pin() ? params->cores : NULL;
  settings->core_count = settings->cores ? params->count : 0;
  settings->full = WS_FULL_GROW; // OAI's pushes are unlimited
  settings->fifo = true; // OAI's own pool starts tasks in that order, and some callers count on it
  settings->name = shown;
  settings->thread_create = create_thread; // names the threads
  settings->create_arg = threads;
}

static ws_pool_t *create_pool(const ws_settings_t *settings, const char *name)
{
  ws_pool_t *pool = NULL;
  const int result = ws_pool_create(&pool, settings);
  if (result < 0) {
    ws_tpool_say("thread_pool_ws: cannot create pool %s with %u threads: %s", name, settings->workers,
                 strerror(-result));
    exit(EXIT_FAILURE);
  }
  return pool;
}

static void describe_spin(const ws_settings_t *settings, char out[SPIN_SHOWN])
{
  if (settings->spin == WS_SPIN_OFF)
    snprintf(out, SPIN_SHOWN, "spin off");
  else if (settings->spin == WS_SPIN_HOT)
    snprintf(out, SPIN_SHOWN, "spin hot: workers busy-poll");
  else if (settings->spin == WS_SPIN_FIXED)
    snprintf(out, SPIN_SHOWN, "spin fixed %g us", (double)settings->spin_lead_ns / 1000);
  else
    snprintf(out, SPIN_SHOWN, "spin auto (at most %u %% of a core each)", settings->spin_cpu_max_percent);
}

static void log_inline(const char *name)
{
  ws_tpool_say("thread_pool_ws %s: shape %s, pool %s: no workers, tasks run inline", WS_VERSION,
               WS_SHIM_SHAPE, name);
}

/// Without a number or -1 a list makes no thread. A list with settings was probably meant to.
static void warn_of_no_thread(const char *name, const ws_tpool_params_t *params)
{
  if (!params->says_inline && params->text[strspn(params->text, ", \t\r\n")] != '\0')
    ws_tpool_say("thread_pool_ws: pool %s: the list of cores \"%.100s\" has settings and no thread, so the "
                 "pool has no workers. Add -1 to the list for each worker, or n for a pool without workers",
                 name, params->text);
}

/// OAI requests real-time threads, and its log does not report that it got none.
static void warn_of_lost_priority(const char *name)
{
  static uint32_t warned; // bool; RISC-V exchanges no bytes without libatomic
  if (__atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED)) // relaxed: only which is the first
    return;
  if (ws_tpool_may_pin())
    ws_tpool_say("thread_pool_ws: the workers of pool %s have no real-time priority, although the process "
                 "has CAP_SYS_NICE: check the limit (ulimit -r; docker run --ulimit rtprio=99) and the "
                 "control group's real-time budget (cpu.rt_runtime_us)",
                 name);
  else
    ws_tpool_say("thread_pool_ws: the workers of pool %s have no real-time priority and are not "
                 "pinned, because the process lacks CAP_SYS_NICE: slots will be late under load. Run as "
                 "root, or: sudo setcap cap_sys_nice+ep <program>; systemd: "
                 "AmbientCapabilities=CAP_SYS_NICE; docker run --cap-add SYS_NICE",
                 name);
}

/// The list is valid, and its threads cannot run at the same time.
static void warn_of_place(const char *name, const ws_settings_t *settings)
{
  char cpus[CORES_SHOWN];
  switch (ws_tpool_cores_place(settings->cores, settings->workers, cpus, sizeof(cpus))) {
    case WS_TPOOL_ONE_CORE:
      ws_tpool_say("thread_pool_ws: all %u workers of pool %s share one core (CPU %s). Name other cores in "
                   "--thread-pool, or start the process on more CPUs (taskset, AllowedCPUs=); nrbench doctor "
                   "--layout %u proposes some",
                   settings->workers, name, cpus, settings->workers);
      break;
    case WS_TPOOL_ISOLATED:
      ws_tpool_say(
          "thread_pool_ws: workers of pool %s float over isolated CPUs (%s), where the kernel keeps "
          "all of them on one. Pin each one: name its core in --thread-pool; nrbench doctor --layout "
          "%u proposes some",
          name, cpus, settings->workers);
      break;
    case WS_TPOOL_APART:
      break;
  }
}

static void log_start(const char *name, const ws_tpool_t *tpool, const ws_tpool_params_t *params)
{
  ws_stats_t stats;
  char spin[SPIN_SHOWN], cores[CORES_SHOWN];
  ws_pool_stats(tpool->pool, &stats, NULL, 0);
  describe_spin(&params->settings, spin);
  ws_tpool_params_text(params, cores, sizeof(cores));
  ws_tpool_say("thread_pool_ws %s: shape %s, pool %s: %u workers (%u pinned, %u real-time) on %u CPUs, core "
               "list %s, %s",
               WS_VERSION, WS_SHIM_SHAPE, name, stats.workers, stats.workers_pinned, stats.workers_realtime,
               stats.cpus, cores, spin);
  if (stats.workers_realtime < stats.workers)
    warn_of_lost_priority(name);
  warn_of_place(name, &params->settings);
}

/// Ends the process in the same cases as threadCreate, but with a message that names the entry and the valid
/// cores.
static void check_cores(const ws_tpool_params_t *params, const char *name)
{
  if (!params->text || !ws_tpool_may_pin()) // no text, or threadCreate will not pin
    return;
  const int64_t bad = ws_tpool_cores_bad(params->cores, params->count);
  if (bad < 0)
    return;
  char there[CORES_SHOWN];
  ws_tpool_cores_text(there, sizeof(there));
  ws_tpool_say("thread_pool_ws: pool %s: entry %u \"%d\" of the list of cores is not a core that this "
               "process can use (cores: %s; -1 for a thread that is not pinned)",
               name, params->entry[bad], params->cores[bad], there);
  exit(EXIT_FAILURE);
}

/// @return parameters without threads, with the settings of the environment
static ws_tpool_params_t prepare(void)
{
  ws_tpool_params_t params = {.count = 0};
  ws_settings_default(&params.settings);
  params.settings.warn = ws_tpool_warn_once; // all pools read the same environment
  ws_settings_environment(&params.settings);
  params.settings.warn = ws_tpool_warn;
  return params;
}

static void warn_of_list(void *text_arg, const char *message)
{
  ws_tpool_say("thread_pool_ws: thread pool parameters \"%.100s\": %s", (const char *)text_arg, message);
}

ws_tpool_params_t ws_tpool_read(const char *text)
{
  ws_tpool_params_t params = prepare();
  params.settings.warn = warn_of_list;
  params.settings.warn_arg = (void *)text;
  const int result = ws_tpool_params_read(&params, text);
  if (result == -ENOMEM)
    warn_of_list((void *)text, "no memory");
  if (result < 0)
    exit(EXIT_FAILURE);
  params.settings.warn = ws_tpool_warn;
  return params;
}

ws_tpool_params_t ws_tpool_floating(int count)
{
  ws_tpool_params_t params = prepare();
  if (count < 0 || ws_tpool_params_float(&params, (uint32_t)count) < 0) {
    ws_tpool_say("thread_pool_ws: cannot create a thread pool of %d threads", count);
    exit(EXIT_FAILURE);
  }
  return params;
}

ws_tpool_t *ws_tpool_open(ws_tpool_params_t *params, const char *name)
{
  static uint32_t pools;
  const char *threads_name = name ? name : "Tpool";
  char shown[NAME_SHOWN];
  snprintf(shown, sizeof(shown), "%.40s#%u", threads_name,
           __atomic_add_fetch(&pools, 1, __ATOMIC_RELAXED)); // relaxed: only has to be unique
  ws_tpool_t *tpool = make();
  tpool->threads = params->count > 0;
  if (tpool->threads) {
    check_cores(params, shown);
    threads_t threads = {.name = threads_name, .cores = params->cores};
    fill_settings(params, shown, &threads);
    tpool->hints = params->settings.spin != WS_SPIN_OFF;
    const bool report = params->settings.report;
    params->settings.report = false; // it is printed here, where the pool's name is known
    tpool->pool = create_pool(&params->settings, shown);
    tpool->workers = params->count;
    log_start(shown, tpool, params);
    if (report)
      ws_tpool_report_later(tpool, shown);
  } else {
    warn_of_no_thread(shown, params);
    log_inline(shown);
  }
  ws_tpool_params_free(params);
  return tpool;
}

void ws_tpool_close(ws_tpool_t *tpool)
{
  if (!tpool->threads)
    return;
  const int64_t stopped = ws_pool_stop(tpool->pool, WS_STOP_DRAIN);
  AssertFatal(stopped != -EDEADLK, "thread_pool_ws: a task cannot abort the pool that runs it\n");
  ws_tpool_report(tpool);
  ws_tpool_shut(tpool);
}
