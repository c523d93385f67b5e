// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_memory.c
/// Memory of stacks. Those that a thread gets at its very end come back; those that are idle for long, and
/// their mappings, go back (that the thread for time limits does so is a scene); large pages and large signal
/// frames. The clock and these sizes are the test's, and the kernel may refuse.

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

static size_t ws_pages_signal_frame_seam(void)
{
  return frame_bytes ? frame_bytes : __real_ws_pages_signal_frame();
}

static bool refuses; ///< to close stacks
static uint32_t refused;

static bool ws_pages_close_seam(void *memory, size_t bytes)
{
  refused += refuses;
  return !refuses && __real_ws_pages_close(memory, bytes);
}

/// So slow that no stack is idle for long.
static uint64_t ws_os_now_ns_seam(void)
{
  return __real_ws_os_now_ns() / 64;
}

#define STACKS 100u
#define THREADS 50u

static pthread_key_t late_key;

static void push_late(void *unused)
{
  push_fiber(set_value, NULL, NULL);
}

/// Has a destructor push, which runs after the library's own: its key is younger.
static void *push_at_end(void *value)
{
  push_late(NULL);
  pthread_setspecific(late_key, value ? value : &late_key);
  return NULL;
}

/// No stack is made beyond those that exist.
static int threads_push_at_end(void *unused)
{
  fiber_never_trim();
  pthread_key_create(&late_key, push_late);
  scene_begin(1);
  for (uint32_t i = 0; i < STACKS; i++)
    push_fiber(wait_for_latch, NULL, NULL);
  note(await_parked(STACKS));
  ws_latch_count_down(&scene.latch, 1);
  test_destroy(scene.pool); // the worker's own go to the shared list
  scene.pool = test_pool(1);
  const uint64_t before = fiber_stats().stacks;
  for (uint32_t i = 0; i < THREADS; i++) {
    test_in_threads(1, push_at_end, NULL);
    ws_pool_wait(scene.pool);
  }
  const uint64_t after = fiber_stats().stacks;
  printf("stacks: %llu before, %llu after\n", (unsigned long long)before, (unsigned long long)after);
  return child_result(after == before);
}

CHILD_CASE(test_threads_end, threads_push_at_end)

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

/// The stacks of @p stack, which are in use: threads keep none of this size.
static void get_stacks(ws_stack_t stack[STACKS])
{
  for (uint32_t i = 0; i < STACKS; i++)
    note(ws_stack_get(1u << 20, &stack[i]));
}

/// Trimmed too early: nothing happens, and the result is the time for the next look. Later the mappings of
/// idle ones go back, also if others of their slab are in use.
static int trim_around(void *unused)
{
  scene_begin(1);
  const uint32_t before = mappings();
  ws_stack_t stack[STACKS];
  get_stacks(stack);
  const uint32_t during = mappings();
  for (uint32_t i = 0; i < STACKS; i++)
    if (i % 3 != 0)
      ws_stack_put(&stack[i]);
  const uint32_t in_use = (STACKS + 2) / 3;
  bool good = ws_stack_trim(ws_os_now_ns()) > ws_os_now_ns() && fiber_stats().stacks_free == STACKS - in_use;
  trim_all();
  const uint32_t after = mappings();
  printf("mappings: %u, with %u stacks %u, with %u %u\n", before, STACKS, during, in_use, after);
  good = good && fiber_stats().stacks == in_use && during >= before + 2 * STACKS;
  good = good && (TEST_SANITIZED || after <= before + 2 * in_use + OTHER_MAPPINGS_MAX);
  for (uint32_t i = 0; i < STACKS; i += 3)
    ws_stack_put(&stack[i]);
  trim_all();
  return child_result(good && fiber_stats().stacks == 0 && !any_slab());
}

/// The kernel refuses, for it has too many mappings: the stacks stay, are tried again later, and can be used.
static int trim_refused(void *unused)
{
  scene_begin(1);
  ws_stack_t stack[STACKS];
  for (uint32_t round = 0; round < 2; round++) {
    get_stacks(stack);
    for (uint32_t i = 0; i < STACKS; i++)
      ws_stack_put(&stack[i]);
    note(fiber_stats().stacks == STACKS);
    refuses = round == 0;
    const uint64_t now_ns = ws_os_now_ns() + 2 * WS_STACK_IDLE_NS;
    uint64_t again_ns = now_ns;
    while (refuses && (again_ns = ws_stack_trim(now_ns)) <= now_ns)
      ;
    note(!refuses
         || (refused == STACKS && fiber_stats().stacks_free == STACKS
             && again_ns == now_ns + WS_STACK_IDLE_NS));
  }
  trim_all();
  return child_result(fiber_stats().stacks == 0);
}

CHILD_CASE(test_trim_around, trim_around)
CHILD_CASE(test_trim_refused, trim_refused)

static ws_au32_t least_bytes; ///< of the stacks that fibers have found

/// The guard ends where the stack begins.
static void check_stack(void *unused)
{
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
TEST_CASE(test_least)
{
  machine_t machines[] = {
      {65536, 1, 65536}, {4096, 11 * 1024, 65536}, {4096, 4096, WS_FIBER_STACK_BYTES_MIN}};
  for (uint32_t i = 0; i < TEST_COUNT(machines); i++)
    CU_ASSERT_EQUAL(test_in_child(use_machine, &machines[i]), CHILD_GOOD);
}

TEST_MAIN_SEAMS("fiber_memory", SEAM(ws_os_page_bytes), SEAM(ws_pages_signal_frame), SEAM(ws_pages_close),
                SEAM(ws_os_now_ns))
