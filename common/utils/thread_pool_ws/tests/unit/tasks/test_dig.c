// SPDX-License-Identifier: BSD-3-Clause
/// @file test_dig.c (--wrap of ws_grouped_depth)
/// Waits inside waits on one thread, each with its mark in the thread's queue: whatever an inner wait digs
/// out, and whatever thieves take meanwhile, an outer wait finds no unrelated task above its mark. What a
/// worker's outermost wait moves to the overflow queue.
#include "../../../tasks/ws_dig.h"
#include "../../../tasks/ws_shared.h"

#include "../../../core/ws_next.h"
#include "../../../core/ws_root.h"
#include "../../../pool/ws_lane.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

enum { DEPTH_MAX = 6, STEPS = 200000, CAPACITY = 64 };

typedef struct {
  ws_pool_t *pool; ///< without workers: no other thread looks at the lane
  ws_here_t here;
  ws_mark_t mark[DEPTH_MAX];
  uint32_t depth; ///< waits that have begun
  alignas(4) ws_group_t group[DEPTH_MAX + 1]; ///< told apart by their addresses
} scene_t;

static scene_t scene;

static void begin(void)
{
  ws_settings_t settings = test_settings(0);
  settings.queue_capacity = CAPACITY;
  scene = (scene_t){.pool = test_create(&settings)};
  scene.here = ws_here(scene.pool);
  CU_ASSERT_PTR_NOT_NULL_FATAL(scene.here.queue);
}

static void end(void)
{
  scene.here.queue->mark = NULL;
  ws_task_t task;
  while (ws_deque_take(&scene.here.queue->deque, &task))
    continue;
  test_destroy(scene.pool);
}

/// A task that carries @p group and knows how many waits had begun when it was pushed.
static void push(ws_group_t *group)
{
  const ws_task_t task = {.func = test_empty_task, .arg = (void *)(uintptr_t)scene.depth, .group = group};
  if (ws_deque_has_room(&scene.here.queue->deque, 1))
    ws_deque_push(&scene.here.queue->deque, &task, 1);
}

static bool task_was_there; ///< a wait digs for a task that a thief has taken since it looked

static uint64_t ws_grouped_depth_seam(const ws_deque_t *deque, const ws_group_t *group, bool weak)
{
  const uint64_t depth = __real_ws_grouped_depth(deque, group, weak);
  return depth == 0 && task_was_there ? 1 : depth;
}

/// As a wait outside of the pool's workers does: weak tags only inside a task.
static bool take_under(const ws_group_t *group, ws_task_t *task)
{
  bool hid = false;
  task_was_there = true;
  const bool found =
      ws_dig_under(&scene.pool->tasks, scene.here.queue, group, ws_takes_weak(scene.here), task, &hid);
  task_was_there = false;
  return found;
}

static void begin_wait(void)
{
  ws_mark_t *mark = &scene.mark[scene.depth++];
  *mark = (ws_mark_t){.outer = scene.here.queue->mark};
  ws_dig_mark(&scene.pool->tasks, scene.here.queue, mark);
  scene.here.queue->mark = mark;
}

static void end_wait(void)
{
  scene.here.queue->mark = scene.here.queue->mark->outer;
  scene.depth--;
}

static void steal_all_but(uint64_t left)
{
  ws_steal_memo_t memo = {0};
  ws_task_t task;
  while (ws_deque_size(&scene.here.queue->deque) > left)
    ws_deque_steal(&scene.here.queue->deque, &memo, &task);
}

/// @return how many queued tasks lie above a wait's mark though they were pushed before that wait began
static uint32_t unrelated_tasks(void)
{
  const ws_deque_t *deque = &scene.here.queue->deque;
  const ws_ring_t *ring = ws_load_relaxed(&deque->ring); // relaxed: one thread, here and below
  const uint64_t bottom = ws_load_relaxed(&deque->bottom); // relaxed: as ring
  uint32_t found = 0;
  for (uint64_t index = ws_load_relaxed(&deque->top); index != bottom; index++) { // relaxed: as ring
    const ws_cell_t *cell = &ring->cell[index & ring->mask];
    const uintptr_t pushed_at = (uintptr_t)ws_load_relaxed(&cell->arg); // relaxed: as ring
    for (uint32_t wait = 0; wait < scene.depth; wait++)
      found += (int64_t)(index - scene.mark[wait].index) >= 0 && pushed_at <= wait;
  }
  return found;
}

