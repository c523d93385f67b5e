// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_memory.c
/// Stacks that threads keep come back when the threads end; no memory; large pages and large signal frames.
/// Linked with --wrap of ws_os_reserve, ws_os_open_pages, ws_os_page_bytes and ws_os_signal_frame_bytes:
/// memory and these sizes are the test's.
#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_stack.h"
#include "../../../os/ws_os.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

static ws_au32_t no_addresses, no_memory;
static size_t page_bytes, frame_bytes; ///< 0 = the machine's

static void *ws_os_reserve_seam(size_t bytes)
{
  return ws_load_acquire(&no_addresses) ? NULL : __real_ws_os_reserve(bytes);
}

static bool ws_os_open_pages_seam(void *memory, size_t bytes)
{
  return !ws_load_acquire(&no_memory) && __real_ws_os_open_pages(memory, bytes);
}

static size_t ws_os_page_bytes_seam(void)
{
  return page_bytes ? page_bytes : __real_ws_os_page_bytes();
}

static size_t ws_os_signal_frame_bytes_seam(void)
{
  return frame_bytes ? frame_bytes : __real_ws_os_signal_frame_bytes();
}

static ws_latch_t latch;

static void wait_for_latch(void *unused)
{
  (void)unused;
  note(ws_latch_wait(&latch) == 0);
}

static void do_nothing(void *unused)
{
  (void)unused;
}

static uint64_t stacks(void)
{
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  return stats.stacks;
}

#define STACKS 100u
#define THREADS 50u

static void make_stacks(void)
{
  ws_latch_init(&latch, 1);
  for (uint32_t i = 0; i < STACKS; i++)
    push_fiber(wait_for_latch, NULL, NULL);
  note(await_parked(STACKS));
  ws_latch_count_down(&latch, 1);
  ws_pool_wait(scene.pool);
}

static void *push_one(void *unused)
{
  (void)unused;
  push_fiber(do_nothing, NULL, NULL);
  return NULL;
}

/// Threads that push a fiber each, and end. @return CHILD_GOOD = no stack was made beyond those that exist
static int reuse_after(void *(*body)(void *))
{
  fiber_never_trim();
  scene_begin(1);
  make_stacks();
  test_destroy(scene.pool); // the worker's own go to the shared list
  scene.pool = test_pool(1);
  const uint64_t before = stacks();
  for (uint32_t i = 0; i < THREADS; i++) {
    test_threads_t threads = {0};
    test_spawn(&threads, body, NULL);
    test_join(&threads);
    ws_pool_wait(scene.pool);
  }
  const uint64_t after = stacks();
  printf("stacks: %llu before, %llu after\n", (unsigned long long)before, (unsigned long long)after);
  scene_end();
  return after == before && ws_load_relaxed(&scene.errors) == 0 ? CHILD_GOOD : 1;
}

static int threads_push(void *unused)
{
  (void)unused;
  return reuse_after(push_one);
}

static pthread_key_t late_key;

static void push_late(void *unused)
{
  push_one(unused);
}

/// Has a destructor push, which runs after the library's own: its key is younger.
static void *push_at_end(void *value)
{
  push_one(NULL);
  pthread_setspecific(late_key, value ? value : &late_key);
  return NULL;
}

static int threads_push_at_end(void *unused)
{
  (void)unused;
  ws_fiber_process_begin();
  pthread_key_create(&late_key, push_late);
  return reuse_after(push_at_end);
}

static void test_threads_end(void)
{
  CU_ASSERT_EQUAL(test_in_child(threads_push, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(threads_push_at_end, NULL), CHILD_GOOD);
}

static int push_with_group(uint32_t stack_bytes)
{
  const ws_fiber_options_t options = {.stack_bytes = stack_bytes};
  return ws_fiber_push(scene.pool, do_nothing, NULL, &scene.group, &options);
}

/// Without memory a push says so, and the group waits. With memory again, the same push works. The first case
/// with fibers in this process.
static void test_no_memory(void)
{
  fiber_never_trim();
  scene_begin(1);
  ws_group_init(&scene.group, 1);
  const uint64_t before = stacks();
  ws_store_release(&no_addresses, 1);
  CU_ASSERT_EQUAL(push_with_group(1u << 20), -ENOMEM);
  CU_ASSERT_EQUAL(push_with_group(1u << 20), -ENOMEM);
  ws_store_release(&no_addresses, 0);
  ws_store_release(&no_memory, 1);
  CU_ASSERT_EQUAL(push_with_group(1u << 20), -ENOMEM);
  CU_ASSERT_PTR_NULL(ws_fiber_process.shelf[6].room); // its addresses went back
  CU_ASSERT_EQUAL(stacks(), before);
  CU_ASSERT_FALSE(ws_group_done(&scene.group));
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0); // the pool counts no task
  ws_store_release(&no_memory, 0);
  CU_ASSERT_EQUAL(push_with_group(1u << 20), 0);
  ws_group_wait(&scene.group, scene.pool);
  scene_end();
}

