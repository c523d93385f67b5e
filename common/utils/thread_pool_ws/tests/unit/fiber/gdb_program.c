// SPDX-License-Identifier: BSD-3-Clause
/// @file gdb_program.c
/// A program for test_gdb: fibers with names are parked when it calls all_are_parked().
#include <sched.h>

#include "../../../include/ws_fiber.h"
#include "../../../include/ws_sync.h"

void all_are_parked(void);

static ws_latch_t latch = WS_LATCH_INIT(1);

__attribute__((noinline)) static void wait_deep_inside(uint32_t depth)
{
  if (depth > 0)
    wait_deep_inside(depth - 1);
  else
    ws_latch_wait(&latch);
  __asm__ volatile(""); // no tail call
}

static void wait_for_all(void *unused)
{
  wait_deep_inside(3);
}

__attribute__((noinline)) void all_are_parked(void)
{
  __asm__ volatile("");
}

int main(void)
{
  static const char *const names[] = {"reader", "decoder", "writer"};
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = 2;
  ws_pool_t *pool;
  if (ws_pool_create(&pool, &settings) < 0)
    return 1;
  ws_fiber_options_t options;
  ws_fiber_options_default(&options);
  for (uint32_t i = 0; i < 3; i++) {
    options.name = names[i];
    if (ws_fiber_push(pool, wait_for_all, NULL, NULL, &options) < 0)
      return 1;
  }
  ws_fiber_stats_t stats;
  do {
    sched_yield();
    ws_fiber_stats(&stats);
  } while (stats.parked < 3);
  all_are_parked();
  ws_latch_count_down(&latch, 1);
  ws_pool_destroy(pool);
  return 0;
}