/// The wait inside digs for a task that a thief has just taken, with all that lay below it.
static void dig_that_comes_too_late(void)
{
  begin();
  ws_task_t task;
  push(&scene.group[0]);
  push(&scene.group[0]);
  begin_wait();
  begin_wait();
  CU_ASSERT_FALSE(take_under(&scene.group[2], &task));
  CU_ASSERT_EQUAL(ws_deque_size(&scene.here.queue->deque), 2);
  CU_ASSERT_EQUAL(unrelated_tasks(), 0);
  end_wait();
  CU_ASSERT_FALSE(ws_find_own(scene.pool, scene.here, &scene.group[1], &task)); // they are still unrelated
  end_wait();
  end();
}

/// The wait around the one that digs still finds what was pushed since it began, and nothing else.
static void outer_wait_finds_its_own(void)
{
  begin();
  ws_task_t task;
  push(&scene.group[1]);
  push(&scene.group[0]);
  begin_wait();
  push(&scene.group[3]);
  begin_wait();
  CU_ASSERT_TRUE(ws_find_own(scene.pool, scene.here, &scene.group[1], &task)); // from under two others
  CU_ASSERT_PTR_EQUAL(task.group, &scene.group[1]);
  CU_ASSERT_EQUAL(unrelated_tasks(), 0);
  end_wait();
  CU_ASSERT_TRUE(ws_find_own(scene.pool, scene.here, &scene.group[2], &task));
  CU_ASSERT_PTR_EQUAL(task.group, &scene.group[3]);
  CU_ASSERT_FALSE(ws_find_own(scene.pool, scene.here, &scene.group[2], &task));
  end_wait();
  end();
}

/// A task that knows its number.
static void push_number(uintptr_t number, ws_group_t *group)
{
  const ws_task_t task = {.func = test_empty_task, .arg = (void *)number, .group = group};
  ws_deque_push(&scene.here.queue->deque, &task, 1);
}

/// @return whether the queue holds the tasks @p first to @p last without @p missing, in their order
static bool holds(uintptr_t first, uintptr_t last, uintptr_t missing)
{
  const ws_deque_t *deque = &scene.here.queue->deque;
  const ws_ring_t *ring = ws_load_relaxed(&deque->ring); // relaxed: one thread, here and below
  uint64_t index = ws_load_relaxed(&deque->top); // relaxed: as ring
  bool good = true;
  for (uintptr_t number = first; number <= last; number++)
    if (number != missing)
      good &= ws_load_relaxed(&ring->cell[index++ & ring->mask].arg) == (void *)number; // relaxed: as ring
  return good && index == ws_load_relaxed(&deque->bottom); // relaxed: as ring
}

/// From the top, from the middle, from the bottom; without success, when the last of them is taken, too.
static void the_others_keep_their_order(void)
{
  ws_task_t task;
  for (uintptr_t wanted = 0; wanted <= 5; wanted++) {
    begin();
    for (uintptr_t number = 1; number <= 5; number++)
      push_number(number, &scene.group[number == wanted]);
    begin_wait();
    CU_ASSERT_EQUAL(take_under(&scene.group[1], &task), wanted != 0);
    if (wanted != 0)
      CU_ASSERT_PTR_EQUAL(task.arg, (void *)wanted);
    CU_ASSERT_TRUE(holds(1, 5, wanted));
    end();
  }
}

/// A ring that is full, and tasks that come to lie one index higher, round its end.
static void a_full_ring_keeps_its_order(void)
{
  ws_task_t task;
  begin();
  for (uintptr_t number = 1; number <= CAPACITY; number++)
    push_number(number, &scene.group[0]);
  begin_wait();
  CU_ASSERT_FALSE(take_under(&scene.group[1], &task));
  CU_ASSERT_TRUE(holds(1, CAPACITY, 0));
  CU_ASSERT_FALSE(take_under(&scene.group[1], &task));
  CU_ASSERT_TRUE(holds(1, CAPACITY, 0));
  end();
}

