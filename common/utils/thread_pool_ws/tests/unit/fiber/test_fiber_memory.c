// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_memory.c
/// Stacks that a thread gets at its very end come back; large pages and large signal frames: these sizes are
/// the test's.
#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_stack.h"
#include "../../../os/ws_os.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

static size_t page_bytes, frame_bytes; ///< 0 = the machine's

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

/// No stack is made beyond those that exist.
static int threads_push_at_end(void *unused)
{
  (void)unused;
  fiber_never_trim();
  pthread_key_create(&late_key, push_late);
  scene_begin(1);
  make_stacks();
  test_destroy(scene.pool); // the worker's own go to the shared list
  scene.pool = test_pool(1);
  const uint64_t before = stacks();
  for (uint32_t i = 0; i < THREADS; i++) {
    test_threads_t threads = {0};
    test_spawn(&threads, push_at_end, NULL);
    test_join(&threads);
    ws_pool_wait(scene.pool);
  }
  const uint64_t after = stacks();
  printf("stacks: %llu before, %llu after\n", (unsigned long long)before, (unsigned long long)after);
  return child_result(after == before);
}

static void test_threads_end(void)
{
  CU_ASSERT_EQUAL(test_in_child(threads_push_at_end, NULL), CHILD_GOOD);
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

typedef struct {
  size_t page_bytes, frame_bytes;
  uint32_t least_bytes;
} machine_t;

static int use_machine(void *machine_arg)
{
  const machine_t *machine = machine_arg;
  page_bytes = machine->page_bytes;
  frame_bytes = machine->frame_bytes;
  return least_stack() == machine->least_bytes ? CHILD_GOOD : 1;
}

/// With pages of 64 KiB the guard lies directly below the smallest stack, too. A handler that interrupts a
/// fiber finds room: the CPU's registers may take 11 KiB.
static void test_least(void)
{
  machine_t machines[] = {
      {65536, 1, 65536}, {4096, 11 * 1024, 65536}, {4096, 4096, WS_FIBER_STACK_BYTES_MIN}};
  for (uint32_t i = 0; i < TEST_COUNT(machines); i++)
    CU_ASSERT_EQUAL(test_in_child(use_machine, &machines[i]), CHILD_GOOD);
}

static void test_seams(void)
{
  seam.ws_os_page_bytes = ws_os_page_bytes_seam;
  seam.ws_os_signal_frame_bytes = ws_os_signal_frame_bytes_seam;
}

TEST_MAIN_SEAMS(test_seams, "fiber_memory", TEST_CASE(test_threads_end), TEST_CASE(test_least))
