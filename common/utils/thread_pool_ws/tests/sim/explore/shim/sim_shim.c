// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_shim.c
/// sim_shim.h.
#define _GNU_SOURCE
#include "sim_shim.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utils/system.h"
#include "sim_checks.h"
#include "sim_heap.h"
#include "sim_libc.h"
#include "sim_record.h"

#define RETRY_PS (100 * SIM_PS_PER_US)
#define HINT_PS (20 * SIM_PS_PER_US)

static const sim_pool_plan_t *making; ///< the pool that is made

static bool is_made[SIM_POOLS_MAX];
static const ws_tpool_t *behind[SIM_POOLS_MAX];

static void write_params(const sim_pool_plan_t *plan, char *text)
{
  static const char *const modes[] = {"off", "fixed", "auto", "hot"};
  size_t length = 0;
  for (uint32_t i = 0; i < plan->workers; i++)
    length += (size_t)sprintf(text + length, "%d,", plan->pinned ? plan->core[i] : -1);
  if (plan->workers == 0)
    length += (size_t)sprintf(text, "n,");
  if (plan->spin == WS_SPIN_FIXED)
    sprintf(text + length, "spin=fixed:%.0f", plan->lead_us);
  else
    sprintf(text + length, "spin=%s", modes[plan->spin]);
}

void sim_shim_make_begin(uint32_t index, char params[SIM_SHIM_PARAMS_BYTES])
{
  const sim_pool_plan_t *plan = &sim_scene->pool[index];
  static bool silent;
  if (!silent) { // what the shim says about each pool
    silent = freopen("/dev/null", "w", stderr) != NULL;
    clearenv();
  }
  sim_heap_watch();
  sim_may_pin = plan->pinned || plan->class >= WS_CLASS_RR;
  making = plan;
  sim_guardless = plan->no_guard;
  sim_fault.map_share = 0; // the shim ends the process when there is no memory for a pool
  write_params(plan, params);
}

void sim_shim_look(void)
{
  for (uint32_t i = 0; i < SIM_POOLS_MAX; i++)
    sim_pool[i] = is_made[i] ? behind[i]->pool : NULL;
}

void sim_shim_make_end(uint32_t index, const ws_tpool_t *tpool)
{
  sim_fault.create_share = sim_scene->fault.create_share;
  sim_fault.map_share = sim_scene->fault.map_share;
  behind[index] = tpool;
  is_made[index] = true;
  sim_shim_look();
}

bool sim_shim_is_made(uint32_t index)
{
  return is_made[index];
}

void sim_shim_destroy(uint32_t index, bool stopped) {}

void threadCreate(pthread_t *thread, void *(*func)(void *), void *arg, char *name, int affinity, int priority)
{
  while (pthread_create(thread, NULL, func, arg) != 0)
    sim_sleep_until(sim_self->now_ps + RETRY_PS);
  pthread_setname_np(*thread, name);
  if (sim_may_pin && making->class >= WS_CLASS_RR && priority > 0)
    pthread_setschedparam(*thread, SCHED_RR, &(struct sched_param){.sched_priority = making->priority});
  if (!sim_may_pin || affinity < 0)
    return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)affinity, &set);
  sched_setaffinity((pid_t)*thread, sizeof(set), &set); // a simulated thread's id is its kernel's number
}

bool sim_shim_is_hinted(const sim_burst_t *burst, bool begins)
{
  if (!is_made[burst->pool] || !begins || burst->hint == SIM_HINT_NONE)
    return false;
  sim_work(HINT_PS);
  return true;
}

typedef struct {
  uint32_t index;
  void (*abort_pool)(uint32_t index);
} abort_t;

static void *abort_thread(void *abort_arg)
{
  const abort_t *it = abort_arg;
  it->abort_pool(it->index);
  return NULL;
}

void sim_shim_abort(uint32_t index, void (*abort_pool)(uint32_t index))
{
  abort_t other = {index, abort_pool};
  pthread_t thread;
  const bool two = sim_scene->pool[index].aborts && pthread_create(&thread, NULL, abort_thread, &other) == 0;
  abort_pool(index);
  if (two)
    pthread_join(thread, NULL);
}

static void check_run(uint32_t first)
{
  for (uint32_t i = first; i < sim_records; i++) {
    const sim_record_t *record = &sim_record[i];
    const bool dropped = sim_record_aborting[record->pool];
    if (record->state == SIM_RECORD_RUNNING || (record->state != SIM_RECORD_DONE && !dropped))
      sim_finding("task %u did not run, or did not end (state %d)", i, (int)record->state);
  }
}

/// Also a program that never ends its pools waits for its own tasks.
static void await_tasks(void)
{
  for (uint32_t i = 0; i < sim_scene->pools; i++)
    if (sim_pool[i])
      ws_pool_wait(sim_pool[i]);
}

uint32_t sim_shim_end(void)
{
  static uint32_t round_first;
  const uint32_t first = round_first;
  if (sim_scene->destroys)
    await_tasks();
  else
    sim_quiet_check_end();
  check_run(first);
  round_first = sim_records;
  memset(is_made, 0, sizeof(is_made));
  return first;
}
