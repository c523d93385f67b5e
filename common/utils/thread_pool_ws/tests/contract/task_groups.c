// SPDX-License-Identifier: BSD-3-Clause
/// @file task_groups.c
/// Shapes B, groups of tasks: whose memory they are in, who completes them, and what their joiner sees.
#include "task_group.h"

static uint32_t __attribute__((noinline)) burst_on_the_stack(tpool_t *pool, uint32_t count, uint64_t seed)
{
  group_t group;
  work_t work[8];
  uint32_t wrong = 0;
  group_init(&group, count);
  for (uint32_t i = 0; i < count; i++)
    push_work(pool, &work[i], group_unit(&group, i), seed + i);
  group_join(&group);
  for (uint32_t i = 0; i < count; i++)
    wrong += work[i].out != (seed + i) * 7 + 1;
  memset(&group, 0xDD, sizeof(group)); // dead: a completer that still touches it trips here
  __asm__ volatile("" ::"r"(&group) : "memory");
  return wrong;
}

static void group_on_the_stack_dies_at_join(void)
{
  tpool_t *pool = contract_pool(2);
  uint32_t wrong = 0;
  for (uint32_t round = 0; round < 5000; round++)
    wrong += burst_on_the_stack(pool, 1 + round % 8, round);
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(pool);
}

/// Freed memory: a completer that comes late meets the address sanitizer.
static void group_on_the_heap_is_freed_at_join(void)
{
  tpool_t *pool = contract_pool(2);
  for (uint32_t round = 0; round < 3000; round++) {
    void *memory = NULL;
    CU_ASSERT_EQUAL_FATAL(posix_memalign(&memory, 64, sizeof(group_t)), 0);
    group_t *group = memory;
    work_t work[4];
    group_init(group, 4);
    for (uint32_t i = 0; i < 4; i++)
      push_work(pool, &work[i], group_unit(group, i), i);
    group_join(group);
    memset(group, 0xDD, sizeof(*group));
    free(group);
  }
  contract_end(pool);
}

