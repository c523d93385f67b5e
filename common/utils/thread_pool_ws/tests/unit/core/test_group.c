// SPDX-License-Identifier: BSD-3-Clause
/// @file test_group.c
/// Groups on a stack: their memory may be reused when the wait for them has returned, and who waits sees what
/// the tasks have written. Counts and waits: scenes/wait.c.
#include <string.h>

#include "../../support/ws_test.h"

typedef struct {
  uint64_t value[4];
  ws_group_t *group; ///< that the task completes itself; NULL = the pool does
} cell_t;

static void fill(void *cell_arg)
{
  cell_t *cell = cell_arg;
  for (uint32_t i = 0; i < TEST_COUNT(cell->value); i++)
    cell->value[i] += i + 1;
  if (cell->group)
    ws_group_complete(cell->group, 1); // from here on both may be gone
}

/// Group and results on the stack of a function that returns at once; the caller scribbles over that stack.
static __attribute__((noinline)) bool burst_on_stack(ws_pool_t *pool, uint32_t count, bool tagged)
{
  ws_group_t group;
  cell_t cell[16];
  memset(cell, 0, sizeof(cell));
  ws_group_init(&group, count);
  for (uint32_t i = 0; i < count; i++) {
    cell[i].group = tagged ? &group : NULL;
    test_push(pool, fill, &cell[i], tagged ? ws_group_tag(&group) : &group);
  }
  ws_group_wait(&group, pool);
  bool good = true;
  for (uint32_t i = 0; i < count; i++)
    good &= cell[i].value[0] == 1 && cell[i].value[3] == 4;
  return good;
}

static __attribute__((noinline)) void scribble(uint32_t byte)
{
  volatile unsigned char stack[2048];
  for (uint32_t i = 0; i < sizeof(stack); i++)
    stack[i] = (unsigned char)byte;
}

static void groups_on_a_reused_stack(void)
{
  ws_pool_t *pool = test_pool(3);
  uint64_t random = test_seed();
  uint32_t bad = 0;
  for (uint32_t round = 0; round < 20000 / (1 + 3 * TEST_SANITIZED); round++) {
    bad += !burst_on_stack(pool, 1 + (uint32_t)(test_random(&random) % 16), round % 4 == 0);
    scribble(round);
  }
  CU_ASSERT_EQUAL(bad, 0);
  test_destroy(pool);
}

TEST_MAIN("group", TEST_CASE(groups_on_a_reused_stack))
