// SPDX-License-Identifier: BSD-3-Clause
/// @file test_helper.c
/// Places of threads that wait in several pools at once: each pool counts the thread while it is awake, no
/// pool while it sleeps or blocks, and every count is zero at the end. Linked with --wrap: the guard, which
/// counts the process's CPUs now and then, cannot, and leaves the count as the test has set it.
#include "../../../pool/ws_process.h"
#include "../../../sleep/ws_budget.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

/// A spin longer than any test: a thread that spins by mistake never sleeps.
#define SPIN_FOR_EVER_NS (UINT64_C(3600) * 1000000000)

static uint32_t ws_os_process_cpu_count_seam(void)
{
  return 0;
}

typedef struct {
  ws_pool_t *outer, *inner;
  test_gate_t outer_gate, inner_gate;
  ws_group_t outer_group, inner_group;
  uint32_t in_task[2], after_join[2], in_section[2], after_section[2]; ///< helpers of both pools
  uint32_t process_in_section; ///< helpers of the process
  bool rested;
} scene_t;

static scene_t scene;

static void note(uint32_t helpers[2])
{
  helpers[0] = ws_load_relaxed(&scene.outer->helpers); // relaxed: only the caller changes them
  helpers[1] = ws_load_relaxed(&scene.inner->helpers); // relaxed: as above
}

/// Both pools have one worker, which is held: the joining thread runs every task.
static void begin(void)
{
  scene = (scene_t){.outer = test_pool(1), .inner = test_pool(1)};
  test_gate_init(&scene.outer_gate);
  test_gate_init(&scene.inner_gate);
  test_push(scene.outer, test_gate_task, &scene.outer_gate, NULL);
  test_push(scene.inner, test_gate_task, &scene.inner_gate, NULL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.outer_gate, 1));
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.inner_gate, 1));
}

static void end(void)
{
  test_gate_let(&scene.outer_gate, 1);
  test_gate_let(&scene.inner_gate, 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.outer->helpers), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.inner->helpers), 0);
  CU_ASSERT_EQUAL(ws_process_helpers(), 0);
  test_destroy(scene.outer);
  test_destroy(scene.inner);
  test_gate_destroy(&scene.outer_gate);
  test_gate_destroy(&scene.inner_gate);
}

static void join(ws_pool_t *pool, ws_group_t *group, void (*task)(void *))
{
  ws_group_init(group, 1);
  test_push(pool, task, NULL, group);
  ws_group_wait(group, pool);
}

static void notes(void *unused)
{
  (void)unused;
  note(scene.in_task);
}

static void joins_inside_and_blocks(void *unused)
{
  (void)unused;
  join(scene.inner, &scene.inner_group, notes);
  note(scene.after_join);
  ws_blocking_begin();
  note(scene.in_section);
  scene.process_in_section = ws_process_helpers();
  ws_blocking_end();
  note(scene.after_section);
}

/// A thread helps in one pool, and inside that in another: after the inner wait it is still a helper of the
/// outer pool, and gives that place away when it blocks.
static void place_outlives_a_nested_wait(void)
{
  begin();
  join(scene.outer, &scene.outer_group, joins_inside_and_blocks);
  CU_ASSERT_EQUAL(scene.in_task[0], 1);
  CU_ASSERT_EQUAL(scene.in_task[1], 1);
  CU_ASSERT_EQUAL(scene.after_join[0], 1);
  CU_ASSERT_EQUAL(scene.after_join[1], 0);
  CU_ASSERT_EQUAL(scene.in_section[0], 0);
  CU_ASSERT_EQUAL(scene.process_in_section, 0);
  CU_ASSERT_EQUAL(scene.after_section[0], 1);
  end();
}

static void joins_inside_a_section(void *unused)
{
  (void)unused;
  ws_blocking_begin();
  join(scene.inner, &scene.inner_group, notes);
  note(scene.after_join);
  ws_blocking_end();
  note(scene.after_section);
}

/// A wait inside a blocking section must not lose the place that the section has given away.
static void section_around_a_nested_wait(void)
{
  begin();
  join(scene.outer, &scene.outer_group, joins_inside_a_section);
  CU_ASSERT_EQUAL(scene.in_task[0], 0);
  CU_ASSERT_EQUAL(scene.in_task[1], 1);
  CU_ASSERT_EQUAL(scene.after_join[0], 0);
  CU_ASSERT_EQUAL(scene.after_section[0], 1);
  end();
}

static void nests_sections(void *unused)
{
  (void)unused;
  ws_blocking_end(); // one too many: nothing happens
  ws_blocking_begin();
  ws_blocking_begin();
  note(scene.in_section);
  ws_blocking_end();
  note(scene.after_join);
  ws_blocking_end();
  note(scene.after_section);
  ws_blocking_begin(); // and one without an end
}