static void step(uint64_t *random)
{
  ws_task_t task;
  ws_group_t *group = &scene.group[test_random(random) % (DEPTH_MAX + 1)];
  switch (test_random(random) % 8) {
    case 0:
      if (scene.depth < DEPTH_MAX)
        begin_wait();
      break;
    case 1:
      if (scene.depth > 0)
        end_wait();
      break;
    case 2:
      steal_all_but(test_random(random) % 8);
      break;
    case 3:
      if (scene.depth > 0)
        take_under(group, &task); // a task of the group may be there, or have gone
      break;
    case 4:
      if (scene.depth > 0)
        ws_find_own(scene.pool, scene.here, group, &task);
      break;
    default:
      push(group);
  }
}

static void no_unrelated_task_above_a_mark(void)
{
  begin();
  uint64_t random = test_seed();
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < STEPS; i++) {
    step(&random);
    wrong += unrelated_tasks() > 0;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  end();
}

static struct {
  ws_pool_t *pool;
  ws_group_t below, wanted;
  sem_t unrelated_ran, over;
  bool in_time;
} buried;

static void post(void *sem)
{
  sem_post(sem);
}

/// Found under the unrelated task. Empties the own queue: the unrelated one is in the overflow queue only,
/// and blocks until another worker has run it.
static void need_the_unrelated_task(void *unused)
{
  (void)unused;
  ws_group_wait(&buried.below, buried.pool);
  ws_blocking_begin();
  buried.in_time = test_sem_wait(&buried.unrelated_ran);
  ws_blocking_end();
}

static void bury(void *unused)
{
  (void)unused;
  ws_group_init(&buried.below, 1);
  ws_group_init(&buried.wanted, 1);
  test_push(buried.pool, test_empty_task, NULL, &buried.below);
  test_push(buried.pool, need_the_unrelated_task, NULL, &buried.wanted);
  test_push(buried.pool, post, &buried.unrelated_ran, NULL);
  ws_group_wait(&buried.wanted, buried.pool);
  sem_post(&buried.over);
}

/// On one CPU the second worker sleeps until the first one blocks.
static void what_a_wait_moves_is_found_by_others(void)
{
  test_use_cpus(1);
  buried.pool = test_pool(2);
  sem_init(&buried.unrelated_ran, 0, 0);
  sem_init(&buried.over, 0, 0);
  CU_ASSERT_TRUE(test_until_quiet(buried.pool));
  test_push(buried.pool, bury, NULL, NULL);
  CU_ASSERT_TRUE(test_sem_wait(&buried.over));
  CU_ASSERT_TRUE(buried.in_time);
  test_destroy(buried.pool);
  sem_destroy(&buried.unrelated_ran);
  sem_destroy(&buried.over);
  test_use_cpus(0);
}

/// A task that the thread runs for a wait has yielded to an unrelated fiber, whose push stays in the queue.
/// No wait of another thread for the group of before may take that.
static void a_mixed_root_stays_mixed(void)
{
  begin();
  ws_task_t task;
  ws_queue_t *queue = scene.here.queue;
  ws_group_t *const before = ws_root_enter(queue, &scene.group[0]);
  ws_group_t *const outer = ws_root_enter(queue, &scene.group[1]);
  ws_root_mix(queue, &scene.group[2]);
  push(&scene.group[2]);
  ws_root_leave(queue, outer);
  CU_ASSERT_FALSE(ws_queue_is_below(queue, &scene.group[0], true));
  CU_ASSERT_TRUE(ws_deque_take(&queue->deque, &task));
  ws_root_leave(queue, outer); // no unrelated task is left
  CU_ASSERT_TRUE(ws_queue_is_below(queue, &scene.group[0], true));
  ws_root_leave(queue, before);
  end();
}

/// The task at the bottom of the stack has no group, and another one has come in between.
static void a_root_of_none_can_be_mixed(void)
{
  begin();
  ws_queue_t *queue = scene.here.queue;
  ws_group_t *const before = ws_root_enter(queue, &scene.group[0]);
  ws_group_t *const outer = ws_root_enter(queue, NULL);
  ws_root_mix(queue, &scene.group[2]);
  push(&scene.group[2]);
  ws_root_leave(queue, outer);
  CU_ASSERT_FALSE(ws_queue_is_below(queue, &scene.group[0], true));
  ws_root_leave(queue, before);
  end();
}

