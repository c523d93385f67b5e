// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_stack.c
/// Stacks: the memory of many parked fibers, how it is counted, and overflow. The kernel's
/// limit on mappings is the test's, and so is what happens while memory is counted.

#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_stack.h"
#include "../../support/ws_death.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

/// AddressSanitizer writes redzones, and its shadow; Valgrind is not meant for so many.
#define PARKED (TEST_SANITIZED ? 500u : 20000u)
#define PAGES_EACH_MAX 2u

static const char *map_count_max; ///< NULL = the kernel's

static bool ws_os_read_seam(const char *path, char *text, size_t bytes)
{
  if (!map_count_max || strcmp(path, "/proc/sys/vm/max_map_count") != 0)
    return __real_ws_os_read(path, text, bytes);
  return snprintf(text, bytes, "%s\n", map_count_max) > 0;
}

static struct {
  uint32_t calls, failed, locked;
  bool trims; ///< all free stacks are closed in the next call
} counting;

static int mincore_seam(void *memory, size_t bytes, unsigned char *in_memory)
{
  counting.calls++;
  if (pthread_mutex_trylock(&ws_fiber_process.stack_lock) == 0)
    pthread_mutex_unlock(&ws_fiber_process.stack_lock);
  else
    counting.locked++;
  if (counting.trims) {
    counting.trims = false;
    while (ws_stack_trim(ws_os_now_ns() + 2 * WS_STACK_IDLE_NS) != 0)
      ;
  }
  const int result = __real_mincore(memory, bytes, in_memory);
  counting.failed += result != 0;
  return result;
}

/// Park many fibers. Each stack has few pages in memory, by the kernel's own count.
static int park_many(void *unused)
{
  scene_begin(2);
  for (uint32_t i = 0; i < PARKED; i++)
    push_fiber(wait_for_latch, NULL, NULL);
  bool good = await_parked(PARKED);
  ws_fiber_stats_t stats = fiber_stats();
  good = good && stats.stacks >= PARKED && stats.stacks_free + PARKED <= stats.stacks;
  good = good && (TEST_SANITIZED || stats.stack_bytes_used_max <= PAGES_EACH_MAX * ws_os_page_bytes());
  printf("%llu stacks, %llu without guard, most used %llu\n", (unsigned long long)stats.stacks,
         (unsigned long long)stats.stacks_unguarded, (unsigned long long)stats.stack_bytes_used_max);
  ws_latch_count_down(&scene.latch, 1);
  ws_pool_wait(scene.pool);
  scene_end();
  stats = fiber_stats();
  return good && stats.parked == 0 && stats.ended == PARKED && ws_load_relaxed(&scene.errors) == 0
             ? CHILD_GOOD
             : 1;
}

CHILD_CASE(test_many, park_many)

/// With few mappings allowed, stacks beyond have no guard page, and one warning is printed.
static void park_unguarded(void)
{
  map_count_max = "400";
  if (park_many(NULL) == CHILD_GOOD)
    abort(); // for dies_with()
}

TEST_CASE(test_unguarded)
{
  CU_ASSERT(dies_with(park_unguarded, "100 stacks of fibers have guard pages; further ones have none"));
}

static uint32_t recurse(volatile uint32_t *below)
{
  volatile uint32_t here[64] = {*below + 1};
  const uint32_t deeper = here[0] < 1000000 ? recurse(here) : 0;
  return deeper + here[0];
}

static void overflow(void *unused)
{
  volatile uint32_t zero = 0;
  ws_store_relaxed(&scene.value, recurse(&zero));
}

/// The far end of a frame that is larger than the stack: no byte between is touched.
static void jump(void *unused)
{
  static volatile size_t far = WS_FIBER_GUARD_BYTES / 2;
  volatile char *frame = __builtin_alloca(WS_FIBER_STACK_BYTES_MIN + far);
  for (uint32_t i = 0; i < 2 * WS_FIBER_STACK_BYTES_MIN; i += 8)
    frame[i] = 'x';
  ws_store_relaxed(&scene.value, (uint32_t)frame[0]);
}

static bool is_written(void *unused)
{
  return ws_load_relaxed(&scene.value) == 'x';
}

static void (*overflows)(void *);

/// Its stack lies below and above those of parked fibers.
static void overflow_one(void)
{
  scene_begin(1);
  ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES_MIN};
  for (uint32_t i = 0; i < 8; i++)
    ws_fiber_push(scene.pool, wait_for_latch, NULL, NULL, &options);
  await_parked(8);
  options.name = "a deep one";
  ws_fiber_push(scene.pool, overflows, NULL, NULL, &options);
  ws_latch_count_down(&scene.latch, 1);
  ws_pool_wait(scene.pool);
}

