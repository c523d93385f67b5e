// SPDX-License-Identifier: BSD-3-Clause
/// @file test_deque_race.c
/// The owner against thieves: every task is taken exactly once, whatever the deque does meanwhile.
#include <sched.h>
#include <string.h>

#include "../../../tasks/ws_deque.h"
#include "../../support/ws_test.h"

#define TASKS (TEST_SANITIZED ? 50000u : 200000u)
#define DRAINED_TASKS (TASKS / 5) ///< each round waits until a thief has had a CPU
#define THIEVES_MAX 3

static struct {
  ws_deque_t deque;
  ws_cell_t cell[64];
  ws_au32_t taken[TASKS + 1]; ///< by number
  ws_au64_t total;
  ws_au32_t over;
  ws_au32_t thieves; ///< that have begun
} run;

static void got(const ws_task_t *task)
{
  ws_add_relaxed(&run.taken[(uintptr_t)task->arg], 1);
  ws_add_relaxed(&run.total, 1);
}

static void *thief(void *trims)
{
  ws_steal_memo_t memo = {0};
  ws_task_t task;
  uint32_t idle = 0;
  ws_add_acq_rel(&run.thieves, 1);
  while (!ws_load_acquire(&run.over)) {
    if (ws_deque_steal(&run.deque, &memo, &task) == WS_STEAL_GOT) {
      got(&task);
      idle = 0;
    } else if (++idle % 64 == 0) {
      sched_yield();
    }
    if (trims)
      ws_deque_trim(&run.deque);
  }
  return NULL;
}

static void put(uint64_t *number, uint64_t count)
{
  ws_task_t tasks[16];
  for (uint64_t i = 0; i < count; i++)
    tasks[i] = (ws_task_t){.func = test_empty_task, .arg = (void *)(uintptr_t)++ * number};
  while (!ws_deque_has_room(&run.deque, count))
    if (!ws_deque_grow(&run.deque))
      sched_yield(); // pages are being trimmed
  ws_deque_push(&run.deque, tasks, count);
}

typedef struct {
  uint64_t capacity;
  uint32_t thieves;
  uint64_t pushes_max; ///< in a row
  uint64_t takes_max; ///< in a row
  bool drain; ///< wait until thieves have emptied the deque after each round
  bool trims;
} shape_t;

static uint64_t tasks_of(const shape_t *shape)
{
  return shape->drain ? DRAINED_TASKS : TASKS;
}

static void own(const shape_t *shape)
{
  uint64_t number = 0, random = test_seed();
  ws_task_t task;
  while (number + 16 <= tasks_of(shape)) {
    put(&number, 1 + test_random(&random) % shape->pushes_max);
    for (uint64_t k = test_random(&random) % (shape->takes_max + 1); k > 0; k--)
      if (ws_deque_take(&run.deque, &task))
        got(&task);
    for (uint32_t turn = 0; shape->drain && ws_deque_size(&run.deque) > 0; turn++)
      if (turn % 256 == 255)
        sched_yield();
    ws_deque_shrink(&run.deque);
  }
  while (ws_deque_size(&run.deque) > 0)
    if (ws_deque_take(&run.deque, &task))
      got(&task);
  put(&number, tasks_of(shape) - number);
  while (ws_deque_take(&run.deque, &task))
    got(&task);
}

static void race(const shape_t *shape)
{
  memset(&run, 0, sizeof(run));
  ws_deque_init(&run.deque, run.cell, shape->capacity);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < shape->thieves; i++)
    test_spawn(&threads, thief, shape->trims && i == 0 ? &run : NULL);
  while (ws_load_acquire(&run.thieves) < shape->thieves)
    sched_yield();
  own(shape);
  ws_store_release(&run.over, 1);
  test_join(&threads);
  uint64_t lost = 0, twice = 0;
  for (uint32_t i = 1; i <= tasks_of(shape); i++) {
    lost += ws_load_relaxed(&run.taken[i]) == 0;
    twice += ws_load_relaxed(&run.taken[i]) > 1;
  }
  CU_ASSERT_EQUAL(lost, 0);
  CU_ASSERT_EQUAL(twice, 0);
  CU_ASSERT_EQUAL(test_value(&run.total), tasks_of(shape));
  ws_deque_free(&run.deque);
}

static void last_task_goes_to_one(void)
{
  race(&(shape_t){.capacity = 2, .thieves = 1, .pushes_max = 1, .takes_max = 1});
}

static void three_thieves_exactly_once(void)
{
  race(&(shape_t){.capacity = 64, .thieves = 3, .pushes_max = 8, .takes_max = 8});
}

/// The owner takes one and leaves the rest to a thief that remembers: it must not remember the one taken.
static void memo_made_during_a_take(void)
{
  race(&(shape_t){.capacity = 64, .thieves = 1, .pushes_max = 16, .takes_max = 1, .drain = true});
}

static void memo_made_during_a_take_two_thieves(void)
{
  race(&(shape_t){.capacity = 64, .thieves = 2, .pushes_max = 16, .takes_max = 2, .drain = true});
}

static void growth_while_thieves_steal(void)
{
  race(&(shape_t){.capacity = 2, .thieves = 3, .pushes_max = 16, .takes_max = 12});
}

static void growth_shrinking_and_trims_while_thieves_steal(void)
{
  race(&(shape_t){.capacity = 2, .thieves = 2, .pushes_max = 16, .takes_max = 16, .trims = true});
}

TEST_MAIN("deque_race", TEST_CASE(last_task_goes_to_one), TEST_CASE(three_thieves_exactly_once),
          TEST_CASE(memo_made_during_a_take), TEST_CASE(memo_made_during_a_take_two_thieves),
          TEST_CASE(growth_while_thieves_steal), TEST_CASE(growth_shrinking_and_trims_while_thieves_steal))
