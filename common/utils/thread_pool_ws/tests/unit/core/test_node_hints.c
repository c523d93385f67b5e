// SPDX-License-Identifier: BSD-3-Clause
/// @file test_node_hints.c
/// Tasks with a hint for a NUMA node, on a machine that pretends to have two.
///
/// CPU 0 belongs to node 0 and CPU 1 to node 1. Each test says on which CPU the worker is; the main thread is
/// on CPU 0. The clock is virtual. Linked with --wrap of ws_numa_plan, ws_os_cpu, ws_os_now_ns and
/// ws_os_futex_wake.
#include "../../../include/ws_node.h"
#include "../../../pool/ws_types.h"
#include "../../support/ws_letters.h"
#include "../../support/ws_seam.h"

#define BEGIN_NS 1000000000u

static ws_au64_t clock_ns;
#define CPU_IS_INDEX UINT32_MAX ///< worker i is on CPU i, and the main thread elsewhere
static ws_au32_t worker_cpu;

static uint64_t ws_os_now_ns_seam(void)
{
  return BEGIN_NS + ws_add_relaxed(&clock_ns, 1);
}

static int32_t ws_os_cpu_seam(void)
{
  const uint32_t cpu = ws_load_relaxed(&worker_cpu);
  if (cpu == CPU_IS_INDEX)
    return ws_worker_index() >= 0 ? ws_worker_index() : 7;
  return ws_worker_index() >= 0 ? (int32_t)cpu : 0;
}

static void ws_numa_plan_seam(struct ws_pool_s *of, const int32_t *cpu)
{
  (void)cpu;
  of->tasks.kinds = WS_KIND_NODE + 2;
  of->nodes.count = 2;
  of->nodes.of_cpu[1] = of->nodes.of_number[1] = 1;
  memset(of->nodes.of_number + 2, 0xff, sizeof(of->nodes.of_number) - 2);
  of->nodes.near[0][1] = of->nodes.near[1][0] = 1;
  of->nodes.near[1][1] = 0;
}

static ws_pool_t *pool;
static test_gate_t gate;
static _Thread_local bool pushing;
static uint32_t woken; ///< 1 + index of the worker that the push has woken; 0 = none

static void ws_os_futex_wake_seam(ws_au32_t *word, uint32_t count)
{
  for (uint32_t i = 0; pushing && i < pool->workers; i++)
    if (word == &pool->worker[i]->token)
      woken = i + 1;
  __real_ws_os_futex_wake(word, count);
}

static void create(uint32_t cpu, bool fifo)
{
  ws_settings_t settings = test_settings(1);
  settings.spin = WS_SPIN_OFF;
  settings.fifo = fifo;
  settings.spin_ns_max = settings.join_spin_ns_max = 1000; // looks at the clock
  ws_store_relaxed(&worker_cpu, cpu);
  pool = test_create(&settings);
  test_letters_forget();
  test_gate_init(&gate);
}

static void destroy(void)
{
  test_destroy(pool);
  test_gate_destroy(&gate);
}

/// a, b, c: for node 0. A, B, C: for node 1. Digits: for any.
static uint32_t hint_of(char letter)
{
  if (letter >= 'a' && letter <= 'z')
    return ws_node_hint(0);
  return letter >= 'A' && letter <= 'Z' ? ws_node_hint(1) : WS_NODE_ANY;
}

static void push(const char *letters, ws_group_t *group)
{
  for (const char *letter = letters; *letter; letter++) {
    const ws_task_t task = {
        .func = test_letter_task, .arg = (void *)(uintptr_t)letter, .group = group, .node = hint_of(*letter)};
    if (ws_pool_push(pool, task) != 0)
      ws_add_relaxed(&test_refused, 1);
  }
}

static void a_worker_takes_its_node_first(void)
{
  static const char *const expected[2] = {"abc123ABC", "ABC123abc"};
  for (uint32_t cpu = 0; cpu < 2; cpu++) {
    create(cpu, false);
    test_letters_hold(pool, &gate);
    push("a1Ab2Bc3C", NULL);
    CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 9);
    test_letters_release(&gate, 9);
    CU_ASSERT_STRING_EQUAL(test_letters_ran(), expected[cpu]);
    destroy();
  }
}

static void push_from_a_task(void *letters)
{
  push(letters, NULL);
}

/// Tasks in the worker's own queue go before those for its node: it has their data in its cache.
static void own_tasks_go_first(void)
{
  static const char *const expected[2] = {"321ABCabc", "123ABCabc"};
  for (uint32_t fifo = 0; fifo < 2; fifo++) {
    create(1, fifo);
    test_push(pool, push_from_a_task, (void *)(uintptr_t) "a1Ab2Bc3C", NULL);
    CU_ASSERT_TRUE(test_letters_await(9));
    CU_ASSERT_STRING_EQUAL(test_letters_ran(), expected[fifo]);
    destroy();
  }
}