static void group_serves_again(void)
{
  tpool_t *pool = contract_pool(2);
  static group_t group;
  uint32_t wrong = 0;
  for (uint32_t round = 0; round < 5000; round++) {
    work_t work[2];
    group_init(&group, 2);
    push_work(pool, &work[0], group_unit(&group, 0), round);
    push_work(pool, &work[1], group_unit(&group, 1), round);
    group_join(&group);
    wrong += work[0].out != UINT64_C(7) * round + 1 || work[1].out != work[0].out;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(pool);
}

/// Like callers that arm many and need few: no memory may be allocated (the leak checker), and none is
/// joined.
static void group_is_armed_and_never_joined(void)
{
  tpool_t *pool = contract_pool(2);
  for (uint32_t round = 0; round < 200; round++) {
    group_t never[16], used;
    work_t work[2];
    for (uint32_t i = 0; i < 16; i++)
      group_init(&never[i], 1 + i);
    group_init(&used, 2);
    push_work(pool, &work[0], group_unit(&used, 0), 1);
    completed_task_ans(group_unit(&never[round % 16], 0));
    push_work(pool, &work[1], group_unit(&used, 1), 1);
    group_join(&used);
    memset(never, 0xDD, sizeof(never));
  }
  contract_end(pool);
}

static void group_is_completed_in_part_by_the_thread_that_pushes(void)
{
  tpool_t *pool = contract_pool(2);
  for (uint32_t round = 0; round < 1000; round++) {
    group_t group;
    work_t work[5];
    group_init(&group, 8);
    for (uint32_t i = 0; i < 5; i++)
      push_work(pool, &work[i], group_unit(&group, i), i);
    completed_task_ans(group_unit(&group, 5));
#ifdef CONTRACT_SHAPE_B1
    completed_task_ans(group_unit(&group, 6));
    completed_task_ans(group_unit(&group, 7));
#else
    completed_many_task_ans(&group.counter, 2);
#endif
    group_join(&group);
    CU_ASSERT_EQUAL(work[4].out, 29);
  }
  contract_end(pool);
}

static void group_is_completed_before_the_join(void)
{
  for (uint32_t count = 1; count < UNITS_MAX; count++) {
    group_t group;
    group_init(&group, count);
    for (uint32_t i = 0; i < count; i++)
      completed_task_ans(group_unit(&group, i));
    group_join(&group);
#ifdef CONTRACT_SHAPE_B2
    group_init(&group, count);
    completed_many_task_ans(&group.counter, count);
    group_join(&group);
#endif
  }
}

static void group_of_no_units(void)
{
#ifdef CONTRACT_SHAPE_B2
  if (!contract_ours_only("a join of no units never returns in the host's own"))
    return;
#endif
  group_t group;
  group_init(&group, 0);
  group_join(&group);
}

/// All are armed first; pushes and joins follow in other orders.
static void groups_are_armed_first_and_joined_in_any_order(void)
{
  enum { GROUPS = 6 };
  tpool_t *pool = contract_pool(2);
  uint32_t wrong = 0;
  for (uint32_t round = 0; round < 500; round++) {
    group_t group[GROUPS];
    work_t work[GROUPS][3];
    for (uint32_t i = 0; i < GROUPS; i++)
      group_init(&group[i], 3);
    for (uint32_t j = 0; j < 3; j++)
      for (uint32_t i = 0; i < GROUPS; i++)
        push_work(pool, &work[(i + round) % GROUPS][j], group_unit(&group[(i + round) % GROUPS], j), j);
    for (uint32_t i = 0; i < GROUPS; i++) {
      const uint32_t k = (i * 5 + round) % GROUPS;
      group_join(&group[k]);
      for (uint64_t j = 0; j < 3; j++)
        wrong += work[k][j].out != j * 7 + 1;
    }
  }
  CU_ASSERT_EQUAL(wrong, 0);
  contract_end(pool);
}

typedef struct {
  group_t group;
  ws_au32_t next;
  uint64_t plain[8];
} shared_t;

static void *complete_here(void *shared_arg)
{
  shared_t *shared = shared_arg;
  const uint32_t i = ws_add_relaxed(&shared->next, 1);
  shared->plain[i] += i + 1;
  completed_task_ans(group_unit(&shared->group, i));
  return NULL;
}

/// Threads of no pool complete; the joiner sees what each of them wrote, not only the last one's.
static void completers_writes_are_visible_to_the_joiner(void)
{
  static shared_t shared;
  for (uint32_t round = 1; round <= 200; round++) {
    threads_t threads = {.count = 0};
    uint32_t wrong = 0;
    ws_store_relaxed(&shared.next, 0);
    group_init(&shared.group, 8);
    for (uint32_t i = 0; i < 8; i++)
      threads_start(&threads, complete_here, &shared);
    group_join(&shared.group);
    for (uint64_t i = 0; i < 8; i++)
      wrong += shared.plain[i] != round * (i + 1);
    CU_ASSERT_EQUAL(wrong, 0);
    threads_join(&threads);
  }
}

/// A group of tasks in two pools, completed across them.
static void group_over_two_pools(void)
{
  tpool_t *first = contract_pool(1), *second = contract_pool(2);
  for (uint32_t round = 0; round < 500; round++) {
    group_t group;
    work_t work[6];
    group_init(&group, 6);
    for (uint32_t i = 0; i < 6; i++)
      push_work(i % 2 ? first : second, &work[i], group_unit(&group, i), i);
    group_join(&group);
    CU_ASSERT_EQUAL(work[5].out, 36);
  }
  contract_end(second);
  contract_end(first);
}

const contract_case_t task_groups_cases[] = {
    CASE(group_on_the_stack_dies_at_join),
    CASE(group_on_the_heap_is_freed_at_join),
    CASE(group_serves_again),
    CASE(group_is_armed_and_never_joined),
    CASE(group_is_completed_in_part_by_the_thread_that_pushes),
    CASE(group_is_completed_before_the_join),
    CASE(group_of_no_units),
    CASE(groups_are_armed_first_and_joined_in_any_order),
    CASE(completers_writes_are_visible_to_the_joiner),
    CASE(group_over_two_pools),
    CASES_END,
};
