// SPDX-License-Identifier: BSD-3-Clause
/// @file every_event.c
/// every_event <provider's library>   A pool of one worker that records each kind of event at least once.
/// Nothing depends on time: a step waits until the worker has done it.
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "trace/ws_probe.h"
#include "ws_pool.h"
#include "ws_stats.h"
#include "ws_trace.h"
#include "ws_trace_slot.h"

#define TASKS 12u

static ws_pool_t *pool;
static atomic_bool done;

static void users(void *arg)
{
  (void)arg;
}

static void as_users(void *arg)
{
  ws_trace_run_as(users, arg);
}

static void stolen(void *arg)
{
  (void)arg;
  atomic_store(&done, true);
}

static bool is_done(void *arg)
{
  return atomic_load((atomic_bool *)arg);
}

static void sleep_once(void *arg)
{
  atomic_store((atomic_bool *)arg, true);
}

static void wake(void) // what parks twice was woken once
{
  ws_stats_t stats;
  ws_worker_stats_t worker;
  do {
    ws_pool_prewake(pool, 1, 0);
    sched_yield();
    ws_pool_stats(pool, &stats, &worker, 1);
  } while (worker.parks < 2);
}

static void phase(ws_trace_phase_t kind, uint32_t slot)
{
  ws_group_t group;
  ws_trace_phase_begin(kind, 7, slot, 3);
  ws_group_init(&group, TASKS);
  for (uint32_t i = 0; i < TASKS; i++)
    if (ws_pool_push(pool, (ws_task_t){.func = as_users, .arg = &group, .group = &group}) < 0)
      abort();
  ws_group_wait(&group, pool);
  ws_trace_phase_end(kind);
}

int main(int words, char **word)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.deadline_ns = 1; // so each burst is late
  settings.workers = 1;
  settings.name = "every";
  if (words != 2 || ws_pool_create(&pool, &settings) < 0)
    return 1;
  ws_pool_await(pool, NULL, &(ws_event_t){.ready = is_done, .sleep = sleep_once, .arg = &done});
  atomic_store(&done, false);
  wake();
  if (ws_pool_push(pool, (ws_task_t){.func = stolen}) < 0)
    return 1;
  while (!atomic_load(&done)) // this thread does not help
    sched_yield();
  phase(WS_TRACE_SYMBOL_PROCESSING, 1);
  phase(WS_TRACE_ULSCH_DECODING, 1);
  ws_pool_destroy(pool);
  void *library = dlopen(word[1], RTLD_NOW | RTLD_NOLOAD);
  const ws_provider_t *provider = library ? dlsym(library, WS_PROVIDER_NAME) : NULL;
  if (!provider || !provider->records())
    return 2;
  return 0;
}