/// A guard that stands could wake a worker between a push and its wake.
static bool guard_rests(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->guard) == WS_GUARD_DORMANT;
}

/// Of two workers that sleep, the one on the task's node is woken.
static void a_sleeper_on_the_node_is_woken(void)
{
  ws_settings_t settings = test_settings(2);
  settings.spin = WS_SPIN_OFF;
  settings.spin_ns_max = settings.join_spin_ns_max = 1000; // looks at the clock
  ws_store_relaxed(&worker_cpu, CPU_IS_INDEX);
  pool = test_create(&settings);
  test_letters_forget();
  for (uint32_t i = 0; i < 6; i++) {
    CU_ASSERT_TRUE(test_until_quiet(pool));
    CU_ASSERT_TRUE(test_until(guard_rests, NULL));
    // A worker that was woken and got no CPU for a while is shunned for a time: that is over here.
    ws_add_relaxed(&clock_ns, UINT64_C(11000000000));
    woken = 0;
    pushing = true;
    push(i % 2 == 0 ? "A" : "a", NULL);
    pushing = false;
    CU_ASSERT_EQUAL(woken, i % 2 == 0 ? 2 : 1);
    CU_ASSERT_TRUE(test_letters_await(i + 1));
  }
  test_destroy(pool);
}

static void a_priority_goes_before_a_node(void)
{
  create(1, false);
  test_letters_hold(pool, &gate);
  push("A", NULL);
  const ws_task_t high = {.func = test_letter_task,
                          .arg = (void *)(uintptr_t) "!",
                          .priority = WS_PRIORITY_HIGH,
                          .node = ws_node_hint(0)};
  CU_ASSERT_EQUAL(ws_pool_push(pool, high), 0);
  test_letters_release(&gate, 2);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "!A");
  destroy();
}

static void a_wrong_hint_makes_no_difference(void)
{
  static const uint32_t wrong[] = {77, WS_NODE_NUMBERS, WS_NODE_NUMBERS + 1, UINT32_MAX};
  create(1, false);
  test_letters_hold(pool, &gate);
  for (uint32_t i = 0; i < TEST_COUNT(wrong); i++) {
    const ws_task_t task = {
        .func = test_letter_task, .arg = (void *)(uintptr_t) & "wxyz"[i], .node = wrong[i]};
    CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  }
  test_letters_release(&gate, 4);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "wxyz");
  destroy();
}

/// The main thread, on node 0, runs its group's tasks and leaves the others where they are.
static void a_wait_reaches_its_tasks(void)
{
  create(1, false);
  test_letters_hold(pool, &gate);
  ws_group_t group;
  ws_group_init(&group, 5);
  push("a1A", &group);
  push("xyz789XYZ", NULL);
  push("bB", &group);
  push("uvw456UVW", NULL);
  ws_group_wait(&group, pool);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "1abAB");
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 18);
  test_letters_forget();
  test_letters_release(&gate, 18);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "XYZUVW789456xyzuvw");
  destroy();
}

static void a_batch_keeps_its_hints(void)
{
  create(1, false);
  test_letters_hold(pool, &gate);
  ws_task_t tasks[3];
  for (uint32_t i = 0; i < 3; i++)
    tasks[i] = (ws_task_t){
        .func = test_letter_task, .arg = (void *)(uintptr_t) & "a1A"[i], .node = hint_of("a1A"[i])};
  CU_ASSERT_EQUAL(ws_pool_push_batch(pool, tasks, 3), 3);
  test_letters_release(&gate, 3);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "A1a");
  destroy();
}

static void a_stop_settles_them(void)
{
  for (ws_stop_t how = WS_STOP_DRAIN; how <= WS_STOP_ABORT; how++) {
    create(1, false);
    ws_group_t group;
    ws_group_init(&group, 3);
    test_letters_hold(pool, &gate);
    push("aA1", &group);
    test_gate_let(&gate, 1);
    CU_ASSERT_TRUE(ws_pool_stop(pool, how) >= 0);
    CU_ASSERT_TRUE(ws_group_done(&group));
    CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 0);
    destroy();
  }
}

static void test_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
  seam.ws_os_cpu = ws_os_cpu_seam;
  seam.ws_numa_plan = ws_numa_plan_seam;
  seam.ws_os_futex_wake = ws_os_futex_wake_seam;
}

TEST_MAIN_SEAMS(test_seams, "node_hints", TEST_CASE(a_worker_takes_its_node_first),
                TEST_CASE(own_tasks_go_first), TEST_ALONE(a_sleeper_on_the_node_is_woken),
                TEST_CASE(a_priority_goes_before_a_node), TEST_CASE(a_wrong_hint_makes_no_difference),
                TEST_CASE(a_wait_reaches_its_tasks), TEST_CASE(a_batch_keeps_its_hints),
                TEST_CASE(a_stop_settles_them))
