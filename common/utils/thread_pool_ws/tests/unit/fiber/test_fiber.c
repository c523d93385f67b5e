// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber.c
/// Sizes of stacks, names, what belongs to a fiber (ws_local.h), bad input. What fibers promise besides are
/// scenes (tests/scenes/fiber*.c), each of whose fibers keeps a value and errno, also on another worker.
#include "../../../include/ws_local.h"

#include "fiber_scene.h"

#define LONG_NAME "a name that is longer than may be"

static void use_stack(void *bytes_arg)
{
  const uint32_t bytes = *(const uint32_t *)bytes_arg;
  char used[bytes];
  memset(used, 'x', bytes);
  wait_for_latch(NULL);
  note(memchr(used, 'x', bytes) == used && used[bytes - 1] == 'x');
  const char *name = ws_fiber_name();
  note(name && strlen(name) == WS_FIBER_NAME_MAX && strncmp(name, LONG_NAME, WS_FIBER_NAME_MAX) == 0);
}

/// The stacks are counted while they are in use: free ones may be closed at any time.
TEST_CASE(test_stack_sizes)
{
  static const uint32_t sizes[] = {WS_FIBER_STACK_BYTES_MIN, 65536, 100000, 1 << 20,
                                   WS_FIBER_STACK_BYTES_MAX};
  uint32_t uses[TEST_COUNT(sizes)];
  scene_begin(2);
  for (uint32_t i = 0; i < TEST_COUNT(sizes); i++) {
    ws_fiber_options_t options;
    ws_fiber_options_default(&options);
    options.stack_bytes = sizes[i];
    options.name = LONG_NAME;
    uses[i] = sizes[i] - (TEST_SANITIZED ? 12288 : 6144);
    for (uint32_t j = 0; j < 3; j++)
      CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, use_stack, &uses[i], NULL, &options), 0);
  }
  CU_ASSERT(await_parked(3 * TEST_COUNT(sizes)));
  ws_fiber_stats_t stats = fiber_stats();
  CU_ASSERT(stats.stacks >= 3 * TEST_COUNT(sizes));
  if (!TEST_EMULATED) // QEMU's user emulation has no pagemap
    CU_ASSERT(stats.stack_bytes_used_max >= WS_FIBER_STACK_BYTES_MAX - 16384);
  ws_latch_count_down(&scene.latch, 1);
  ws_pool_wait(scene.pool);
  stats = fiber_stats();
  CU_ASSERT_EQUAL(stats.begun, stats.ended);
  CU_ASSERT_EQUAL(stats.parked, 0);
  scene_end();
}

typedef struct {
  int result;
  ws_fiber_options_t options;
  ws_group_t *group;
} push_t;

static void check_pushes(ws_pool_t *pool, const push_t *push, size_t count)
{
  for (size_t i = 0; i < count; i++)
    CU_ASSERT_EQUAL(ws_fiber_push(pool, set_value, NULL, push[i].group, &push[i].options), push[i].result);
}