/// A wait takes its newest task, which lay below its mark: what that task pushes lies there again.
static void a_wait_runs_what_its_task_pushes(void)
{
  begin();
  ws_task_t task;
  push(&scene.group[0]);
  push(&scene.group[1]);
  begin_wait();
  CU_ASSERT_TRUE(ws_find_own(scene.pool, scene.here, &scene.group[1], &task));
  push(&scene.group[2]);
  CU_ASSERT_TRUE(ws_find_own(scene.pool, scene.here, &scene.group[1], &task));
  CU_ASSERT_PTR_EQUAL(task.group, &scene.group[2]);
  CU_ASSERT_FALSE(ws_find_own(scene.pool, scene.here, &scene.group[1], &task));
  end_wait();
  end();
}

/// A thread outside digs no deeper than WS_DIG_DEPTH_MAX, and moves nothing if its task lies deeper.
static void a_thread_outside_digs_to_a_depth(void)
{
  begin();
  ws_task_t task;
  ws_deque_t *deque = &scene.here.queue->deque;
  while (!ws_deque_has_room(deque, WS_DIG_DEPTH_MAX + 2))
    CU_ASSERT_TRUE_FATAL(ws_deque_grow(deque));
  push(&scene.group[0]); // a wait takes the oldest task without digging
  push(&scene.group[1]);
  for (uint32_t i = 0; i < WS_DIG_DEPTH_MAX; i++)
    push(&scene.group[0]);
  begin_wait();
  CU_ASSERT_FALSE(ws_find_own(scene.pool, scene.here, &scene.group[1], &task));
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque->takes), 0); // relaxed: one thread, here and below
  CU_ASSERT_TRUE(ws_deque_take(deque, &task));
  CU_ASSERT_TRUE(ws_find_own(scene.pool, scene.here, &scene.group[1], &task));
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque->takes), 1 + WS_DIG_DEPTH_MAX);
  end();
}

enum { MANY = 512 };

static struct {
  ws_pool_t *pool;
  ws_group_t group, inner;
  uint64_t takes; ///< from the worker's queue while it waited
  uint64_t moved; ///< to the overflow queue while it waited
  uint32_t there; ///< tasks there when the wait was over
  ws_au64_t run;
  uint64_t deadline_ns; ///< of the inner wait; UINT64_MAX = none
} worker;

static void wait_and_count(ws_group_t *group)
{
  ws_tasks_t *tasks = &worker.pool->tasks;
  const ws_deque_t *deque = &ws_here(worker.pool).queue->deque;
  const uint64_t takes = ws_load_relaxed(&deque->takes); // relaxed: the worker's own, here and below
  const uint64_t moved = ws_load_relaxed(&tasks->shared_number);
  ws_group_wait(group, worker.pool);
  worker.takes = ws_load_relaxed(&deque->takes) - takes;
  worker.moved = ws_load_relaxed(&tasks->shared_number) - moved;
  worker.there = ws_shared_size(tasks, WS_KIND_NORMAL);
}

static void push_to_worker(ws_group_t *group)
{
  test_push(worker.pool, test_count_task, &worker.run, group);
}

/// All tasks of the group lie under all others.
static void wait_under_many(void *unused)
{
  (void)unused;
  push_to_worker(NULL); // a wait takes the oldest task without digging
  for (uint32_t i = 0; i < MANY; i++)
    push_to_worker(&worker.group);
  for (uint32_t i = 0; i < MANY; i++)
    push_to_worker(NULL);
  wait_and_count(&worker.group);
}

/// Under each unrelated task lies one of the group.
static void wait_between_many(void *unused)
{
  (void)unused;
  push_to_worker(NULL); // a wait takes the oldest task without digging
  for (uint32_t i = 0; i < MANY; i++) {
    push_to_worker(&worker.group);
    push_to_worker(NULL);
  }
  wait_and_count(&worker.group);
}

static void run_on_a_worker(void (*func)(void *), uint32_t units, uint64_t deadline_ns, ws_full_t full)
{
  memset(&worker, 0, sizeof(worker));
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 4 * MANY;
  settings.full = full;
  worker.pool = test_create(&settings);
  ws_group_init(&worker.group, units);
  ws_group_init(&worker.inner, MANY);
  worker.deadline_ns = deadline_ns;
  test_push(worker.pool, func, NULL, NULL);
  CU_ASSERT_TRUE(test_until_quiet(worker.pool));
  test_destroy(worker.pool);
}

