// SPDX-License-Identifier: BSD-3-Clause
/// @file test_push.c
/// Pushes without memory, and pages of queues that go back to the kernel: what the pool asks the kernel for.
/// Full queues: scenes/full.c.
#include "../../support/ws_seam.h"

static ws_au32_t no_memory; ///< bool: no more memory can be mapped
static ws_au64_t released_bytes;
static ws_pool_t *pool;
static test_gate_t gate;
static ws_au64_t count;

static void *ws_os_map_seam(size_t bytes)
{
  return ws_load_relaxed(&no_memory) ? NULL : __real_ws_os_map(bytes);
}

static int ws_os_release_pages_seam(void *memory, size_t bytes)
{
  ws_add_relaxed(&released_bytes, bytes);
  return __real_ws_os_release_pages(memory, bytes);
}

/// The only worker stands.
static void begin(void)
{
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 2;
  settings.spin = WS_SPIN_OFF;
  test_gate_init(&gate);
  count = released_bytes = (ws_au64_t){0};
  pool = test_create(&settings);
  test_hold(pool, &gate, 1);
}

static void end(void)
{
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static void push(ws_priority_t priority)
{
  CU_ASSERT_EQUAL(
      ws_pool_push(pool, (ws_task_t){.func = test_count_task, .arg = &count, .priority = priority}), 0);
}

TEST_CASE(without_memory_the_push_runs_the_task)
{
  for (ws_priority_t priority = WS_PRIORITY_NORMAL; priority <= WS_PRIORITY_LOW; priority++) {
    begin();
    for (uint32_t i = 0; i < 2 && priority == WS_PRIORITY_NORMAL; i++)
      push(priority); // the queue is full; those of other priorities are not mapped yet
    ws_store_relaxed(&no_memory, 1);
    push(priority);
    CU_ASSERT_EQUAL(test_value(&count), 1);
    ws_store_relaxed(&no_memory, 0);
    push(priority);
    CU_ASSERT_EQUAL(test_value(&count), 1);
    test_gate_let(&gate, 1);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    end();
  }
}

static bool has_released_pages(void *unused)
{
  return test_value(&released_bytes) > 0 && test_stats(pool).queue_bytes == 0;
}

enum { BY_THE_GUARD, WITH_ALL_PARKED, WITHOUT_A_GUARD, WAYS };

/// With one CPU the pool has no watchdog: the worker gives the pages back when it parks.
static int play(void *way_arg)
{
  const int way = *(const int *)way_arg;
  if (way == WITHOUT_A_GUARD)
    test_use_cpus(1);
  begin();
  for (uint32_t i = 0; i < 500; i++)
    push(WS_PRIORITY_NORMAL);
  test_gate_let(&gate, 1);
  if (way == WITH_ALL_PARKED)
    test_until_quiet(pool); // the lane shrinks when its thread waits, long after
  const bool good = ws_pool_wait(pool) == 0 && test_until(has_released_pages, NULL);
  end();
  return good ? 0 : 1;
}

TEST_CASE(pages_go_back_to_the_kernel)
{
  for (int way = 0; way < WAYS; way++)
    CU_ASSERT_EQUAL(test_in_child(play, &way), 0);
}

TEST_MAIN_SEAMS("push", SEAM(ws_os_map), SEAM(ws_os_release_pages))
