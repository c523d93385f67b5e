// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber.c
/// Fibers run, yield, join and end: the order on one worker, moves between workers, errno, bad input.
#include "fiber_scene.h"

static void yield_thrice(void *letter)
{
  for (uint32_t i = 0; i < 3; i++) {
    write_letter(*(const char *)letter);
    note(ws_yield());
  }
}

static void push_three(void *unused)
{
  (void)unused;
  ws_group_t group;
  ws_group_init(&group, 3);
  for (uint32_t i = 0; i < 3; i++)
    push_fiber(yield_thrice, &"abc"[i], &group);
  ws_group_wait(&group, scene.pool);
  write_letter('!');
}

static void test_order(void)
{
  scene_begin(1);
  ws_group_init(&scene.group, 1);
  push_fiber(push_three, NULL, &scene.group);
  CU_ASSERT(test_until(is_done, &scene.group)); // a wait would run fibers, too
  CU_ASSERT_STRING_EQUAL(scene.letter, "cabcabcab!"); // newest first, then one after the other
  scene_end();
}

static void push_setter_below(void *unused)
{
  test_push(scene.pool, set_value, NULL, NULL);
  yield_until_set(unused);
}

static bool is_set(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.value);
}

/// The only worker is busy with fibers that yield. A task of each origin must still run: beside fibers of
/// high priority, at a fairness tick.
static void test_yield_reaches_all(void)
{
  const ws_priority_t priority[] = {WS_PRIORITY_NORMAL, WS_PRIORITY_HIGH, WS_PRIORITY_LOW};
  for (uint32_t i = 0; i < TEST_COUNT(priority); i++) {
    ws_settings_t settings = test_settings(1);
    scene_begin_with(&settings);
    ws_fiber_options_t options;
    ws_fiber_options_default(&options);
    options.priority = priority[i];
    for (uint32_t j = 0; j < 3; j++)
      CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, yield_until_set, NULL, NULL, &options), 0);
    test_push(scene.pool, set_value, NULL, NULL); // in this thread's queue
    CU_ASSERT(test_until(is_set, NULL)); // a wait would run the task itself
    ws_pool_wait(scene.pool);
    ws_store_relaxed(&scene.value, 0);
    CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, push_setter_below, NULL, NULL, &options), 0);
    CU_ASSERT(test_until(is_set, NULL));
    ws_pool_wait(scene.pool);
    scene_end();
  }
}

static void join_yielding(void *unused)
{
  (void)unused;
  ws_group_t group;
  ws_group_init(&group, 3);
  push_fiber(set_value, NULL, &group);
  push_fiber(yield_until_set, NULL, &group);
  push_fiber(yield_until_set, NULL, &group);
  ws_group_wait(&group, scene.pool); // takes the newest first
}

/// A plain task on the only worker waits for fibers that yield to an older one.
static void test_yield_in_wait(void)
{
  scene_begin(1);
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, join_yielding, NULL, &scene.group);
  CU_ASSERT(test_until(is_done, &scene.group)); // a wait would help
  scene_end();
}

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

static void keep_errno(void *value_arg)
{
  const int value = *(const int *)value_arg;
  note(errno_is(0));
  set_errno(value);
  for (uint32_t i = 0; i < 100; i++) {
    ws_yield();
    note(errno_is(value));
  }
}

static void test_errno(void)
{
  static const int values[] = {1, 2, 3, 4, 5, 6, 7, 8};
  scene_begin(2);
  for (uint32_t i = 0; i < TEST_COUNT(values); i++)
    push_fiber(keep_errno, &values[i], NULL);
  ws_pool_wait(scene.pool);
  scene_end();
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
    write_letter('m');
  }
}

static void test_move(void)
{
  scene_begin(2);
  ws_group_init(&scene.group, 1);
  push_fiber(move_often, NULL, &scene.group);
  CU_ASSERT(test_until(is_done, &scene.group)); // this thread must not take part
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.letters), MOVES);
  scene_end();
}

typedef struct {
  uint32_t depth;
  ws_au32_t *leaves;
} tree_t;

static void grow(void *tree_arg)
{
  const tree_t *tree = tree_arg;
  if (tree->depth == 0) {
    ws_add_relaxed(tree->leaves, 1);
    ws_yield();
    return;
  }
  ws_group_t group;
  tree_t below = {tree->depth - 1, tree->leaves};
  ws_group_init(&group, 3);
  push_fiber(grow, &below, &group);
  test_push(scene.pool, grow, &below, &group); // a plain task, which joins fibers
  push_fiber(grow, &below, &group);
  ws_group_wait(&group, scene.pool);
}

