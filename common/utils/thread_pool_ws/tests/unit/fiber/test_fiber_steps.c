// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_steps.c
/// Steps of ws_record.h on a thread's stack and on a fiber's: they run before a wait, and go where their
/// fiber goes. That no stack grows with their number: tests/cxx, long_chains_need_no_stack.
#include "../../../include/ws_record.h"
#include "fiber_scene.h"

typedef struct {
  ws_step_t step; ///< first
  uint32_t index;
} numbered_t;

/// On both kinds of stack.
static void on_both(void (*func)(void *))
{
  scene_begin(1);
  func(NULL);
  push_fiber(func, NULL, NULL);
  ws_pool_wait(scene.pool);
  scene_end();
}

static uint32_t calls;

static void count_call(ws_step_t *step)
{
  calls++;
}

static void call_later(ws_step_t *step)
{
  ws_step_t last = {.call = count_call};
  ws_step_next(&last);
  note(calls == 0);
  ws_blocking_begin(); // else the step would be queued beyond its end
  ws_blocking_end();
  note(calls == 1);
}

static void queue_for_the_next(void *unused)
{
  calls = 0;
  ws_step_t first = {.call = call_later}, alone = {.call = count_call};
  ws_step_run(&first);
  ws_step_next(&alone); // no other step runs
  note(calls == 2);
}

TEST_CASE(test_next)
{
  on_both(queue_for_the_next);
}

/// A step inside as many as can be, which makes another one ready and waits for what that one does.
static void (*wait_for_step)(void);
static ws_sem_t sem;
static ws_group_t group;
static ws_au32_t event_is_ready;

static void end_waits(ws_step_t *step)
{
  ws_sem_post(&sem, 1);
  ws_group_complete(&group, 1);
  ws_store_release(&event_is_ready, 1);
}

static void call_deeper(ws_step_t *step)
{
  numbered_t *self = (numbered_t *)(void *)step;
  numbered_t deeper = {.step = {.call = self->index > 1 ? call_deeper : end_waits}, .index = self->index - 1};
  ws_step_run(&deeper.step);
  if (self->index == 1)
    wait_for_step();
}

static void wait_deep(void *unused)
{
  sem = (ws_sem_t)WS_SEM_INIT(0);
  ws_group_init(&group, 1);
  ws_store_release(&event_is_ready, 0);
  numbered_t first = {.step = {.call = call_deeper}, .index = WS_STEPS_NESTED_MAX};
  ws_step_run(&first.step);
}

static void wait_sem(void)
{
  note(ws_sem_wait(&sem) == 0);
}

static void wait_group(void)
{
  ws_group_wait(&group, scene.pool);
}

static bool event_ready(void *unused)
{
  return ws_load_acquire(&event_is_ready);
}

static void event_sleep(void *unused)
{
  note(ws_load_acquire(&event_is_ready)); // it would sleep without end
  ws_store_release(&event_is_ready, 1);
}

static void wait_event(void)
{
  const ws_event_t event = {.ready = event_ready, .sleep = event_sleep};
  ws_pool_await(scene.pool, NULL, &event);
}

static void wait_yielding(void)
{
  ws_yield(); // outside fibers it does nothing
  note(ws_fiber_self() ? event_ready(NULL) : true);
  ws_blocking_begin();
  ws_blocking_end();
  note(event_ready(NULL));
}

TEST_CASE(test_before_waits)
{
  void (*const waits[])(void) = {wait_sem, wait_group, wait_event, wait_yielding};
  for (uint32_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
    wait_for_step = waits[i];
    on_both(wait_deep);
  }
}

static void yield_until_set(void *unused)
{
  while (!ws_load_acquire(&scene.value))
    note(ws_yield());
}

#define STEPS 100u

static numbered_t chain[STEPS];
static uint32_t ran;

/// Steps of a fiber that parks in each of them. Another thread may continue it: the queue goes with it.
static void park_and_call_next(ws_step_t *step)
{
  numbered_t *self = (numbered_t *)(void *)step;
  note(self->index == ran++);
  ws_add_acq_rel(&scene.count, 1);
  note(ws_sem_wait(&sem) == 0);
  if (self->index + 1 < STEPS)
    ws_step_run(&chain[self->index + 1].step);
}

static void run_parking_chain(void *unused)
{
  for (uint32_t i = 0; i < STEPS; i++)
    chain[i] = (numbered_t){.step = {.call = park_and_call_next}, .index = i};
  ws_step_run(&chain[0].step);
  note(ran == STEPS);
}

static bool have_parked(void *count)
{
  return ws_load_acquire(&scene.count) >= *(const uint32_t *)count;
}

static void run_inside_a_thread_of_steps(void *unused)
{
  calls = 0;
  ws_step_t step = {.call = count_call};
  ws_step_run(&step); // at once, however many steps the thread has
  note(calls == 1);
}

TEST_CASE(test_parks)
{
  scene_begin(3);
  sem = (ws_sem_t)WS_SEM_INIT(0);
  ran = 0;
  push_fiber(run_parking_chain, NULL, NULL);
  for (uint32_t count = 1; count <= STEPS; count++) {
    CU_ASSERT_FATAL(test_until(have_parked, &count));
    if (count % 10 == 0)
      push_fiber(yield_until_set, NULL, NULL); // keeps workers busy: the fiber goes elsewhere
    ws_sem_post(&sem, 1);
  }
  set_value(NULL);
  ws_pool_wait(scene.pool);
  scene_end();
}

static void help_with_fiber(ws_step_t *step)
{
  const numbered_t *self = (numbered_t *)(void *)step;
  numbered_t deeper = {.step = {.call = help_with_fiber}, .index = self->index - 1};
  if (self->index > 1) {
    ws_step_run(&deeper.step);
    return;
  }
  ws_group_t fibers;
  ws_group_init(&fibers, 1);
  push_fiber(run_inside_a_thread_of_steps, NULL, &fibers);
  ws_group_wait(&fibers, scene.pool); // this thread may run it
}

TEST_CASE(test_fiber_has_its_own)
{
  scene_begin(1);
  numbered_t first = {.step = {.call = help_with_fiber}, .index = WS_STEPS_NESTED_MAX};
  ws_step_run(&first.step);
  ws_pool_wait(scene.pool);
  scene_end();
}

TEST_MAIN("fiber_steps")
