// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_world.c
/// ws_world.h.
#include "ws_world.h"

#include "../../prewake/ws_prewake.h"
#include "../../sleep/ws_budget.h"
#include "../../sleep/ws_idle.h"
#include "../../sleep/ws_wake.h"
#include "ws_seam.h"

world_t world;
struct ws_pool_s world_pool;
ws_worker_t world_worker;
ws_prewake_pool_t world_prewake;
ws_prewake_worker_t world_worker_prewake;
ws_idle_t world_idle;
static ws_worker_t *world_workers[1] = {&world_worker};

static uint64_t ws_os_now_ns_seam(void)
{
  return world.now_ns += LOOK_NS;
}

static void ws_relax_seam(void)
{
  world.now_ns += TURN_NS + world.taken_ns;
  world.taken_ns = 0;
}

static void ws_os_yield_seam(void)
{
  world.offers++;
  world.now_ns += YIELD_NS;
}

/// What a push does that comes while a worker looks.
static bool ws_work_visible_seam(ws_tasks_t *tasks)
{
  const bool visible = tasks == &world_pool.tasks && world.now_ns >= world.visible_ns;
  if (visible && !world.pushed && ws_load_relaxed(&world_pool.quiet))
    ws_prewake_arrived(&world_pool, world.visible_ns);
  world.pushed |= visible;
  return visible;
}

static bool ws_may_spin_seam(const struct ws_pool_s *seen, uint32_t more)
{
  return more == 0 || __real_ws_may_spin(seen, more);
}

static bool ws_process_awake_leave_seam(uint32_t limit)
{
  return false;
}

static bool ws_producer_on_cpu_seam(const struct ws_pool_s *seen, int32_t cpu)
{
  return world.producer_here;
}

void world_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
  seam.ws_relax = ws_relax_seam;
  seam.ws_os_yield = ws_os_yield_seam;
  seam.ws_work_visible = ws_work_visible_seam;
  seam.ws_may_spin = ws_may_spin_seam;
  seam.ws_process_awake_leave = ws_process_awake_leave_seam;
  seam.ws_producer_on_cpu = ws_producer_on_cpu_seam;
}

void world_begin(ws_spin_t spin)
{
  memset(&world_pool, 0, sizeof(world_pool));
  memset(&world_worker, 0, sizeof(world_worker));
  memset(&world_prewake, 0, sizeof(world_prewake));
  memset(&world_worker_prewake, 0, sizeof(world_worker_prewake));
  memset(&world, 0, sizeof(world));
  world_pool.worker = world_workers;
  world_pool.prewake = &world_prewake;
  world_worker.prewake = &world_worker_prewake;
  ws_settings_default(&world_pool.settings);
  world_pool.id = UINT64_MAX; // that of no pool whose lane the thread has had in another test
  world_pool.workers = world_pool.tasks.mask_words = 1;
  world_pool.cpus = 4;
  ws_store_relaxed(&ws_sleep_pool(&world_pool)->spin_cpus, world_pool.cpus);
  ws_store_relaxed(&ws_sleep_pool(&world_pool)->spin, spin);
  ws_store_relaxed(&ws_sleep_pool(&world_pool)->spin_percent, world_pool.settings.spin_cpu_max_percent);
  world_worker.pool = &world_pool;
  world.now_ns = 1000 * MS;
  world.visible_ns = UINT64_MAX;
  world.waking_ns = 20 * US;
}

uint64_t world_count(const ws_au64_t *counter)
{
  return ws_load_relaxed(counter);
}

uint64_t world_spun(void)
{
  return world_count(&world_worker.queue.count.spin_ns);
}

uint64_t world_plan(void)
{
  ws_sleep_worker(&world_worker)->called_ns = 0;
  return ws_prewake_plan(&world_worker, ws_os_now_ns_seam());
}

void world_wake(ws_wake_by_t by)
{
  ws_sleep_worker_t *sleep = ws_sleep_worker(&world_worker);
  sleep->rose_ns = ws_os_now_ns_seam();
  world_idle.called_ns = sleep->called_ns;
  world_idle.until_ns = ws_prewake_woken(&world_worker, by, sleep->rose_ns, sleep->called_ns);
}

/// The worker parks, and is woken by its own timer or by the burst.
static void sleep_in_world(void)
{
  const uint64_t alarm_ns = world_plan();
  ws_store_relaxed(&ws_sleep_worker(&world_worker)->state, WS_STATE_SEARCHING + WS_STATE_RELIED);
  ws_store_relaxed(&ws_sleep_pool(&world_pool)->sleepers[0], 1);
  if (alarm_ns != 0 && alarm_ns < world.visible_ns && ws_may_spin(&world_pool, 1)) {
    world.now_ns = (alarm_ns > world.now_ns ? alarm_ns : world.now_ns) + world.waking_ns;
    world.rises++;
    ws_store_relaxed(&ws_sleep_pool(&world_pool)->sleepers[0], 0);
    world_wake(WS_WAKE_TIMER);
    return;
  }
  if (world.visible_ns > world.now_ns)
    world.now_ns = world.visible_ns;
  if (!world.pushed)
    ws_prewake_arrived(&world_pool, world.visible_ns);
  world.pushed = true;
  ws_store_relaxed(&ws_sleep_pool(&world_pool)->sleepers[0], 0);
  ws_sleep_worker(&world_worker)->called_ns = world.now_ns;
  world.now_ns += world.waking_ns;
  world_wake(WS_WAKE_PUSH);
}

void world_gap(uint64_t gap_ns, uint64_t busy_ns)
{
  world.visible_ns = world.now_ns + gap_ns;
  world.pushed = false;
  world_idle = ws_idle_begin(&world_worker, true);
  while (!ws_spin(&world_worker, &world_idle)) {
    sleep_in_world();
    if (world.pushed)
      break;
    ws_idle_go_on(&world_idle);
  }
  world.late_ns += world.now_ns - world.visible_ns;
  ws_idle_end(&world_worker, &(ws_idle_t *){&world_idle});
  ws_store_relaxed(&ws_sleep_worker(&world_worker)->state, WS_STATE_RUNNING);
  ws_store_relaxed(&ws_sleep_pool(&world_pool)->searching[0].workers, 0);
  world.now_ns += busy_ns;
}

uint64_t world_spun_in(uint64_t gap_ns)
{
  const uint64_t before_ns = world_spun();
  world_gap(gap_ns, 50 * US);
  return world_spun() - before_ns;
}

bool world_about(uint64_t value_ns, uint64_t wanted_ns)
{
  const uint64_t slack_ns = 2 * US + wanted_ns / 50;
  return value_ns + slack_ns >= wanted_ns && value_ns <= wanted_ns + slack_ns;
}

uint64_t world_bursts(series_t *series, uint32_t count)
{
  const uint64_t before_ns = world.late_ns;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t at_ns = series_next(series);
    while (at_ns <= world.now_ns)
      at_ns = series_next(series);
    world_gap(at_ns - world.now_ns, 50 * US);
  }
  return world.late_ns - before_ns;
}

series_t world_slots(uint64_t jitter_ns)
{
  series_t series = series_of("U", (int64_t)jitter_ns, series_seed());
  series.start_ns = world.now_ns + SLOT_NS;
  return series;
}
