// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_trim.c
/// Stacks that are idle for long: their memory and their mappings go back. The clock is the test's, and the
/// kernel may refuse. That the thread for time limits does so is a scene.
#include <stdio.h>

#include "../../../fiber/ws_stack.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

static bool refuses; ///< to close stacks
static uint32_t refused;

static bool ws_os_close_pages_seam(void *memory, size_t bytes)
{
  refused += refuses;
  return !refuses && __real_ws_os_close_pages(memory, bytes);
}

/// So slow that no stack is idle for long.
static uint64_t ws_os_now_ns_seam(void)
{
  return __real_ws_os_now_ns() / 64;
}

static ws_latch_t latch;

static void wait_for_latch(void *unused)
{
  (void)unused;
  static volatile size_t half = WS_FIBER_STACK_BYTES / 2;
  const size_t bytes = half; // no constant: else the memory may lie on a sanitizer's stack
  volatile char *used = __builtin_alloca(bytes);
  for (size_t i = 0; i < bytes; i += 1024)
    used[i] = 1;
  note(ws_latch_wait(&latch) == 0);
}

#define FIBERS 100u

/// Have a pool of its own park fibers, and have them end. This thread runs none of them: afterwards all their
/// stacks are shared. @return number of stacks
static uint64_t use_stacks(uint32_t stack_bytes)
{
  const ws_fiber_options_t options = {.stack_bytes = stack_bytes};
  ws_pool_t *pool = test_pool(1);
  ws_latch_init(&latch, 1);
  ws_group_init(&scene.group, FIBERS);
  for (uint32_t i = 0; i < FIBERS; i++)
    note(ws_fiber_push(pool, wait_for_latch, NULL, &scene.group, &options) == 0);
  note(await_parked(FIBERS));
  ws_latch_count_down(&latch, 1);
  note(test_until(is_done, &scene.group));
  test_destroy(pool);
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  return stats.stacks;
}

/// @return shared stacks
static uint64_t shared(void)
{
  uint64_t sum = 0;
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++)
    for (const ws_free_stack_t *node = ws_fiber_process.shelf[i].newest; node; node = node->older)
      sum++;
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  return sum;
}

static bool any_slab(void)
{
  pthread_mutex_lock(&ws_fiber_process.stack_lock);
  const bool any = ws_fiber_process.slabs != NULL;
  pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  return any;
}

static uint64_t stacks(void)
{
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  return stats.stacks;
}

/// @return mappings of the process
static uint32_t mappings(void)
{
  uint32_t lines = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  for (int letter; maps && (letter = fgetc(maps)) != EOF;)
    lines += letter == '\n';
  if (maps)
    fclose(maps);
  return lines;
}

#define OTHER_MAPPINGS_MAX 20u ///< of the C library, for a new thread or file; sanitizers have more

static void trim_all(void)
{
  while (ws_stack_trim(ws_os_now_ns() + 2 * WS_STACK_IDLE_NS) != 0)
    ;
}

/// Trimmed too early: nothing happens, and the result is the time for the next look. Trimmed later: nothing
/// is left, neither of the stacks nor of their mappings.
static int trim_by_call(void *unused)
{
  (void)unused;
  scene_begin(1);
  const uint32_t before = mappings();
  bool good = use_stacks(WS_FIBER_STACK_BYTES) == FIBERS && shared() == FIBERS;
  const uint32_t during = mappings();
  good = good && ws_stack_trim(ws_os_now_ns()) > ws_os_now_ns() && shared() == FIBERS;
  trim_all();
  const uint32_t after = mappings();
  printf("mappings: %u, with %u stacks %u, then %u\n", before, FIBERS, during, after);
  good = good && shared() == 0 && stacks() == 0 && !any_slab();
  good = good && during >= before + 2 * FIBERS && (TEST_SANITIZED || after <= before + OTHER_MAPPINGS_MAX);
  good = good && use_stacks(WS_FIBER_STACK_BYTES) == FIBERS; // new ones
  return child_result(good);
}

/// Some stacks are in use, one in each slab: the mappings of the others go back all the same.
static int trim_around(void *unused)
{
  (void)unused;
  scene_begin(1);
  const uint32_t before = mappings();
  ws_stack_t stack[FIBERS];
  for (uint32_t i = 0; i < FIBERS; i++)
    note(ws_stack_get(1u << 20, &stack[i])); // threads keep none of these
  const uint32_t during = mappings();
  for (uint32_t i = 0; i < FIBERS; i++)
    if (i % 3 != 0)
      ws_stack_put(&stack[i]);
  trim_all();
  const uint32_t after = mappings(), in_use = (FIBERS + 2) / 3;
  printf("mappings: %u, with %u stacks %u, with %u %u\n", before, FIBERS, during, in_use, after);
  bool good = stacks() == in_use && during >= before + 2 * FIBERS;
  good = good && (TEST_SANITIZED || after <= before + 2 * in_use + OTHER_MAPPINGS_MAX);
  for (uint32_t i = 0; i < FIBERS; i += 3)
    ws_stack_put(&stack[i]);
  trim_all();
  good = good && stacks() == 0 && !any_slab();
  return child_result(good);
}

/// The kernel refuses, for it has too many mappings: the stacks stay, are tried again later, and can be used.
static int trim_refused(void *unused)
{
  (void)unused;
  scene_begin(1);
  bool good = use_stacks(WS_FIBER_STACK_BYTES) == FIBERS;
  refuses = true;
  const uint64_t now_ns = ws_os_now_ns() + 2 * WS_STACK_IDLE_NS;
  uint64_t again_ns;
  while ((again_ns = ws_stack_trim(now_ns)) <= now_ns)
    ;
  good = good && refused == FIBERS && shared() == FIBERS && again_ns == now_ns + WS_STACK_IDLE_NS;
  good = good && use_stacks(WS_FIBER_STACK_BYTES) == FIBERS;
  refuses = false;
  trim_all();
  good = good && stacks() == 0;
  return child_result(good);
}

static void test_trims(void)
{
  CU_ASSERT_EQUAL(test_in_child(trim_by_call, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(trim_around, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(trim_refused, NULL), CHILD_GOOD);
}

static void test_seams(void)
{
  seam.ws_os_close_pages = ws_os_close_pages_seam;
  seam.ws_os_now_ns = ws_os_now_ns_seam;
}

TEST_MAIN_SEAMS(test_seams, "fiber_trim", TEST_CASE(test_trims))