static void sections_nest(void)
{
  begin();
  join(scene.outer, &scene.outer_group, nests_sections);
  ws_blocking_end();
  CU_ASSERT_EQUAL(scene.in_section[0], 0);
  CU_ASSERT_EQUAL(scene.after_join[0], 0);
  CU_ASSERT_EQUAL(scene.after_section[0], 1);
  end();
}

static bool all_rest(void *unused)
{
  (void)unused;
  uint32_t helpers[2];
  note(helpers);
  return helpers[0] == 0 && helpers[1] == 0 && ws_process_helpers() == 0;
}

static void *end_when_all_rest(void *unused)
{
  (void)unused;
  scene.rested = test_until(all_rest, NULL);
  ws_group_complete(&scene.inner_group, 1);
  return NULL;
}

static void sleeps_inside(void *unused)
{
  (void)unused;
  test_threads_t threads = {0};
  ws_group_init(&scene.inner_group, 1);
  test_push(scene.inner, test_empty_task, NULL, NULL); // the thread has a lane, and helps, there
  test_spawn(&threads, end_when_all_rest, NULL);
  ws_group_wait(&scene.inner_group, scene.inner);
  test_join(&threads);
  note(scene.after_join);
}

static void sleeper_gives_all_its_places_away(void)
{
  begin();
  join(scene.outer, &scene.outer_group, sleeps_inside);
  CU_ASSERT_TRUE(scene.rested);
  CU_ASSERT_EQUAL(scene.after_join[0], 1);
  end();
}

static bool outer_is_blocked(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&scene.outer->blocked) == 1; // relaxed: looked at until it is
}

static void waits_for_the_inner_pool(void *unused)
{
  (void)unused;
  scene.in_task[0] = (uint32_t)ws_pool_wait(scene.inner);
}

/// A worker of one pool waits for all tasks of another: its own pool may wake another worker meanwhile.
static void worker_that_waits_for_a_pool_hands_its_place_over(void)
{
  begin();
  test_gate_let(&scene.outer_gate, 1);
  ws_group_init(&scene.outer_group, 1);
  test_push(scene.outer, waits_for_the_inner_pool, NULL, &scene.outer_group);
  CU_ASSERT_TRUE(test_until(outer_is_blocked, NULL));
  test_gate_let(&scene.inner_gate, 1);
  ws_group_wait(&scene.outer_group, NULL);
  CU_ASSERT_EQUAL(scene.in_task[0], 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.outer->blocked), 0);
  end();
}

typedef struct {
  uint32_t looks; ///< before it slept
  bool slept;
} event_t;

static bool ready(void *event_arg)
{
  event_t *event = event_arg;
  event->looks += !event->slept;
  return event->slept || event->looks > 1000;
}

static void sleep_once(void *event_arg)
{
  ((event_t *)event_arg)->slept = true;
}

static ws_pool_t *pool_that_spins(void)
{
  ws_settings_t settings = test_settings(1);
  settings.join_spin_ns_max = SPIN_FOR_EVER_NS;
  ws_pool_t *pool = test_create(&settings);
  ws_store_relaxed(&pool->spin_cpus, 1); // relaxed: as the guard does when the CPU set has shrunk
  return pool;
}

/// The set of CPUs has shrunk to one: a spin would keep what it waits for from running.
static void join_does_not_spin_on_the_only_cpu(void)
{
  ws_pool_t *pool = pool_that_spins();
  event_t event = {0};
  test_push(pool, test_empty_task, NULL, NULL); // the thread has a lane
  ws_pool_await(pool, ws_group_tag(&event), &(ws_event_t){ready, sleep_once, &event});
  CU_ASSERT_TRUE(event.slept);
  CU_ASSERT_TRUE(event.looks <= 4);
  test_destroy(pool);
}

static bool is_waited_for(void *pool_arg)
{
  return ws_load_relaxed(&((ws_pool_t *)pool_arg)->waiters) > 0; // relaxed: looked at until it is
}

static void *wait_for_pool(void *pool)
{
  ws_pool_wait(pool);
  return NULL;
}

static void pool_wait_does_not_spin_on_the_only_cpu(void)
{
  test_gate_t gate;
  test_gate_init(&gate);
  ws_pool_t *pool = pool_that_spins();
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  test_threads_t threads = {0};
  test_spawn(&threads, wait_for_pool, pool);
  CU_ASSERT_TRUE(test_until(is_waited_for, pool));
  test_gate_let(&gate, 1);
  test_join(&threads);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static void test_seams(void)
{
  seam.ws_os_process_cpu_count = ws_os_process_cpu_count_seam;
}

TEST_MAIN_SEAMS(test_seams, "helper", TEST_CASE(place_outlives_a_nested_wait),
                TEST_CASE(section_around_a_nested_wait), TEST_CASE(sections_nest),
                TEST_CASE(sleeper_gives_all_its_places_away),
                TEST_CASE(worker_that_waits_for_a_pool_hands_its_place_over),
                TEST_CASE(join_does_not_spin_on_the_only_cpu),
                TEST_CASE(pool_wait_does_not_spin_on_the_only_cpu))