/// A tag for a group and a group for a tag are refused: each switch would complete, or write beside, a unit.
TEST_CASE(test_bad_input)
{
  ws_group_t *const group = &scene.group, *const tag = ws_group_tag(group),
                    *const weak = ws_group_weak_tag(group);
  enum { BYTES = WS_FIBER_STACK_BYTES };
  const push_t pushes[] = {{-EINVAL, {.stack_bytes = WS_FIBER_STACK_BYTES_MIN - 1}, NULL},
                           {-EINVAL, {.stack_bytes = WS_FIBER_STACK_BYTES_MAX + 1}, NULL},
                           {-EINVAL, {.stack_bytes = BYTES, .priority = (ws_priority_t)3}, NULL},
                           {-EINVAL, {.stack_bytes = BYTES, .spare = {0, 0, 0, 1}}, NULL},
                           {-EINVAL, {.stack_bytes = BYTES}, tag},
                           {-EINVAL, {.stack_bytes = BYTES}, weak},
                           {-EINVAL, {.stack_bytes = BYTES, .tag = group}, NULL},
                           {0, {.stack_bytes = BYTES, .tag = tag}, NULL},
                           {0, {.stack_bytes = BYTES, .tag = weak}, NULL}};
  const push_t good = {0, {.stack_bytes = BYTES}, NULL}, refused = {-EINVAL, {.stack_bytes = BYTES}, NULL},
               stopped = {-ECANCELED, {.stack_bytes = BYTES}, NULL};
  ws_fiber_options_t options;
  memset(&options, 0xff, sizeof options);
  ws_fiber_options_default(&options);
  ws_fiber_options_default(NULL);
  ws_fiber_stats(NULL);
  scene_begin(1);
  ws_group_init(group, 1);
  CU_ASSERT_EQUAL(ws_fiber_push(NULL, set_value, NULL, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, NULL, NULL, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, set_value, NULL, NULL, &options), 0);
  check_pushes(scene.pool, pushes, TEST_COUNT(pushes));
  check_pushes(scene.pool, &good, 1);
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_FALSE(ws_group_done(group));
  check_pushes(scene.pool, &stopped, 1);
  scene_end();
  for (uint32_t workers = 0; workers <= 1; workers++) {
    ws_settings_t settings = test_settings(workers);
    settings.full = workers ? WS_FULL_FAIL : WS_FULL_GROW;
    ws_pool_t *pool = test_create(&settings);
    check_pushes(pool, &refused, 1);
    test_destroy(pool);
  }
}

#define FIBERS 40u

static ws_au32_t ends, foreign_ends;

/// The value is the address of its fiber or thread.
static void end_value(void *owner)
{
  ws_add_relaxed(&ends, 1); // relaxed: read after the join
  if (owner != ws_caller_id())
    ws_add_relaxed(&foreign_ends, 1);
}

static void *own_value(void)
{
  return (void *)(uintptr_t)ws_caller_id();
}

static const ws_local_t first = {.end = end_value}, second = {0};

/// The end of one value sets another, which is ended, too; in the fiber, which may wait.
static void set_first(void *fiber)
{
  ws_yield();
  note(ws_local_set(&first, fiber) == 0);
}

static const ws_local_t sets_first = {.end = set_first};

/// Its values are those that it has set last.
static void leave_value(void *unused)
{
  int own;
  note(ws_local_get(&first) == NULL && ws_local_get(&second) == NULL);
  note(ws_local_set(&second, &own) == 0 && ws_local_set(&sets_first, &own) == 0);
  note(ws_local_set(&sets_first, own_value()) == 0); // the value from before is dropped
  ws_yield();
  note(ws_local_get(&second) == &own && ws_caller_id() == ws_fiber_self());
}

TEST_CASE(test_values_of_fibers)
{
  CU_ASSERT_PTR_NULL(ws_fiber_self());
  CU_ASSERT_PTR_NULL(ws_local_get(&first));
  scene_begin(2);
  for (uint32_t i = 0; i < FIBERS; i++)
    push_fiber(leave_value, NULL, NULL);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ends), FIBERS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&foreign_ends), 0);
  scene_end();
}

/// A plain task, and a thread, have the thread's value.
static void use_worker_value(void *unused)
{
  note(!ws_fiber_self());
  const uintptr_t count = (uintptr_t)ws_local_get(&second);
  note(ws_local_set(&second, (void *)(count + 1)) == 0); // NOLINT: a number in place of an address
  ws_store_relaxed(&scene.value, (uint32_t)count + 1);
}

static void *have_thread_value(void *unused)
{
  note(ws_local_get(&first) == NULL && ws_local_set(&first, own_value()) == 0);
  note(ws_local_get(&first) == ws_caller_id());
  return unused;
}

TEST_CASE(test_values_of_threads)
{
  scene_begin(1);
  ws_store_relaxed(&ends, 0);
  test_on_workers(scene.pool, 3, use_worker_value, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 3);
  test_threads_t threads = {.count = 0};
  for (uint32_t i = 0; i < 3; i++)
    test_spawn(&threads, have_thread_value, NULL);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ends), 3);
  CU_ASSERT_EQUAL(ws_load_relaxed(&foreign_ends), 0);
  CU_ASSERT_EQUAL(ws_local_set(NULL, &ends), -EINVAL);
  scene_end();
}

TEST_MAIN("fiber")
