// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_stack.c
/// Stacks: the memory of many parked fibers, what goes back to the kernel, and overflow. Linked with
/// --wrap=ws_os_read: the kernel's limit on mappings is the test's.
#define _GNU_SOURCE // memfd_create
#include <stdio.h>
#include <stdlib.h>

#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_stack.h"
#include "../api/api_death.h"
#include "fiber_scene.h"

/// AddressSanitizer writes redzones, and its shadow; Valgrind is not meant for so many.
#define PARKED (TEST_SANITIZED ? 500u : 20000u)
#define PAGES_EACH_MAX 2u

bool __real_ws_os_read(const char *path, char *text, size_t bytes);
bool __wrap_ws_os_read(const char *path, char *text, size_t bytes);
static const char *map_count_max; ///< NULL = the kernel's

bool __wrap_ws_os_read(const char *path, char *text, size_t bytes)
{
  if (!map_count_max || strcmp(path, "/proc/sys/vm/max_map_count") != 0)
    return __real_ws_os_read(path, text, bytes);
  return snprintf(text, bytes, "%s\n", map_count_max) > 0;
}

static ws_latch_t latch;

static void wait_for_latch(void *unused)
{
  (void)unused;
  note(ws_latch_wait(&latch) == 0);
}

/// Park many fibers. Each stack has few pages in memory, by the kernel's own count.
static int park_many(void *unused)
{
  (void)unused;
  scene_begin(2);
  ws_latch_init(&latch, 1);
  for (uint32_t i = 0; i < PARKED; i++)
    push_fiber(wait_for_latch, NULL, NULL);
  bool good = await_parked(PARKED);
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  good = good && stats.stacks >= PARKED && stats.stacks_free + PARKED <= stats.stacks;
  good = good && (TEST_SANITIZED || stats.stack_bytes_used_max <= PAGES_EACH_MAX * ws_os_page_bytes());
  printf("%llu stacks, %llu without guard, most used %llu\n", (unsigned long long)stats.stacks,
         (unsigned long long)stats.stacks_unguarded, (unsigned long long)stats.stack_bytes_used_max);
  ws_latch_count_down(&latch, 1);
  ws_pool_wait(scene.pool);
  scene_end();
  ws_fiber_stats(&stats);
  return good && stats.parked == 0 && stats.ended == PARKED && ws_load_relaxed(&scene.errors) == 0
             ? CHILD_GOOD
             : 1;
}

static void test_many(void)
{
  CU_ASSERT_EQUAL(test_in_child(park_many, NULL), CHILD_GOOD);
}

/// With few mappings allowed, stacks beyond have no guard page, and one warning is printed.
static void park_unguarded(void)
{
  map_count_max = "400";
  if (park_many(NULL) == CHILD_GOOD)
    abort(); // for dies_with()
}

static void test_unguarded(void)
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
  (void)unused;
  volatile uint32_t zero = 0;
  ws_store_relaxed(&scene.value, recurse(&zero));
}

static void run_overflow(void)
{
  scene_begin(1);
  const ws_fiber_options_t options = {.name = "a deep one", .stack_bytes = WS_FIBER_STACK_BYTES_MIN};
  ws_fiber_push(scene.pool, overflow, NULL, NULL, &options);
  ws_pool_wait(scene.pool);
}

static int overflow_child(void *copy)
{
  dup2(*(const int *)copy, STDERR_FILENO);
  run_overflow();
  return 0;
}

static void test_overflow(void)
{
  int copy = memfd_create("stderr", 0);
  const int status = test_in_child(overflow_child, &copy);
  char text[4096] = "";
  CU_ASSERT(pread(copy, text, sizeof text - 1, 0) > 0);
  close(copy);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "fiber \"a deep one\" has overflowed its stack of 16384 bytes"));
  CU_ASSERT(TEST_SANITIZED ? status != 0 : status == 128 + SIGSEGV);
}

/// Write to the lowest word of the own stack, as an overflow would.
static void spoil(void *unused)
{
  (void)unused;
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

static void test_overflow_unguarded(void)
{
  CU_ASSERT(dies_with(run_spoil, "fiber \"fiber\" has overflowed its stack of 65536 bytes"));
}

static ws_au32_t faults;

static void count_fault(int number, siginfo_t *info, void *context)
{
  (void)number, (void)info, (void)context;
  _exit(7);
}

static void fault(void *unused)
{
  (void)unused;
  ws_add_relaxed(&faults, 1);
  raise(SIGSEGV);
}

/// A fault that is no overflow goes to the handler that the program had.
static int chain(void *unused)
{
  (void)unused;
  const struct sigaction action = {.sa_sigaction = count_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  scene_begin(1);
  push_fiber(fault, NULL, NULL);
  ws_pool_wait(scene.pool);
  return 0;
}

static void test_chain(void)
{
  CU_ASSERT_EQUAL(test_in_child(chain, NULL), 7);
}

static void use_half(void *unused)
{
  (void)unused;
  static volatile size_t half = WS_FIBER_STACK_BYTES / 2;
  const size_t bytes = half; // no constant: else the memory may be split, or lie on a sanitizer's stack
  volatile char *used = __builtin_alloca(bytes);
  for (size_t i = 0; i < bytes; i += 1024)
    used[i] = 1;
  ws_latch_wait(&latch);
}

/// Stacks that are idle for long keep their topmost page only. Trimmed by a time of the test.
static int give_back(void *unused)
{
  (void)unused;
  scene_begin(1);
  ws_latch_init(&latch, 1);
  for (uint32_t i = 0; i < 100; i++)
    push_fiber(use_half, NULL, NULL);
  bool good = await_parked(100);
  ws_latch_count_down(&latch, 1);
  ws_pool_wait(scene.pool);
  scene_end(); // and the worker's own stacks go to the shared list
  good = good && ws_stack_trim(ws_os_now_ns() + 2 * WS_STACK_IDLE_NS) == 0;
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  uint64_t pages = 0;
  const ws_shelf_t *shelf = ws_fiber_process.shelf;
  for (uint32_t i = 0; i < WS_STACK_CLASSES; i++)
    for (const ws_free_stack_t *node = shelf[i].cold; node; node = node->older)
      pages++;
  printf("good %d, %llu cold, most used %llu\n", good, (unsigned long long)pages,
         (unsigned long long)stats.stack_bytes_used_max);
  return good && pages >= 60 && stats.stack_bytes_used_max >= WS_FIBER_STACK_BYTES / 2 ? CHILD_GOOD : 1;
}

static void test_give_back(void)
{
  CU_ASSERT_EQUAL(test_in_child(give_back, NULL), CHILD_GOOD);
}

TEST_MAIN("fiber_stack", TEST_CASE(test_many), TEST_CASE(test_unguarded), TEST_CASE(test_overflow),
          TEST_CASE(test_overflow_unguarded), TEST_CASE(test_chain), TEST_CASE(test_give_back))
