// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber.c
/// Fibers move between workers and keep errno; sizes of stacks, names, bad input. What fibers promise besides
/// are scenes (tests/scenes/fiber*.c).
#include "fiber_scene.h"

// Functions of their own: the compiler may keep errno's address within one (ws_fiber.h).

__attribute__((noinline)) static bool errno_is(int value)
{
  __asm__ volatile("");
  return errno == value;
}

__attribute__((noinline)) static void set_errno(int value)
{
  __asm__ volatile("");
  errno = value;
}

/// Hold the worker that the fiber runs on, until the fiber runs on the other one.
static void move(void)
{
  const int32_t first = ws_worker_index();
  while (ws_worker_index() == first) {
    test_push(scene.pool, test_gate_task, &scene.gate, NULL);
    ws_yield(); // one of the two workers takes the gate
    note(errno_is(77));
    test_gate_let(&scene.gate, 1);
  }
}

#define MOVES 5u

static void move_often(void *unused)
{
  (void)unused;
  set_errno(77);
  for (uint32_t i = 0; i < MOVES; i++) {
    move();
    ws_add_relaxed(&scene.count, 1);
  }
}

static void test_move(void)
{
  scene_begin(2);
  ws_group_init(&scene.group, 1);
  push_fiber(move_often, NULL, &scene.group);
  CU_ASSERT(test_until(is_done, &scene.group)); // this thread must not take part
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.count), MOVES);
  scene_end();
}

static ws_latch_t all_counted;

static void use_stack(void *bytes_arg)
{
  const uint32_t bytes = *(const uint32_t *)bytes_arg;
  char used[bytes];
  memset(used, 'x', bytes);
  note(ws_latch_wait(&all_counted) == 0);
  note(memchr(used, 'x', bytes) == used && used[bytes - 1] == 'x');
}

/// The stacks are counted while they are in use: free ones may be closed at any time.
static void test_stack_sizes(void)
{
  static const uint32_t sizes[] = {WS_FIBER_STACK_BYTES_MIN, 65536, 100000, 1 << 20,
                                   WS_FIBER_STACK_BYTES_MAX};
  uint32_t uses[TEST_COUNT(sizes)];
  scene_begin(2);
  ws_latch_init(&all_counted, 1);
  for (uint32_t i = 0; i < TEST_COUNT(sizes); i++) {
    ws_fiber_options_t options;
    ws_fiber_options_default(&options);
    options.stack_bytes = sizes[i];
    uses[i] = sizes[i] - (TEST_SANITIZED ? 12288 : 6144);
    for (uint32_t j = 0; j < 3; j++)
      CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, use_stack, &uses[i], NULL, &options), 0);
  }
  CU_ASSERT(await_parked(3 * TEST_COUNT(sizes)));
  ws_fiber_stats_t stats;
  ws_fiber_stats(&stats);
  CU_ASSERT(stats.stacks >= 3 * TEST_COUNT(sizes));
  CU_ASSERT(stats.stack_bytes_used_max >= WS_FIBER_STACK_BYTES_MAX - 16384);
  ws_latch_count_down(&all_counted, 1);
  ws_pool_wait(scene.pool);
  ws_fiber_stats(&stats);
  CU_ASSERT_EQUAL(stats.begun, stats.ended);
  CU_ASSERT_EQUAL(stats.parked, 0);
  scene_end();
}

static void check_name(void *unused)
{
  (void)unused;
  const char *name = ws_fiber_name();
  note(name && strcmp(name, "a name that is longer than may b") != 0
       && strncmp(name, "a name that is", 14) == 0);
  note(name && strlen(name) == WS_FIBER_NAME_MAX);
}

static void check_no_fiber(void *unused)
{
  (void)unused;
  note(ws_fiber_name() == NULL && !ws_yield());
}

static void test_name(void)
{
  scene_begin(1);
  CU_ASSERT_PTR_NULL(ws_fiber_name());
  CU_ASSERT_FALSE(ws_yield());
  const ws_fiber_options_t options = {.name = "a name that is longer than may be", .stack_bytes = 65536};
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, check_name, NULL, NULL, &options), 0);
  test_push(scene.pool, check_no_fiber, NULL, NULL);
  ws_pool_wait(scene.pool);
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
static void test_bad_input(void)
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

TEST_MAIN("fiber", TEST_CASE(test_move), TEST_CASE(test_stack_sizes), TEST_CASE(test_name),
          TEST_CASE(test_bad_input))