static void join_from(uint32_t workers)
{
  scene_begin(workers);
  tree_t tree = {4, &scene.value};
  ws_group_init(&scene.group, 2);
  push_fiber(grow, &tree, &scene.group);
  test_push(scene.pool, grow, &tree, &scene.group);
  ws_group_wait(&scene.group, scene.pool); // from a thread outside, which helps
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 2 * 81);
  scene_end();
}

static void test_joins(void)
{
  for (uint32_t i = 0; i < 2; i++) {
    join_from(1);
    join_from(2);
  }
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

static int push_with(ws_pool_t *pool, ws_fiber_options_t options)
{
  return ws_fiber_push(pool, set_value, NULL, NULL, &options);
}

static void test_bad_input(void)
{
  scene_begin(1);
  const ws_fiber_options_t good = {.stack_bytes = WS_FIBER_STACK_BYTES};
  ws_fiber_options_t bad = good;
  CU_ASSERT_EQUAL(ws_fiber_push(NULL, set_value, NULL, NULL, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, NULL, NULL, NULL, NULL), -EINVAL);
  bad.stack_bytes = WS_FIBER_STACK_BYTES_MIN - 1;
  CU_ASSERT_EQUAL(push_with(scene.pool, bad), -EINVAL);
  bad.stack_bytes = WS_FIBER_STACK_BYTES_MAX + 1;
  CU_ASSERT_EQUAL(push_with(scene.pool, bad), -EINVAL);
  bad = good;
  bad.priority = (ws_priority_t)3;
  CU_ASSERT_EQUAL(push_with(scene.pool, bad), -EINVAL);
  ws_fiber_options_default(NULL);
  ws_fiber_stats(NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_EQUAL(push_with(scene.pool, good), -ECANCELED);
  scene_end();
  ws_settings_t settings = test_settings(1);
  settings.full = WS_FULL_FAIL;
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_EQUAL(push_with(pool, good), -EINVAL);
  test_destroy(pool);
  settings = test_settings(0);
  pool = test_create(&settings);
  CU_ASSERT_EQUAL(push_with(pool, good), -EINVAL);
  test_destroy(pool);
}

/// Stopping waits for fibers that yield, and takes what they push.
static void test_drain(void)
{
  for (uint32_t workers = 1; workers <= 3; workers++) {
    scene_begin(workers);
    tree_t tree = {4, &scene.value};
    push_fiber(grow, &tree, NULL);
    CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 81);
    scene_end();
  }
}

static ws_sem_t moves;
static ws_priority_t priority_now;

/// @return whether the task is that of a fiber with this function, argument and group
static bool is_own(const ws_task_t *task, void (*func)(void *), void *arg)
{
  return task && task == ws_current_task() && task->func == func && task->arg == arg
         && task->group == &scene.group && task->priority == priority_now;
}

static void ask_task(void *arg)
{
  const ws_task_t *task = ws_current_task();
  note(is_own(task, ask_task, arg));
  for (uint32_t i = 0; i < 3; i++) { // the worker goes on with the other fiber
    ws_yield();
    note(is_own(task, ask_task, arg));
  }
  note(ws_sem_wait(&moves) == 0);
  note(ws_worker_index() == -1); // on the thread that helps
  note(is_own(task, ask_task, arg));
}

static void ask_with(ws_priority_t priority)
{
  const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES, .priority = priority};
  int arg[2];
  scene_begin(1);
  priority_now = priority;
  ws_sem_init(&moves, 0);
  ws_group_init(&scene.group, 2);
  for (uint32_t i = 0; i < 2; i++)
    note(ws_fiber_push(scene.pool, ask_task, &arg[i], &scene.group, &options) == 0);
  CU_ASSERT(await_parked(2));
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  ws_sem_post(&moves, 2);
  ws_group_wait(&scene.group, scene.pool); // the worker stands in its gate
  CU_ASSERT_PTR_NULL(ws_current_task());
  test_gate_let(&scene.gate, 1);
  ws_pool_wait(scene.pool);
  scene_end();
}

/// In a fiber the current task is the fiber as it was pushed, also after other fibers and on another thread.
static void test_current_task(void)
{
  ask_with(WS_PRIORITY_NORMAL);
  ask_with(WS_PRIORITY_HIGH); // a yield goes back to the worker's loop
}

TEST_MAIN("fiber", TEST_CASE(test_order), TEST_CASE(test_yield_reaches_all), TEST_CASE(test_yield_in_wait),
          TEST_CASE(test_errno), TEST_CASE(test_move), TEST_CASE(test_joins), TEST_CASE(test_stack_sizes),
          TEST_CASE(test_name), TEST_CASE(test_bad_input), TEST_CASE(test_drain),
          TEST_CASE(test_current_task))