/// A worker moves each unrelated task once, however many tasks of its group lie below it.
static void a_worker_moves_each_task_once(void)
{
  run_on_a_worker(wait_under_many, MANY, UINT64_MAX, WS_FULL_GROW);
  CU_ASSERT_EQUAL(worker.takes, 2 * MANY);
  CU_ASSERT_EQUAL(worker.moved, MANY);
  CU_ASSERT_EQUAL(worker.there, MANY);
  CU_ASSERT_EQUAL(ws_load_relaxed(&worker.run), 2 * MANY + 1);
  run_on_a_worker(wait_between_many, MANY, UINT64_MAX, WS_FULL_GROW);
  CU_ASSERT_TRUE(worker.takes <= 3 * MANY); // one search in 61 reaches under 64 tasks
  CU_ASSERT_TRUE(worker.moved <= MANY);
  CU_ASSERT_EQUAL(ws_load_relaxed(&worker.run), 2 * MANY + 1);
}

static void wait_for_inner(void *unused)
{
  (void)unused;
  if (ws_group_wait_until(&worker.inner, worker.pool, worker.deadline_ns) < 0)
    ws_add_relaxed(&test_refused, 1);
}

/// The outer wait moves the tasks out of its way for which the task that it finds waits.
static void wait_for_what_was_moved(void *unused)
{
  (void)unused;
  push_to_worker(NULL);
  test_push(worker.pool, wait_for_inner, NULL, &worker.group);
  for (uint32_t i = 0; i < MANY; i++) {
    push_to_worker(NULL);
    push_to_worker(&worker.inner);
  }
  wait_and_count(&worker.group);
}

static void a_wait_finds_what_was_moved(void)
{
  for (uint32_t timed = 0; timed <= 1; timed++) {
    run_on_a_worker(wait_for_what_was_moved, 1, timed ? ws_os_now_ns() + UINT64_C(20000000000) : UINT64_MAX,
                    WS_FULL_GROW);
    CU_ASSERT_EQUAL(worker.moved, 2 * MANY);
    CU_ASSERT_EQUAL(worker.there, MANY);
    CU_ASSERT_EQUAL(ws_load_relaxed(&worker.run), 2 * MANY + 1);
  }
}

/// The overflow queue has room for what the first wait moves, and not for all of the second one's.
static void wait_twice_under_many(void *unused)
{
  (void)unused;
  ws_group_t *const groups[2] = {&worker.group, &worker.inner};
  for (uint32_t i = 0; i < 2; i++) {
    push_to_worker(NULL);
    for (uint32_t k = 0; k < MANY; k++)
      push_to_worker(groups[i]);
    for (uint32_t k = 0; k < 2 * MANY + 1; k++)
      push_to_worker(NULL);
    wait_and_count(groups[i]);
  }
}

static void a_worker_keeps_what_it_cannot_move(void)
{
  run_on_a_worker(wait_twice_under_many, MANY, UINT64_MAX, WS_FULL_FAIL);
  CU_ASSERT_EQUAL(worker.moved, 2 * MANY - 1);
  CU_ASSERT_EQUAL(worker.there, 4 * MANY);
  CU_ASSERT_EQUAL(ws_load_relaxed(&worker.run), 2 * (3 * MANY + 2));
}

static void test_seams(void)
{
  seam.ws_grouped_depth = ws_grouped_depth_seam;
}

TEST_MAIN_SEAMS(test_seams, "dig", TEST_CASE(a_mixed_root_stays_mixed),
                TEST_CASE(a_root_of_none_can_be_mixed), TEST_CASE(dig_that_comes_too_late),
                TEST_CASE(outer_wait_finds_its_own), TEST_CASE(the_others_keep_their_order),
                TEST_CASE(a_full_ring_keeps_its_order), TEST_CASE(no_unrelated_task_above_a_mark),
                TEST_CASE(a_wait_runs_what_its_task_pushes), TEST_CASE(a_thread_outside_digs_to_a_depth),
                TEST_CASE(a_worker_moves_each_task_once), TEST_CASE(a_wait_finds_what_was_moved),
                TEST_CASE(a_worker_keeps_what_it_cannot_move),
                TEST_CASE(what_a_wait_moves_is_found_by_others))