/// A push that the pool refuses gives the stack back, and the pool is idle afterwards.
static void test_refusal(void)
{
  scene_begin(1);
  push_fiber(do_nothing, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
  ws_group_init(&scene.group, 1);
  CU_ASSERT_EQUAL(push_with_group(WS_FIBER_STACK_BYTES), -ECANCELED);
  const uint64_t before = stacks();
  for (uint32_t i = 0; i < 200; i++)
    CU_ASSERT_EQUAL(push_with_group(WS_FIBER_STACK_BYTES), -ECANCELED);
  CU_ASSERT_EQUAL(stacks(), before);
  CU_ASSERT_FALSE(ws_group_done(&scene.group));
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  scene_end();
}

static ws_au32_t least_bytes; ///< of the stacks that fibers have found

/// The guard ends where the stack begins.
static void check_stack(void *unused)
{
  (void)unused;
  const ws_stack_t *stack = &ws_fiber_here()->stack;
  note(stack->guarded && (size_t)(stack->low - stack->slab->memory) % page_bytes == 0);
  note(ws_stack_guards(stack, stack->low - 1) && !ws_stack_guards(stack, stack->low));
  const uint32_t bytes = (uint32_t)ws_stack_bytes(stack);
  if (bytes < ws_load_relaxed(&least_bytes))
    ws_store_relaxed(&least_bytes, bytes);
}

/// @return bytes of the stack of a fiber that asks for the least
static uint32_t least_stack(void)
{
  const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES_MIN};
  ws_store_relaxed(&least_bytes, UINT32_MAX);
  scene_begin(1);
  for (uint32_t i = 0; i < 10; i++)
    note(ws_fiber_push(scene.pool, check_stack, NULL, NULL, &options) == 0);
  ws_pool_wait(scene.pool);
  scene_end();
  return ws_load_relaxed(&scene.errors) == 0 ? ws_load_relaxed(&least_bytes) : 0;
}

/// On a kernel with pages of 64 KiB the guard lies directly below the smallest stack, too.
static int use_large_pages(void *unused)
{
  (void)unused;
  page_bytes = 65536;
  frame_bytes = 1;
  return least_stack() == 65536 ? CHILD_GOOD : 1;
}

/// A handler that interrupts a fiber finds room: the CPU's registers may take 11 KiB.
static int use_large_frames(void *unused)
{
  (void)unused;
  page_bytes = 4096;
  frame_bytes = 11 * 1024;
  return least_stack() == 65536 ? CHILD_GOOD : 1;
}

static int use_small_frames(void *unused)
{
  (void)unused;
  page_bytes = 4096;
  frame_bytes = 4096;
  return least_stack() == WS_FIBER_STACK_BYTES_MIN ? CHILD_GOOD : 1;
}

static void test_least(void)
{
  CU_ASSERT_EQUAL(test_in_child(use_large_pages, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(use_large_frames, NULL), CHILD_GOOD);
  CU_ASSERT_EQUAL(test_in_child(use_small_frames, NULL), CHILD_GOOD);
}

static void test_seams(void)
{
  seam.ws_os_reserve = ws_os_reserve_seam;
  seam.ws_os_open_pages = ws_os_open_pages_seam;
  seam.ws_os_page_bytes = ws_os_page_bytes_seam;
  seam.ws_os_signal_frame_bytes = ws_os_signal_frame_bytes_seam;
}

TEST_MAIN_SEAMS(test_seams, "fiber_memory", TEST_CASE(test_threads_end), TEST_CASE(test_least),
                TEST_CASE(test_no_memory), TEST_CASE(test_refusal))
