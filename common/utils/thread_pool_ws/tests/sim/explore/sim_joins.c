// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_joins.c
/// The random programs of stress/ws_joins.h and ws_loops.c on the simulated machine: sim_front_t
/// (sim_play.h). The only thread outside that the scenario has begins one, which makes further threads.
#include <math.h>

#include "../../stress/ws_joins.h"
#include "sim_checks.h"
#include "sim_cost.h"
#include "sim_heap.h"
#include "sim_libc.h"
#include "sim_play.h"

#define REST_PS (10 * SIM_PS_PER_US)
#define WORK_PS_MAX (300 * SIM_PS_PER_US)

static ws_joins_count_t count; ///< of all rounds so far
static bool spins;

static void make(uint32_t index)
{
  ws_settings_t settings;
  ws_joins_settings(sim_scene->seed, index, &settings);
  spins |= settings.spin_ns_max > 0;
  sim_heap_watch();
  const int result = ws_pool_create(&sim_pool[index], &settings);
  if (result < 0)
    sim_finding("a pool could not be made: %d", result);
}

static int push(ws_pool_t *pool, ws_task_t task)
{
  sim_frame_t frame = {.in = SIM_IN_PUSH, .outer = *sim_stack()};
  *sim_stack() = &frame;
  sim_task_before_call();
  const int result = ws_pool_push(pool, task);
  *sim_stack() = frame.outer;
  return result;
}

/// Each order of magnitude as likely.
static void work(uint64_t random)
{
  sim_work((sim_ps_t)pow((double)WORK_PS_MAX, (double)(random >> 11) * 0x1p-53));
}

static void rest(uint32_t times)
{
  sim_stack_hide(true);
  sim_sleep_until(sim_self->now_ps + (REST_PS << (times < 14 ? times : 14)));
  sim_stack_hide(false);
}

static void begins(uint32_t pool)
{
  sim_record_begun[pool]++;
}

static void wrong(const char *what)
{
  sim_finding("%s", what);
}

static void play(const sim_burst_t *burst, uint32_t pool, uint32_t depth)
{
  static ws_joins_host_t host = {.push = push, .work = work, .rest = rest, .begins = begins, .wrong = wrong};
  for (uint32_t i = 0; i < sim_scene->pools; i++)
    host.pool[i] = sim_pool[i];
  const ws_joins_count_t played =
      (sim_scene->seed < SIM_LOOPS_FIRST ? ws_joins_play : ws_loops_play)(&host, sim_scene->seed);
  count.tasks += played.tasks;
  count.waits += played.waits;
}

static void stop(uint32_t index)
{
  const int64_t result = ws_pool_stop(sim_pool[index], WS_STOP_DRAIN);
  if (result != 0)
    sim_finding("the stop of pool %u returned %lld", index, (long long)result);
}

static void destroy(uint32_t index, bool stopped)
{
  ws_pool_destroy(sim_pool[index]);
  sim_pool[index] = NULL;
}

static void end(void)
{
  if (sim_scene->seed >= SIM_LOOPS_FIRST)
    return; // stacks of fibers, and a thread for their time limits, stay
  sim_quiet_check_end();
  if (!spins)
    sim_cost_check(count.tasks, count.waits);
}

static void hint(const sim_burst_t *burst, bool begins_now) {}

static void do_nothing(void) {}

const sim_front_t sim_joins_front = {
    .make = make,
    .stop = stop,
    .destroy = destroy,
    .hint = hint,
    .burst = play,
    .look = do_nothing,
    .end = end,
};