static void check_overflow(void (*func)(void *))
{
  char text[4096];
  overflows = func;
  const int status = death_status(overflow_one, text, sizeof text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "fiber \"a deep one\" has overflowed its stack of "));
  CU_ASSERT(TEST_SANITIZED ? status != 0 : status == 128 + SIGSEGV);
}

/// A frame that is larger than a page does not step over the guard, either.
TEST_CASE(test_overflow)
{
  check_overflow(overflow);
  check_overflow(jump);
}

/// Write to the lowest word of the own stack, as an overflow would.
static void spoil(void *unused)
{
  const ws_fiber_t *fiber = ws_fiber_here();
  *(volatile uint64_t *)(void *)fiber->stack.low = 1;
  ws_yield();
}

static void run_spoil(void)
{
  map_count_max = "0";
  scene_begin(1);
  push_fiber(spoil, NULL, NULL);
  ws_pool_wait(scene.pool);
}

TEST_CASE(test_overflow_unguarded)
{
  CU_ASSERT(dies_with(run_spoil, "fiber \"fiber\" has overflowed its stack of 131072 bytes"));
}

/// Its variables are its own.
static void keep(void *unused)
{
  static volatile size_t few = 4096;
  volatile char *mine = __builtin_alloca(few);
  for (size_t i = 0; i < few; i++)
    mine[i] = 'k';
  ws_latch_wait(&scene.latch);
  for (size_t i = 0; i < few; i++)
    note(mine[i] == 'k');
}

/// What a frame writes beyond its stack meets no other stack, also where no stack has a guard.
static int jump_unguarded(void *unused)
{
  const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES_MIN};
  map_count_max = "0";
  scene_begin(1);
  for (uint32_t i = 0; i < 16; i++)
    note(ws_fiber_push(scene.pool, keep, NULL, NULL, &options) == 0);
  note(await_parked(16));
  note(ws_fiber_push(scene.pool, jump, NULL, NULL, &options) == 0);
  note(test_until(is_written, NULL));
  ws_latch_count_down(&scene.latch, 1);
  ws_pool_wait(scene.pool);
  return child_result(true);
}

CHILD_CASE(test_jump_unguarded, jump_unguarded)

static ws_au32_t faults;

static void count_fault(int number, siginfo_t *info, void *context)
{
  (void)number, (void)info, (void)context;
  _exit(7);
}

static void fault(void *unused)
{
  ws_add_relaxed(&faults, 1);
  raise(SIGSEGV);
}

/// A fault that is no overflow goes to the handler that the program had.
static int chain(void *unused)
{
  const struct sigaction action = {.sa_sigaction = count_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  scene_begin(1);
  push_fiber(fault, NULL, NULL);
  ws_pool_wait(scene.pool);
  return 0;
}

TEST_CASE(test_chain)
{
  CU_ASSERT_EQUAL(test_in_child(chain, NULL), 7);
}

static void use_half(void *unused)
{
  static volatile size_t half = WS_FIBER_STACK_BYTES / 2;
  const size_t bytes = half; // no constant: else the memory may be split, or lie on a sanitizer's stack
  volatile char *used = __builtin_alloca(bytes);
  for (size_t i = 0; i < bytes; i += 1024)
    used[i] = 1;
  ws_latch_wait(&scene.latch);
}

/// Statistics make one system call for several stacks, and none under the lock. A slab that is counted stays
/// mapped until then, also if its last stack is closed meanwhile.
static int count_while_closing(void *unused)
{
  fiber_never_trim();
  scene_begin(1);
  ws_group_init(&scene.group, 100);
  for (uint32_t i = 0; i < 100; i++)
    push_fiber(use_half, NULL, &scene.group);
  bool good = await_parked(100);
  counting.calls = 0;
  ws_fiber_stats_t stats = fiber_stats();
  good = good && stats.stacks == 100 && counting.calls > 0 && counting.calls <= 100 / 8;
  printf("%u calls for 100 stacks, %u under the lock\n", counting.calls, counting.locked);
  good = good
         && (TEST_EMULATED || stats.stack_bytes_used_max >= WS_FIBER_STACK_BYTES / 2) // as in test_fiber.c
         && stats.stack_bytes_used_max < WS_FIBER_STACK_BYTES;
  ws_latch_count_down(&scene.latch, 1);
  good = good && test_until(is_done, &scene.group);
  scene_end(); // and the worker's own stacks go to the shared list
  counting.trims = true;
  stats = fiber_stats();
  good = good && !counting.trims && counting.locked == 0 && !any_slab()
         && (TEST_EMULATED || counting.failed == 0); // QEMU 7.2 has no mincore() of guard pages
  stats = fiber_stats();
  return good && stats.stacks == 0 && stats.stacks_free == 0 ? CHILD_GOOD : 1;
}

CHILD_CASE(test_count, count_while_closing)

TEST_MAIN_SEAMS("fiber_stack", SEAM(ws_os_read), SEAM(mincore))
